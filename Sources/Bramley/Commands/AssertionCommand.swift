internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto

struct AssertionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assertion", abstract: "Manage the keys that sign assertions.", subcommands: [Rotate.self])

    struct Rotate: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rotate the signing keys. A running server learns of it within a second.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions

        @Flag(
            help: """
                Withdraw all current keys at once, for example after a leak. Backends refuse existing assertions once \
                they fetch the keys again, within five minutes. Without this flag, the rotation is seamless.
                """)
        var revoke = false

        func run(on context: OperatorDatabase) async throws {
            if revoke { try await confirmation.confirm("Every assertion in use will be refused within five minutes.") }
            let next = try await Self.rotate(context, revoking: revoke)
            let lines = next.map { "\($0.keyID) signs with \($0.algorithm.rawValue) from \($0.signsFrom.rfc3339)" }
            let keys = next.map { key -> [FieldValue.Member] in
                [
                    ("kid", .code(key.keyID)), ("algorithm", .text(key.algorithm.rawValue)),
                    ("signsFrom", .time(key.signsFrom)),
                ]
            }
            try options.show(
                lines.joined(separator: "\n"),
                [
                    ("kid", .code(next.first?.keyID)), ("signsFrom", .time(next.first?.signsFrom)),
                    ("keys", .objects(keys)),
                ])
        }

        /// - Returns: for each algorithm the key that signs next; never empty.
        static func rotate(_ context: OperatorDatabase, revoking: Bool) async throws -> [SigningKeyRecord] {
            let keys = SigningKeys(
                database: context.database, keyring: context.keyring,
                algorithms: context.configuration.audiences.algorithms, runtime: context.runtime)
            let algorithms = try await keys.algorithmsInUse()
            guard !algorithms.isEmpty else {
                throw CommandFailure(
                    "There are no signing keys because assertion.audience is not set and no client is registered.")
            }
            let next = try await keys.rotate(revoking: revoking)
            guard next.count == algorithms.count else { throw CommandFailure("No signing key was created.") }
            return next
        }
    }
}
