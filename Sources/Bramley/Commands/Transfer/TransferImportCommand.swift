internal import AppleID
package import ArgumentParser
internal import Coding
internal import RelyingParty
internal import Storage

/// `bramley transfer import`
package struct TransferImportCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "import", abstract: "New team: ask Apple who each transfer_sub is, and move them.",
        discussion: """
            Each person is moved in a transaction of their own; a run that was interrupted is simply run again. Without \
            FILE it moves whom an export into this database named.
            """)

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var transfer: TransferOptions

    @Flag(help: "Make one account of two, where somebody signed up anew under the new team.")
    package var joinAccounts = false

    @Argument(help: "The lines of an export made elsewhere; - for standard input.")
    package var file: String?

    package init() {}

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let (transfer, joins, file) = (transfer, joinAccounts, file)
            let client = try transfer.client(of: place.configuration)
            let adopted = try await Interruption.cancelling {
                guard let file else { return TransferAdoption.Report() }
                var adoption = TransferAdoption(try TransferLine.open(file), place: place)
                return try await adoption.run()
            }
            guard adopted.isComplete else { throw CommandFailure("Interrupted. Run it again: it goes on.") }
            let before = try await place.database.transferCounts(from: nil, to: place.team)
            let again = transfer.again || joins
            let (end, report) = try await AppleConnection.with(place) { provider in
                let step = TransferImport(
                    store: place.database, migrator: provider.migration(as: client, clock: place.clock),
                    to: place.team, again: again, joins: joins, clock: place.clock)
                let total = before.exported + (again ? before.refusedAtImport : 0)
                let end = try await TransferProgress.run(step, rate: transfer.rate, total: total)
                return (end, step.report)
            }
            let counts = try await place.database.transferCounts(from: nil, to: place.team)
            try show(report, adopted, counts, complete: end == .complete)
            try end.check()
            if adopted.refused > 0 {
                throw CommandFailure("\(adopted.refused) lines refused; each has its reason above.")
            }
        }
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
            CommandOutput.remark("\(unmoved) could not move: bramley transfer status --unmoved lists them.")
        }
    }
}
