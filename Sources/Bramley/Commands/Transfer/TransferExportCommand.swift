import Accounts
internal import AppleID
import ArgumentParser
internal import Coding
internal import Sockets
internal import Storage

/// `bramley transfer export`
struct TransferExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Old team: ask Apple for everyone's transfer_sub.",
        discussion: """
            Each answer is stored at once: after an interruption, or for new people, run it again. FILE is only needed \
            if the new team uses another database.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var transfer: TransferOptions

    @Option(name: .customLong("to"), help: ArgumentHelp("The Team ID of the new team.", valueName: "team"))
    var recipient: TeamID

    @Argument(help: "The file for the new team, written when complete, or - for standard output.")
    var file: String?

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            guard recipient != place.team else {
                throw CommandFailure.usage("--to is the team of this configuration: export runs with the old team's.")
            }
            guard file != "-" || !output.json else {
                throw CommandFailure.usage("--json and - both want standard output.")
            }
            let client = try transfer.client(of: place.configuration)
            try await TransferLock.holding("export", place) {
                try await place.record("transfer export")
                try await export(place, client)
            }
        }
    }

    private func export(_ place: OperatorDatabase, _ client: ClientID) async throws {
        let recipient = recipient
        let before = try await place.database.transferCounts(from: place.team, to: recipient)
        guard before.total > 0 else {
            throw CommandFailure(
                """
                Nobody in this database is of team \(place.team.rawValue), which is this configuration's: export runs with \
                the old team's configuration, that is its apple.teamID, apple.keyID and apple.privateKeyFile.
                """)
        }
        let open = (before.unasked ?? 0) + (transfer.again ? before.refusedAtExport : 0)
        let again = transfer.again
        let (end, _) = try await TransferProgress.run(place, options, rate: transfer.rate, total: open) {
            TransferExport(
                database: place.database, provider: $0, as: client, to: recipient, again: again, clock: place.clock)
        }
        let counts = try await place.database.transferCounts(from: place.team, to: recipient)
        let isNobody = Self.exported(counts) == 0
        if end == .complete, !isNobody, let file { try await write(file, place) }
        try show(counts, complete: end == .complete)
        if counts.refusedAtExport > 0 {
            CommandOutput.remark(
                "\(counts.refusedAtExport) cannot move: bramley transfer status --to \(recipient.rawValue) --unmoved lists "
                    + "them; --again asks about them again.")
        }
        try end.check()
        if isNobody {
            throw CommandFailure(
                "No one is exported to team \(recipient.rawValue); --again retries those refused before.")
        }
    }

    /// People who have a `transfer_sub`, whatever became of them.
    private static func exported(_ counts: TransferCounts) -> Int {
        counts.exported + counts.moved + counts.refusedAtImport
    }

    private func show(_ counts: TransferCounts, complete: Bool) throws {
        let exported = Self.exported(counts)
        if output.json {
            try CommandOutput.json { writer in
                writer.beginObject()
                writer.member("exported", Int64(exported))
                writer.member("refused", Int64(counts.refusedAtExport))
                writer.member("unasked", Int64(counts.unasked ?? 0))
                writer.member("complete", complete)
                writer.endObject()
            }
            return
        }
        let text =
            "\(exported) exported, \(counts.refusedAtExport) refused by Apple, \(counts.unasked ?? 0) not asked yet."
        if file == "-" { CommandOutput.remark(text) } else { try CommandOutput.line(text) }
    }

    private func write(_ path: String, _ place: OperatorDatabase) async throws {
        var bytes: [UInt8] = []
        var last: AppleSubject?
        while true {
            let part = try await place.database.transferLines(
                from: place.team, to: recipient, after: last, limit: 1000)
            if part.isEmpty { break }
            last = part.last?.subject
            for line in part { bytes += line.encoded }
            if path == "-" {
                try CommandOutput.write(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        if path == "-" { return }
        // Takes the place of what is there, for its owner alone.
        do {
            try Files.replace(path, mode: 0o600, bytes: bytes)
        } catch {
            throw CommandFailure("\(path) cannot be written: \(error).")
        }
    }
}
