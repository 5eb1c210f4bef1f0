internal import Accounts
internal import AppleID
import ArgumentParser
internal import Sockets

extension TransferCommand {
    struct Import: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "New team: look up each transfer_sub at Apple and move the person.",
            discussion: """
                Each person moves in a separate transaction; after an interruption, run it again. With FILE, only the \
                people in it move, and no one if any line is refused. Without FILE, everyone exported in this database \
                moves.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var transfer: TransferOptions
        @Flag(help: "Merge both accounts of people who signed up again under the new team.") var joinAccounts = false
        @Flag(help: "With FILE: skip refused lines and move the others.") var skipRefused = false
        @Argument(help: "An export from another server, or - for standard input.") var file: String?

        func validate() throws {
            guard file != nil || !skipRefused else {
                throw ValidationError("--skip-refused needs FILE.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let client = try transfer.client(of: context.configuration)
            try await context.transferring("import") {
                try await context.record("transfer import")
                let adopted = try await adopt(context)
                if adopted == nil { try await checkDirection(context) }
                try await exchange(context, client, adopted)
            }
        }

        private var asksAgain: Bool { transfer.again || joinAccounts }

        private func adopt(_ context: OperatorDatabase) async throws -> TransferAdoption.Report? {
            guard let file else { return nil }
            return try await Interruption.cancelling {
                let input = try InputFile.open(
                    file, without: 0o022,
                    "changed by others, who could move people to the wrong account. Run chmod 600 \(file).")
                var adoption = TransferAdoption(input, context: context, skipsRefused: skipRefused)
                return try await adoption.run()
            }
        }

        /// - Throws: when nobody waits to move to the configuration's team: most mistakes of a transfer.
        private func checkDirection(_ context: OperatorDatabase) async throws {
            let counts = try await context.database.transferCounts(from: nil, to: context.team)
            let routes = try await context.database.transferRoutes().filter { $0.recipient != context.team }
            if counts.exported + (asksAgain ? counts.refusedAtImport : 0) > 0 { return }
            let leaving = routes.first { $0.sender == context.team }
            // Repeating it after everyone has moved is not a mistake, unless they are leaving again.
            if counts.total > 0, (leaving?.waiting ?? 0) == 0 { return }
            let team = context.team.rawValue
            guard let route = leaving ?? routes.first else {
                throw CommandFailure(
                    """
                    Nobody in this database was exported to this configuration's team, \(team). Run bramley transfer \
                    export --to \(team) with the old team's configuration first, or import an exported file.
                    """)
            }
            let direction = "from team \(route.sender.rawValue) to team \(route.recipient.rawValue)"
            let people =
                route.waiting > 0
                ? "\(route.waiting) waiting to move \(direction)" : "\(route.exported) moved \(direction)"
            throw CommandFailure(
                "This configuration belongs to team \(team), but nobody is waiting to move there: \(people). "
                    + Self.advice(for: route.recipient))
        }

        static func advice(for recipient: TeamID) -> String {
            """
            Run import with the new team's configuration: apple.teamID \(recipient.rawValue), with that team's \
            apple.keyID and apple.privateKeyFile.
            """
        }

        private func exchange(
            _ context: OperatorDatabase, _ client: ClientID, _ adopted: TransferAdoption.Report?
        ) async throws {
            let before = try await context.database.transferCounts(from: nil, to: context.team)
            let total = adopted?.people.count ?? before.exported + (asksAgain ? before.refusedAtImport : 0)
            let (end, step) = try await context.ask(options.input, rate: transfer.rate, total: total) {
                TransferImport(
                    database: context.database, provider: $0, as: client, again: asksAgain, joins: joinAccounts,
                    only: adopted?.people, clock: context.clock)
            }
            let counts = try await context.database.transferCounts(from: nil, to: context.team)
            try show(step.report, adopted ?? TransferAdoption.Report(), counts, complete: end == .complete)
            if adopted != nil, end == .complete, counts.exported > 0 {
                CommandOutput.remark(
                    "Still waiting, and not in the file: \(counts.exported); bramley transfer import without "
                        + "FILE moves them."
                )
            }
            try end.check()
        }

        private func show(
            _ report: TransferImport.Report, _ adopted: TransferAdoption.Report, _ counts: TransferCounts,
            complete: Bool
        ) throws {
            let unmoved = counts.refusedAtImport + counts.refusedAtExport
            var text = "\(report.moved) moved, \(report.refused) refused by Apple"
            if report.joined > 0 { text += ", \(report.joined) joined with a second account" }
            if adopted.alreadyMoved > 0 { text += ", \(adopted.alreadyMoved) in the file had already moved" }
            try options.show(
                "\(text). In all: \(counts.moved) moved, \(unmoved) not, \(counts.exported) waiting.",
                [
                    ("moved", .number(report.moved)),
                    ("alreadyMoved", .number(report.alreadyMoved + adopted.alreadyMoved)),
                    ("joined", .number(report.joined)), ("refused", .number(report.refused)),
                    ("secondAccounts", .number(report.secondAccounts.count)),
                    ("linesRefused", .number(adopted.refused)),
                    ("movedInAll", .number(counts.moved)), ("unmovedInAll", .number(unmoved)),
                    ("waiting", .number(counts.exported)), ("complete", .flag(complete)),
                ])
            for pair in report.secondAccounts {
                let advice =
                    pair.bothHaveExternalIDs
                    ? "both have an external ID; remove one of them first" : "--join-accounts merges them"
                CommandOutput.remark("\(pair.first) has a second account, \(pair.second), under this team: \(advice)")
            }
            if unmoved > 0 {
                CommandOutput.remark(
                    "\(unmoved) could not move: bramley transfer status --unmoved lists them; --again asks Apple again."
                )
            }
        }
    }
}
