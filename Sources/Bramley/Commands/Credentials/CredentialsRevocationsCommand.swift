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
        if output.json {
            try CommandOutput.json { writer in
                writer.beginObject()
                writer.member("retried", Int64(count))
                writer.endObject()
            }
        } else {
            try CommandOutput.line(count == 1 ? "1 revocation is due now" : "\(count) revocations are due now")
        }
    }

    private func list(_ place: OperatorDatabase) async throws {
        let style = CommandOutput.tableStyle
        let list = CommandList<RevocationReport>(
            [
                .init("ID"), .init("STATE"), .init("CLIENT", flexible: true), .init("DELETED"), .init("NEXT"),
                .init("UNTIL", optional: true), .init("ATTEMPTS", optional: true), .init("WHY", flexible: true),
            ],
            empty: "Apple knows of every deleted account.",
            row: { report in
                [
                    String(report.id), report.state.rawValue, report.clientID.rawValue,
                    report.queuedAt.shown(style), report.nextAttemptAt?.shown(style), report.endsAt.shown(style),
                    String(report.attempts), report.failure,
                ]
            }, document: RevocationDocument.write)
        try await list.show(page, json: output.json) { after, limit in
            // Ids are in the order of deletion. One more than requested tells whether there is another page.
            let after = after.map { Int64($0.id) ?? 0 }
            let found = try await place.database.revocations(after: after, limit: limit + 1, at: place.now)
            let reports = Array(found.prefix(limit))
            let last = found.count > limit ? reports.last : nil
            return (reports, last.map { CommandCursor.encode($0.queuedAt, String($0.id)) })
        }
    }
}

/// The queue of revocations as JSON.
enum RevocationDocument {
    static func write(_ report: RevocationReport, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", report.id)
        writer.member("state", report.state.rawValue)
        writer.member("clientID", report.clientID.rawValue)
        writer.member("queuedAt", report.queuedAt)
        writer.member("nextAttemptAt", report.nextAttemptAt)
        writer.member("endsAt", report.endsAt)
        writer.member("attempts", Int64(report.attempts))
        writer.member("failure", report.failure)
        writer.endObject()
    }
}
