internal import Accounts
internal import AppleID
import ArgumentParser
internal import Sockets

extension TransferCommand {
    struct Import: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "New team: ask Apple for each person by transfer_sub, and move them.",
            discussion: """
                Each person moves in a separate transaction; after an interruption, run it again. With FILE it moves \
                only the people in FILE, and none while a line is refused. Without FILE it moves everyone exported \
                into this database.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var transfer: TransferOptions

        @Flag(help: "Join both accounts of people who signed up again under the new team.")
        var joinAccounts = false

        @Flag(help: "With FILE: skip refused lines and move the others.")
        var skipRefused = false

        @Argument(help: "An export from another server, or - for standard input.")
        var file: String?

        func validate() throws {
            guard file != nil || !skipRefused else {
                throw ValidationError("--skip-refused is about the lines of FILE.")
            }
        }

        func run(on place: OperatorDatabase) async throws {
            let client = try transfer.client(of: place.configuration)
            try await place.transferring("import") {
                try await place.record("transfer import")
                let adopted = try await adopt(place)
                if adopted == nil { try await checkDirection(place) }
                try await exchange(place, client, adopted)
            }
        }

        private var asksAgain: Bool { transfer.again || joinAccounts }

        /// - Returns: nil without a file.
        private func adopt(_ place: OperatorDatabase) async throws -> TransferAdoption.Report? {
            guard let file else { return nil }
            return try await Interruption.cancelling {
                let input = try InputFile.open(
                    file, without: 0o022,
                    "changed by others, who could move people to the wrong account: run chmod 600 \(file).")
                var adoption = TransferAdoption(input, place: place, skipsRefused: skipRefused)
                return try await adoption.run()
            }
        }

        /// Most mistakes of a transfer are the configuration of the wrong team.
        /// - Throws: when the configuration is of a team to which nobody is on the way.
        private func checkDirection(_ place: OperatorDatabase) async throws {
            let counts = try await place.database.transferCounts(from: nil, to: place.team)
            let routes = try await place.database.transferRoutes().filter { $0.recipient != place.team }
            if counts.exported + (asksAgain ? counts.refusedAtImport : 0) > 0 { return }
            let leaving = routes.first { $0.sender == place.team }
            // Once more after everybody has come is no mistake, unless they are leaving again.
            if counts.total > 0, (leaving?.waiting ?? 0) == 0 { return }
            let team = place.team.rawValue
            guard let route = leaving ?? routes.first else {
                throw CommandFailure(
                    """
                    Nobody in this database was exported to team \(team), which is this configuration's. Run bramley \
                    transfer export --to \(team) with the old team's configuration first, or import the file of an \
                    export.
                    """)
            }
            let way = "from team \(route.sender.rawValue) to team \(route.recipient.rawValue)"
            let people =
                route.waiting > 0 ? "\(route.waiting) wait to move \(way)" : "\(route.exported) have moved \(way)"
            throw CommandFailure(
                "This configuration belongs to team \(team), and nobody waits to move to that one: \(people). "
                    + Self.advice(for: route.recipient))
        }

        static func advice(for recipient: TeamID) -> String {
            """
            An import runs with the new team's configuration: apple.teamID \(recipient.rawValue), with that team's \
            apple.keyID and apple.privateKeyFile.
            """
        }

        private func exchange(
            _ place: OperatorDatabase, _ client: ClientID, _ adopted: TransferAdoption.Report?
        ) async throws {
            let before = try await place.database.transferCounts(from: nil, to: place.team)
            let total = adopted?.people.count ?? before.exported + (asksAgain ? before.refusedAtImport : 0)
            let (end, step) = try await place.ask(options.input, rate: transfer.rate, total: total) {
                TransferImport(
                    database: place.database, provider: $0, as: client, again: asksAgain, joins: joinAccounts,
                    only: adopted?.people, clock: place.clock)
            }
            let counts = try await place.database.transferCounts(from: nil, to: place.team)
            try show(step.report, adopted ?? TransferAdoption.Report(), counts, complete: end == .complete)
            if adopted != nil, end == .complete, counts.exported > 0 {
                CommandOutput.remark(
                    "\(counts.exported) wait who are not in the file: bramley transfer import without it moves them.")
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
            if adopted.alreadyMoved > 0 { text += ", \(adopted.alreadyMoved) of the file had moved before" }
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
}
