internal import Accounts
internal import ArgumentParser
package import Coding

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Show security events and who caused them.", subcommands: [List.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the audit log, newest first.",
            discussion: """
                Entries contain no names. Find entries about a person by id, even after deletion, as long as the \
                sealing key in use at the time is still listed.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        @Option(
            help: ArgumentHelp("Only entries about this person. Use the id for a deleted person.", valueName: "person"))
        var user: UserReference?

        @Option(help: ArgumentHelp("Only this type. Repeatable.", valueName: "type")) var type: [AuditEntry.Kind] = []

        @Option(
            help: ArgumentHelp(
                "Start time: yesterday, 2026-01-02, 2026-01-02T03:04:05Z, or an age such as 7d.", valueName: "time"))
        var since: MomentArgument?

        @Option(help: ArgumentHelp("End time, exclusive.", valueName: "time")) var until: MomentArgument?

        func run(on context: OperatorDatabase) async throws {
            let filter = AuditFilter(
                kinds: Set(type), user: try await user?.id(in: context), since: since?.moment(at: context.now),
                until: until?.moment(at: context.now))
            try await page.show(
                [
                    .init("TIME") { .time($0.time) }, .init("TYPE") { .text($0.kind.rawValue) },
                    .init("BY", flexible: true, optional: true) { .text(Self.actor($0)) },
                    .init("REASON", flexible: true, optional: true) { .text($0.reason) },
                    .init("OBJECT") { .text(Self.object($0)) },
                    .init("FROM", optional: true) { .text($0.network) },
                    .init("SUBJECT", optional: true) { .text($0.subject.map(Hexadecimal.encode)) },
                ], AuditEntry.fields, .audit, empty: "No entries.", json: options.json
            ) { after, limit in
                // A search by time may read the whole log, a piece at a time.
                try await ProgressLine.during("searching the audit log") {
                    try await context.database.auditLog(filter, before: after, limit: limit)
                }
            }
        }

        private static func object(_ line: AuditEntry) -> String? {
            guard let person = line.person?.rawValue else { return line.object }
            return line.object.map { "\($0) \(person)" } ?? person
        }

        /// `operator root (sudo: ann)`, the id of an API key, or one word.
        private static func actor(_ line: AuditEntry) -> String {
            line.apiKey?.rawValue ?? line.account.map { "\(line.actor.rawValue) \($0)" } ?? line.actor.rawValue
        }
    }
}

/// A time on a command line: a day or a second in UTC, or how long ago.
package enum MomentArgument: Hashable, Sendable, ExpressibleByArgument {
    case at(Timestamp)
    case ago(seconds: Int64)
    /// The beginning of a day in UTC: today is 0, yesterday 1.
    case day(before: Int64)

    package init?(argument: String) {
        if let ago = argument.wholeMatch(of: /([0-9]{1,6})([mhd])/) {
            let unit: Int64 = ["m": 60, "h": 3_600, "d": 86_400][ago.2] ?? 0
            guard let count = Int64(ago.1) else { return nil }
            self = .ago(seconds: count * unit)
            return
        }
        if let days: Int64 = ["today": 0, "yesterday": 1][argument] {
            self = .day(before: days)
            return
        }
        let pattern = /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,9})?Z)?/
        guard let date = argument.wholeMatch(of: pattern) else { return nil }
        let time = date.4.map { "\($0):\(date.5 ?? ""):\(date.6 ?? "")" } ?? "00:00:00"
        guard let moment = Timestamp(rfc3339: "\(date.1)-\(date.2)-\(date.3)T\(time)Z") else { return nil }
        self = .at(moment)
    }

    package func moment(at now: Timestamp) -> Timestamp {
        switch self {
        case .at(let moment): moment
        case .ago(let seconds): now.adding(seconds: -seconds)
        case .day(let days): Timestamp(seconds: (now.seconds / 86_400 - days) * 86_400)
        }
    }

    /// The same for a future time: an age is how long from now.
    func moment(after now: Timestamp) -> Timestamp {
        if case .ago(let seconds) = self { now.adding(seconds: seconds) } else { moment(at: now) }
    }
}
