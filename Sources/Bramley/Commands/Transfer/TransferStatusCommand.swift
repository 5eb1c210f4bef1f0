import Accounts
import ArgumentParser
internal import Coding
internal import Storage

/// `bramley transfer status`
struct TransferStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show how many people have moved, wait, or could not move.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("The Team ID of the new team. (default: the configuration's)", valueName: "team"))
    var recipient: TeamID?

    @Flag(help: "List the people who could not move.")
    var unmoved = false

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let recipient = recipient ?? place.team
            if unmoved { return try await showUnmoved(recipient, place) }
            let sender = recipient == place.team ? nil : place.team
            let counts = try await place.database.transferCounts(from: sender, to: recipient)
            if output.json { try showJSON(counts, recipient) } else { try show(counts, recipient, now: place.now) }
        }
    }

    private func show(_ counts: TransferCounts, _ recipient: TeamID, now: Timestamp) throws {
        var lines = ["To team \(recipient.rawValue):"]
        if let unasked = counts.unasked { lines.append("  not asked about yet   \(unasked)") }
        lines += [
            "  refused at export     \(counts.refusedAtExport)",
            "  waiting for import    \(counts.exported)",
            "  refused at import     \(counts.refusedAtImport)",
            "  moved                 \(counts.moved)",
        ]
        if let first = counts.firstExportAt {
            let days = max(0, (now.milliseconds - first.milliseconds) / 86_400_000)
            lines.append("  first asked about     \(first.rfc3339), \(days) days ago")
        }
        for line in lines { try CommandOutput.line(line) }
        if counts.exported > 0 {
            CommandOutput.hint("Apple answers until 60 days after the app changed hands.")
        }
    }

    private func showJSON(_ counts: TransferCounts, _ recipient: TeamID) throws {
        try CommandOutput.json { writer in
            writer.beginObject()
            writer.member("target", recipient.rawValue)
            if let unasked = counts.unasked { writer.member("unasked", Int64(unasked)) }
            writer.member("refusedAtExport", Int64(counts.refusedAtExport))
            writer.member("waiting", Int64(counts.exported))
            writer.member("refusedAtImport", Int64(counts.refusedAtImport))
            writer.member("moved", Int64(counts.moved))
            writer.member("firstExportAt", counts.firstExportAt?.rfc3339)
            writer.endObject()
        }
    }

    private func showUnmoved(_ recipient: TeamID, _ place: OperatorDatabase) async throws {
        let list = CommandList<UnmovedPerson, TimedPlace>(
            [
                .init("USER") { .code($0.user.rawValue) },
                .init("EXTERNAL ID", flexible: true) { .text($0.externalID) },
                .init("AT") { .text($0.step.rawValue) }, .init("REASON", flexible: true) { .text($0.reason) },
                .init("ASKED", optional: true) { .time($0.place.time) },
            ], UnmovedPerson.fields, .unmoved, empty: "Nobody.")
        try await list.show(page, json: output.json) { after, limit in
            try await place.database.unmovedPeople(to: recipient, after: after, limit: limit)
        }
    }
}
