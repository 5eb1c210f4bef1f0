internal import Accounts
import ArgumentParser
internal import Coding
internal import Storage

/// `bramley credentials revocations`
struct CredentialsRevocationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revocations",
        abstract: "List token revocations of deleted accounts that are waiting or failed.",
        discussion: """
            The list does not say who was deleted. Waiting revocations are retried for seven days. For a failed one no \
            token is left: the person can remove the site in their Apple Account.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    @Flag(
        help: "Retry all waiting revocations now, for example after fixing a key. A running server sends the requests.")
    var retry = false

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            if retry {
                try show(retried: try await place.database.retryRevocations(at: place.now))
            } else {
                try await list(place)
            }
        }
    }

    private func show(retried count: Int) throws {
        try output.show(
            count == 1 ? "1 revocation is due now" : "\(count) revocations are due now", ("retried", .number(count)))
    }

    private func list(_ place: OperatorDatabase) async throws {
        let list = CommandList<RevocationReport, Int64>(
            [
                .init("ID") { .number(Int($0.id)) }, .init("STATE") { .text($0.state.rawValue) },
                .init("CLIENT", flexible: true) { .text($0.clientID.rawValue) },
                .init("DELETED") { .time($0.queuedAt) }, .init("NEXT") { .time($0.nextAttemptAt) },
                .init("UNTIL", optional: true) { .time($0.endsAt) },
                .init("ATTEMPTS", optional: true) { .number($0.attempts) },
                .init("WHY", flexible: true) { .text($0.failure) },
            ], RevocationReport.fields, .revocations, empty: "Apple knows of every deleted account.")
        // Ids are in the order of deletion.
        try await list.show(page, json: output.json) { after, limit in
            try await place.database.revocations(after: after, limit: limit, at: place.now)
        }
    }
}
