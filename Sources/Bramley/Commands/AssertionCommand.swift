package import ArgumentParser
internal import Coding
internal import Logging
package import RelyingParty
internal import Storage

/// `bramley assertion`
package struct AssertionCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "assertion", abstract: "The keys that sign assertions for backends.",
        subcommands: [AssertionRotateCommand.self])

    package init() {}
}

/// `bramley assertion rotate`
package struct AssertionRotateCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Change the signing key ahead of its time; a running server follows within a second.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Flag(
        help: """
            A key leaked: withdraw every key at once. Backends refuse the assertions in use when they fetch the keys \
            anew, within five minutes. Without it, nobody notices the change.
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
                    writer.member("kid", next.keyID)
                    writer.member("signsFrom", next.signsFrom)
                    writer.endObject()
                }
            } else {
                try CommandOutput.line("\(next.keyID) signs from \(next.signsFrom.rfc3339)")
            }
        }
    }

    /// - Returns: the key that signs next.
    package static func rotate(_ place: OperatorDatabase, revoking: Bool) async throws -> SigningKeyRecord {
        guard place.configuration.assertion.audience != nil else {
            throw CommandFailure("There are no signing keys: assertion.audience is not given.")
        }
        let keys = SigningKeys(
            store: place.database, keyring: place.keyring, clock: SystemClock(),
            logger: Logger(label: "bramley", factory: { _ in SwiftLogNoOpLogHandler() }))
        guard let next = try await keys.rotate(revoking: revoking) else {
            throw CommandFailure("No signing key was made.")
        }
        return next
    }
}
