internal import Accounts
internal import AppleID
import ArgumentParser
internal import Coding
internal import Storage

/// `bramley transfer import`
struct TransferImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "New team: ask Apple for each person by transfer_sub, and move them.",
        discussion: """
            Each person moves in a separate transaction; after an interruption, run it again. With FILE it moves only \
            the people in FILE, and none while a line is refused. Without FILE it moves everyone exported into this \
            database.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var transfer: TransferOptions

    @Flag(help: "Join both accounts of people who signed up again under the new team.")
    var joinAccounts = false

    @Flag(help: "With FILE: skip refused lines and move the others.")
    var skipRefused = false

    @Argument(help: "An export from another server, or - for standard input.")
    var file: String?

    func validate() throws {
        guard file != nil || !skipRefused else { throw ValidationError("--skip-refused is about the lines of FILE.") }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let client = try transfer.client(of: place.configuration)
            try await TransferLock.holding("import", place) {
                try await place.record("transfer import")
                let adopted = try await adopt(place)
                if adopted == nil { try await TransferDirection.checkImport(place, again: asksAgain) }
                try await exchange(place, client, adopted)
            }
        }
    }

    private var asksAgain: Bool { transfer.again || joinAccounts }

    /// - Returns: nil without a file.
    private func adopt(_ place: OperatorDatabase) async throws -> TransferAdoption.Report? {
        guard let file else { return nil }
        let skipsRefused = skipRefused
        let adopted = try await Interruption.cancelling {
            var adoption = TransferAdoption(try TransferLine.open(file), place: place, skipsRefused: skipsRefused)
            return try await adoption.run()
        }
        guard adopted.isComplete else {
            throw CommandFailure("Interrupted. Nobody was moved; run it again with the same file.")
        }
        return adopted
    }

    private func exchange(
        _ place: OperatorDatabase, _ client: ClientID, _ adopted: TransferAdoption.Report?
    ) async throws {
        let before = try await place.database.transferCounts(from: nil, to: place.team)
        let (rate, again, joins) = (transfer.rate, asksAgain, joinAccounts)
        let (end, report) = try await AppleConnection.with(place, options.input) { provider in
            let step = TransferImport(
                database: place.database, migrator: provider.migration(as: client, clock: place.clock),
                to: place.team, again: again, joins: joins, only: adopted?.people, clock: place.clock)
            let waiting = before.exported + (again ? before.refusedAtImport : 0)
            let end = try await TransferProgress.run(step, rate: rate, total: adopted?.people.count ?? waiting)
            return (end, step.report)
        }
        let counts = try await place.database.transferCounts(from: nil, to: place.team)
        try show(report, adopted ?? TransferAdoption.Report(), counts, complete: end == .complete)
        if adopted != nil, end == .complete, counts.exported > 0 {
            CommandOutput.remark(
                "\(counts.exported) wait who are not in the file: bramley transfer import without it moves them.")
        }
        try end.check()
    }

    private func show(
        _ report: TransferImport.Report, _ adopted: TransferAdoption.Report, _ counts: TransferCounts, complete: Bool
    ) throws {
        let unmoved = counts.refusedAtImport + counts.refusedAtExport
        if output.json {
            try CommandOutput.json { writer in
                writer.beginObject()
                writer.member("moved", Int64(report.moved))
                writer.member("alreadyMoved", Int64(report.alreadyMoved + adopted.alreadyMoved))
                writer.member("joined", Int64(report.joined))
                writer.member("refused", Int64(report.refused))
                writer.member("secondAccounts", Int64(report.secondAccounts.count))
                writer.member("linesRefused", Int64(adopted.refused))
                writer.member("movedInAll", Int64(counts.moved))
                writer.member("unmovedInAll", Int64(unmoved))
                writer.member("waiting", Int64(counts.exported))
                writer.member("complete", complete)
                writer.endObject()
            }
        } else {
            var text = "\(report.moved) moved, \(report.refused) refused by Apple"
            if report.joined > 0 { text += ", \(report.joined) joined with a second account" }
            if adopted.alreadyMoved > 0 { text += ", \(adopted.alreadyMoved) of the file had moved before" }
            try CommandOutput.line(
                "\(text). In all: \(counts.moved) moved, \(unmoved) not, \(counts.exported) waiting.")
        }
        for pair in report.secondAccounts {
            let advice =
                pair.bothHaveExternalIDs
                ? "both have an external id: remove one of them first"
                : "--join-accounts makes one of the two"
            CommandOutput.remark("\(pair.first) has a second account, \(pair.second), under this team: \(advice)")
        }
        if unmoved > 0 {
            CommandOutput.remark(
                "\(unmoved) could not move: bramley transfer status --unmoved lists them; --again asks about them again."
            )
        }
    }
}
