package import ArgumentParser
internal import Coding
package import RelyingParty
internal import Storage
internal import Web

/// `bramley sessions`
package struct SessionsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Who is signed in, and where.",
        subcommands: [SessionsListCommand.self, SessionsRevokeCommand.self])

    package init() {}
}

/// Sessions as tables show them. What a browser says of itself, whole, is in the JSON.
struct SessionRows {
    static let ofAll: [TextTable.Column] = [
        .init("ID"), .init("USER"), .init("ADDRESS", optional: true), .init("DEVICE", flexible: true), .init("SEEN"),
        .init("CREATED", optional: true), .init("KIND", optional: true),
    ]
    static let ofOne = ofAll.filter { $0.title != "USER" }

    private let names = DeviceNames()
    private let now: Timestamp
    private let style: TextTable.Style

    init(at now: Timestamp, _ style: TextTable.Style) {
        self.now = now
        self.style = style
    }

    func row(_ session: Session) -> [String?] {
        [
            session.id.rawValue, session.user.rawValue, session.device.address, names.text(of: session),
            style == .piped ? session.lastSeenAt.shown(style) : session.lastSeenAt.age(at: now),
            session.createdAt.shown(style), session.kind.rawValue,
        ]
    }

    func rowOfOne(_ session: Session) -> [String?] {
        var row = row(session)
        row.remove(at: 1)
        return row
    }
}

/// `bramley sessions list`
package struct SessionsListCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Live sessions, newest first. Never their tokens.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var page: PageOptions

    @Option(help: ArgumentHelp("Only this person's.", valueName: "id"))
    package var user: UserID?

    package init() {}

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let after = page.place.map { SessionCursor(createdAt: $0.moment, id: SessionID(unchecked: $0.id)) }
            let sessions = try await place.database.sessions(
                of: user, after: after, limit: page.limit, at: place.now)
            let next = sessions.next.map { CommandCursor.encode($0.createdAt, $0.id.rawValue) }
            if output.json {
                try CommandOutput.jsonList(sessions.items, next: next) { SessionDocument.writeWithUser($0, to: &$1) }
                return
            }
            let rows = SessionRows(at: place.now, CommandOutput.tableStyle)
            try CommandOutput.table(TextTable(SessionRows.ofAll, rows: sessions.items.map(rows.row)))
            if sessions.items.isEmpty { CommandOutput.hint("Nobody is signed in.") }
            page.hint(next: next)
        }
    }
}

/// `bramley sessions revoke`
package struct SessionsRevokeCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Sign out: some sessions, one person's, or everybody's.",
        discussion: "A running server refuses them within a second. Everybody's are ended after a question.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Argument(help: "ses_…, one or several.")
    package var ids: [SessionID] = []

    @Option(help: ArgumentHelp("All of this person's.", valueName: "id"))
    package var user: UserID?

    @Flag(help: "Everybody's.")
    package var all = false

    package init() {}

    package func validate() throws {
        guard [!ids.isEmpty, user != nil, all].count(where: { $0 }) == 1 else {
            throw ValidationError("Say what to end: session IDs, --user ID, or --all.")
        }
    }

    package func run() async throws {
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
            let count = try await ProgressLine.during("signing everybody out") {
                try await place.database.endAllSessions(cause: cause, at: place.now)
            }
            return (count, 0)
        }
        if let user {
            guard try await place.database.user(user) != nil else { throw CommandFailure("There is no user \(user).") }
            return (try await place.database.endSessions(of: user, except: nil, cause: cause, at: place.now), 0)
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
