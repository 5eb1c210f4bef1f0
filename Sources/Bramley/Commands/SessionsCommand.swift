internal import Accounts
import ArgumentParser
internal import Coding
internal import Web

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Manage sessions.", subcommands: [List.self, Revoke.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List live sessions, newest first. Tokens are not shown.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        @Option(help: ArgumentHelp("Only this person's sessions. \(UserReference.help)", valueName: "person"))
        var user: UserReference?

        func run(on context: OperatorDatabase) async throws {
            let user = try await user?.id(in: context)
            try await page.show(
                SessionRows.ofAll(at: context.now, CommandOutput.tableStyle), SessionRows.fields, .sessions,
                empty: "Nobody is signed in.", json: options.json
            ) { after, limit in
                try await context.database.sessionsOfPeople(
                    of: user.map { [$0] }, after: after, limit: limit, at: context.now)
            }
        }
    }

    struct Revoke: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "End individual sessions, one person's sessions, or all.",
            discussion: "A running server refuses them within a second. Ending all sessions asks for confirmation.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: "One or more session ids, ses_….") var ids: [SessionID] = []

        @Option(help: ArgumentHelp("All sessions of this person. \(UserReference.help)", valueName: "person"))
        var user: UserReference?

        @Flag(help: "End all sessions.") var all = false

        func validate() throws {
            guard [!ids.isEmpty, user != nil, all].count(where: { $0 }) == 1 else {
                throw ValidationError("Pass exactly one of: session ids, --user PERSON, --all.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let (revoked, missing) = try await revoke(context)
            try options.show("\(Quantity.count(revoked, "session")) revoked", [("revoked", .number(revoked))])
            if missing > 0 { throw CommandFailure("\(missing) of \(ids.count) not found.") }
        }

        private func revoke(_ context: OperatorDatabase) async throws -> (revoked: Int, missing: Int) {
            let cause = SessionEndCause.revokedByOperator
            if all {
                try await confirmation.confirm("All sessions will end.")
                let total = try await context.database.sessionCount()
                let count = try await ProgressLine.during("ending all sessions", total: total, unit: "sessions ended") {
                    progress in
                    try await context.database.endAllSessions(cause: cause, at: context.now, progress: progress.add)
                }
                return (count, 0)
            }
            if let user {
                let finding = try await user.find(in: context)
                try await confirmation.confirm([finding], "will be signed out")
                return (
                    try await context.database.endSessions(
                        of: finding.user.id, except: nil, cause: cause, at: context.now),
                    0
                )
            }
            var revoked = 0
            for id in ids {
                if try await context.database.endSession(id, cause: cause, at: context.now) {
                    revoked += 1
                } else {
                    CommandOutput.remark("\(id) was not found")
                }
            }
            return (revoked, ids.count - revoked)
        }
    }
}

/// Sessions in tables. The complete user agent is in the JSON.
enum SessionRows {
    /// A session with its person; nil when just deleted.
    typealias Row = (session: Session, user: User?)

    static func ofAll(at now: Timestamp, _ style: TextTable.Style) -> [CommandColumn<Row>] {
        let rest = ofOne(at: now, style).map { column in
            CommandColumn<Row>(column: column.column) { column.value($0.session) }
        }
        return rest.prefix(1) + [
            .init("USER") { .code($0.session.user.rawValue) },
            .init("NAME", flexible: true) { .text($0.user.flatMap(UserRows.name)) },
            .init("EMAIL", flexible: true, optional: true) { .text($0.user?.email?.address) },
        ] + rest.dropFirst()
    }

    static func ofOne(at now: Timestamp, _ style: TextTable.Style) -> [CommandColumn<Session>] {
        let describe = DeviceDescription.english()
        return [
            .init("ID") { .code($0.id.rawValue) },
            .init("DEVICE", flexible: true, optional: true) { .text(describe($0)) },
            .init("SEEN") { style == .piped ? .time($0.lastSeenAt) : .text($0.lastSeenAt.age(at: now)) },
            .init("ADDRESS", optional: true) { .text($0.device.address) },
            .init("CREATED", optional: true) { .time($0.createdAt) },
            .init("KIND", optional: true) { .text($0.kind.rawValue) },
        ]
    }

    static let fields: [Field<Row>] =
        [
            Field("user") { .code($0.session.user.rawValue) }, Field("name") { .text($0.user.flatMap(UserRows.name)) },
            Field("email") { .text($0.user?.email?.address) },
        ] + Session.fields.map { field in field.of { $0.session } }
}
