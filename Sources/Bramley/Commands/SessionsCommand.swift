import Accounts
import ArgumentParser
internal import Coding
internal import Storage
internal import Web

/// `bramley sessions`
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Manage sessions.",
        subcommands: [SessionsListCommand.self, SessionsRevokeCommand.self])

}

/// Sessions in tables. The complete user agent is in the JSON.
struct SessionRows {
    static let ofAll: [TextTable.Column] = [
        .init("ID"), .init("USER"), .init("NAME", flexible: true), .init("EMAIL", flexible: true),
        .init("DEVICE", flexible: true), .init("SEEN"), .init("ADDRESS", optional: true),
        .init("CREATED", optional: true), .init("KIND", optional: true),
    ]
    static let ofOne = ofAll.filter { !["USER", "NAME", "EMAIL"].contains($0.title) }

    private let names = DeviceNames()
    private let now: Timestamp
    private let style: TextTable.Style

    init(at now: Timestamp, _ style: TextTable.Style) {
        self.now = now
        self.style = style
    }

    /// - Parameter user: its user; nil when just deleted.
    func row(_ session: Session, of user: User?) -> [String?] {
        [session.id.rawValue, session.user.rawValue, user.flatMap(UserRows.name), user?.email?.address] + rest(session)
    }

    func rowOfOne(_ session: Session) -> [String?] {
        [session.id.rawValue] + rest(session)
    }

    private func rest(_ session: Session) -> [String?] {
        [
            names.text(of: session),
            style == .piped ? session.lastSeenAt.shown(style) : session.lastSeenAt.age(at: now),
            session.device.address, session.createdAt.shown(style), session.kind.rawValue,
        ]
    }
}

/// `bramley sessions list`
struct SessionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List live sessions, newest first. Tokens are not shown.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    @Option(help: ArgumentHelp("Only this person's sessions. \(UserReference.help)", valueName: "person"))
    var user: UserReference?

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let user = try await user?.id(in: place)
            let rows = SessionRows(at: place.now, CommandOutput.tableStyle)
            let list = CommandList<(session: Session, user: User?)>(
                SessionRows.ofAll, empty: "Nobody is signed in.", row: { rows.row($0.session, of: $0.user) },
                document: { item, writer in
                    SessionDocument.writeWithUser(
                        item.session, name: item.user.flatMap(UserRows.name), email: item.user?.email?.address,
                        to: &writer)
                })
            try await list.show(page, json: output.json) { after, limit in
                let after = after.map { SessionCursor(time: $0.moment, id: SessionID(unchecked: $0.id)) }
                let found = try await place.database.sessions(of: user, after: after, limit: limit, at: place.now)
                let people = try await place.database.users(Set(found.items.map(\.user)))
                return (
                    found.items.map { ($0, people[$0.user]) },
                    found.next.map { CommandCursor.encode($0.time, $0.id.rawValue) }
                )
            }
        }
    }
}

/// `bramley sessions revoke`
struct SessionsRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "End some sessions, one person's, or all.",
        discussion: "A running server refuses them within a second. Ending all sessions asks for confirmation.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Argument(help: "One or more session ids, ses_….")
    var ids: [SessionID] = []

    @Option(help: ArgumentHelp("All sessions of this person. \(UserReference.help)", valueName: "person"))
    var user: UserReference?

    @Flag(help: "End all sessions.")
    var all = false

    func validate() throws {
        guard [!ids.isEmpty, user != nil, all].count(where: { $0 }) == 1 else {
            throw ValidationError("Say what to end: session IDs, --user ID, or --all.")
        }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let (revoked, missing) = try await revoke(place)
            if output.json {
                try CommandOutput.json { writer in
                    writer.beginObject()
                    writer.member("revoked", Int64(revoked))
                    writer.endObject()
                }
            } else {
                try CommandOutput.line("\(revoked) \(revoked == 1 ? "session" : "sessions") revoked")
            }
            if missing > 0 { throw CommandFailure("\(missing) of \(ids.count) not there.") }
        }
    }

    private func revoke(_ place: OperatorDatabase) async throws -> (revoked: Int, missing: Int) {
        let cause = SessionEndCause.revokedByOperator
        if all {
            try confirmation.confirm("Everybody will be signed out.")
            let total = try await place.database.sessionCount()
            let count = try await ProgressLine.during("signing everybody out", total: total, unit: "sessions ended") {
                progress in
                try await place.database.endAllSessions(cause: cause, at: place.now, progress: progress.add)
            }
            return (count, 0)
        }
        if let user {
            let finding = try await user.find(in: place)
            try confirmation.confirm([finding], "will be signed out")
            return (
                try await place.database.endSessions(of: finding.user.id, except: nil, cause: cause, at: place.now), 0
            )
        }
        var revoked = 0
        for id in ids {
            if try await place.database.endSession(id, cause: cause, at: place.now) {
                revoked += 1
            } else {
                CommandOutput.remark("\(id) is not there")
            }
        }
        return (revoked, ids.count - revoked)
    }
}
