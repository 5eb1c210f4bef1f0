package import Accounts
package import ArgumentParser
internal import Coding
internal import Crypto
internal import Logging
internal import Storage

/// `bramley assertion`
package struct AssertionCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "assertion", abstract: "Manage the keys that sign assertions.",
        subcommands: [AssertionRotateCommand.self])

    package init() {}
}

/// `bramley assertion rotate`
package struct AssertionRotateCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Rotate the signing key now. A running server follows within a second.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Flag(
        help: """
            Withdraw all keys at once, for a leaked key. Backends refuse current assertions when they fetch the keys \
            again, within five minutes. Without it, the rotation is seamless.
            """)
    package var revoke = false

    package init() {}

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            if revoke { try confirmation.confirm("Every assertion in use will be refused within five minutes.") }
            let next = try await Self.rotate(place, revoking: revoke)
            if output.json {
                try CommandOutput.json { writer in
                    writer.beginObject()
                    writer.member("kid", next.first?.keyID)
                    writer.member("signsFrom", next.first?.signsFrom)
                    writer.name("keys")
                    writer.beginArray()
                    for key in next {
                        writer.beginObject()
                        writer.member("kid", key.keyID)
                        writer.member("algorithm", key.algorithm.rawValue)
                        writer.member("signsFrom", key.signsFrom)
                        writer.endObject()
                    }
                    writer.endArray()
                    writer.endObject()
                }
            } else {
                for key in next {
                    try CommandOutput.line(
                        "\(key.keyID) signs \(key.algorithm.rawValue) from \(key.signsFrom.rfc3339)")
                }
            }
        }
    }

    /// - Returns: for each algorithm the key that signs next; never empty.
    package static func rotate(_ place: OperatorDatabase, revoking: Bool) async throws -> [SigningKeyRecord] {
        let keys = SigningKeys(
            database: place.database, keyring: place.keyring, algorithms: place.configuration.audiences.algorithms,
            clock: SystemClock(), logger: Logger(label: "bramley", factory: { _ in SwiftLogNoOpLogHandler() }))
        let algorithms = try await keys.algorithmsInUse()
        guard !algorithms.isEmpty else {
            throw CommandFailure(
                "There are no signing keys: assertion.audience is not given, and no program is registered.")
        }
        let next = try await keys.rotate(revoking: revoking)
        guard next.count == algorithms.count else { throw CommandFailure("No signing key was made.") }
        return next
    }
}
