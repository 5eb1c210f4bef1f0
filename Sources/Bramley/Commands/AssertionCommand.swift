internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto

struct AssertionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assertion", abstract: "Manage the keys that sign assertions.",
        subcommands: [Rotate.self])

    struct Rotate: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rotate the signing key now. A running server follows within a second.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions

        @Flag(
            help: """
                Withdraw all keys at once, for a leaked key. Backends refuse current assertions when they fetch the \
                keys again, within five minutes. Without it, the rotation is seamless.
                """)
        var revoke = false

        func run(on place: OperatorDatabase) async throws {
            if revoke { try confirmation.confirm("Every assertion in use will be refused within five minutes.") }
            let next = try await Self.rotate(place, revoking: revoke)
            try options.show(
                next.map { "\($0.keyID) signs \($0.algorithm.rawValue) from \($0.signsFrom.rfc3339)" }
                    .joined(separator: "\n"),
                [
                    ("kid", .code(next.first?.keyID)), ("signsFrom", .time(next.first?.signsFrom)),
                    (
                        "keys",
                        .objects(
                            next.map { key in
                                [
                                    ("kid", .code(key.keyID)), ("algorithm", .text(key.algorithm.rawValue)),
                                    ("signsFrom", .time(key.signsFrom)),
                                ]
                            })
                    ),
                ])
        }

        /// - Returns: for each algorithm the key that signs next; never empty.
        static func rotate(_ place: OperatorDatabase, revoking: Bool) async throws -> [SigningKeyRecord] {
            let keys = SigningKeys(
                database: place.database, keyring: place.keyring, algorithms: place.configuration.audiences.algorithms,
                runtime: place.runtime)
            let algorithms = try await keys.algorithmsInUse()
            guard !algorithms.isEmpty else {
                throw CommandFailure(
                    "There are no signing keys: assertion.audience is not set, and no application is registered.")
            }
            let next = try await keys.rotate(revoking: revoking)
            guard next.count == algorithms.count else { throw CommandFailure("No signing key was made.") }
            return next
        }
    }
}
