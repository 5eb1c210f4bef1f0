internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets

struct TransferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer", abstract: "Move people to another Apple team.",
        discussion: """
            Run export with the old team's configuration and import with the new one's, on the same database. See \
            docs/operate/import.md.
            """,
        subcommands: [Export.self, Import.self, Status.self])

    struct Status: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show how many people have moved, are waiting, or could not move.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        @Option(
            name: .customLong("to"),
            help: ArgumentHelp("The Team ID of the new team. (default: the configuration's)", valueName: "team"))
        var recipient: TeamID?

        @Flag(help: "List the people who could not move.") var unmoved = false

        func run(on context: OperatorDatabase) async throws {
            let recipient = recipient ?? context.team
            if unmoved { return try await showUnmoved(recipient, context) }
            let sender = recipient == context.team ? nil : context.team
            let counts = try await context.database.transferCounts(from: sender, to: recipient)
            try show(counts, recipient, now: context.now)
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
            let unasked = counts.unasked.map { [("unasked", FieldValue.number($0))] } ?? []
            try options.show(
                lines.joined(separator: "\n"),
                [("target", .text(recipient.rawValue))] + unasked
                    + [
                        ("refusedAtExport", .number(counts.refusedAtExport)), ("waiting", .number(counts.exported)),
                        ("refusedAtImport", .number(counts.refusedAtImport)), ("moved", .number(counts.moved)),
                        ("firstExportAt", .text(counts.firstExportAt?.rfc3339)),
                    ])
            if counts.exported > 0, !options.json {
                CommandOutput.hint("Apple answers for 60 days after the app is transferred.")
            }
        }

        private func showUnmoved(_ recipient: TeamID, _ context: OperatorDatabase) async throws {
            try await page.show(
                [
                    .init("USER") { .code($0.user.rawValue) },
                    .init("EXTERNAL ID", optional: true) { .text($0.externalID) },
                    .init("AT") { .text($0.step.rawValue) }, .init("REASON", flexible: true) { .text($0.reason) },
                    .init("ASKED", optional: true) { .time($0.place.time) },
                ], UnmovedPerson.fields, .unmoved, empty: "No one.", json: options.json
            ) { after, limit in try await context.database.unmovedPeople(to: recipient, after: after, limit: limit) }
        }
    }

    struct Export: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Old team: ask Apple for everyone's transfer_sub.",
            discussion: """
                Each answer is stored at once. Run it again after an interruption or for new people. FILE is needed \
                only if the new team uses another database.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var transfer: TransferOptions

        @Option(name: .customLong("to"), help: ArgumentHelp("The Team ID of the new team.", valueName: "team"))
        var recipient: TeamID

        @Argument(help: "The file for the new team, written when complete, or - for standard output.")
        var file: String?

        func run(on context: OperatorDatabase) async throws {
            guard recipient != context.team else {
                throw CommandFailure.usage(
                    "--to is this configuration's own team. Run export with the old team's configuration.")
            }
            guard file != "-" || !options.json else {
                throw CommandFailure.usage("--json and - both write to standard output.")
            }
            let client = try transfer.client(of: context.configuration)
            try await context.transferring("export") {
                try await context.record("transfer export")
                try await export(context, client)
            }
        }

        private func export(_ context: OperatorDatabase, _ client: ClientID) async throws {
            let before = try await context.database.transferCounts(from: context.team, to: recipient)
            guard before.total > 0 else {
                throw CommandFailure(
                    """
                    Nobody in this database belongs to this configuration's team, \(context.team.rawValue). Run export \
                    with the old team's configuration: its apple.teamID, apple.keyID and apple.privateKeyFile.
                    """)
            }
            let open = (before.unasked ?? 0) + (transfer.again ? before.refusedAtExport : 0)
            let (end, _) = try await context.ask(options.input, rate: transfer.rate, total: open) {
                TransferExport(
                    database: context.database, provider: $0, as: client, to: recipient, again: transfer.again,
                    clock: context.clock)
            }
            let counts = try await context.database.transferCounts(from: context.team, to: recipient)
            let isNobody = Self.exported(counts) == 0
            if end == .complete, !isNobody, let file { try await write(file, context) }
            try show(counts, complete: end == .complete)
            if counts.refusedAtExport > 0 {
                CommandOutput.remark(
                    "\(counts.refusedAtExport) cannot move: bramley transfer status --to \(recipient.rawValue) --unmoved lists "
                        + "them; --again asks Apple again.")
            }
            try end.check()
            if isNobody {
                throw CommandFailure(
                    "Nobody was exported to team \(recipient.rawValue); --again retries people refused before.")
            }
        }

        /// People who have a `transfer_sub`, whether they have moved or not.
        private static func exported(_ counts: TransferCounts) -> Int {
            counts.exported + counts.moved + counts.refusedAtImport
        }

        private func show(_ counts: TransferCounts, complete: Bool) throws {
            let exported = Self.exported(counts)
            let unasked = counts.unasked ?? 0
            let text =
                "\(exported) exported, \(counts.refusedAtExport) refused by Apple, \(unasked) not asked about yet."
            if file == "-" { return CommandOutput.remark(text) }
            try options.show(
                text,
                [
                    ("exported", .number(exported)), ("refused", .number(counts.refusedAtExport)),
                    ("unasked", .number(unasked)), ("complete", .flag(complete)),
                ])
        }

        private func write(_ path: String, _ context: OperatorDatabase) async throws {
            var bytes: [UInt8] = []
            var last: AppleSubject?
            while true {
                let part = try await context.database.transferLines(
                    from: context.team, to: recipient, after: last, limit: 1000)
                if part.isEmpty { break }
                last = part.last?.subject
                for line in part { bytes += line.encoded }
                if path == "-" {
                    try CommandOutput.write(bytes)
                    bytes.removeAll(keepingCapacity: true)
                }
            }
            if path == "-" { return }
            // Replaces an existing file; readable only by its owner.
            try await translating(try Files.replace(path, mode: 0o600, bytes: bytes)) { (error: SystemError) in
                CommandFailure("\(path) cannot be written: \(error).")
            }
        }
    }
}

extension TeamID: ExpressibleByArgument {
    init?(argument: String) {
        guard let text = try? AppleIdentifier.team(argument) else { return nil }
        self.init(text)
    }
}

struct TransferOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The client ID to use with Apple. (default: apple.servicesID)", valueName: "client ID"))
    var clientID: String?

    @Option(help: ArgumentHelp("Requests per second, 1 to 100.", valueName: "count")) var rate = 10
    @Flag(help: "Retry people whom Apple refused before.") var again = false

    func validate() throws {
        guard (1...100).contains(rate) else { throw ValidationError("--rate must be 1 to 100.") }
    }

    func client(of configuration: DatabaseConfiguration) throws(CommandFailure) -> ClientID {
        let clients = configuration.checkScope.clients
        guard let clientID else { return clients[0] }
        guard let client = clients.first(where: { $0.rawValue.isExactly(clientID) }) else {
            throw .usage("--client-id is neither apple.servicesID nor one of apple.bundleIDs.")
        }
        return client
    }
}
