internal import Accounts
import ArgumentParser
internal import Coding
internal import Storage
internal import Web

/// `bramley users show`
struct UsersShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a user and their sessions.",
        discussion: """
            If several users match an address or name, they are listed; choose one by id.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp(UserReference.help, valueName: "person"))
    var person: UserReference?

    @Option(help: ArgumentHelp("Your application's id of the user.", valueName: "id"))
    var externalID: String?

    @Option(help: ArgumentHelp("Apple's sub.", valueName: "sub"))
    var appleSubject: String?

    /// The newest sessions that are shown.
    private static let rows = 20

    func validate() throws {
        guard [person != nil, externalID != nil, appleSubject != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Name the person once: by a text, --external-id or --apple-subject.")
        }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            guard let user = try await find(place) else { throw CommandFailure("There is no such user.") }
            if output.json {
                try CommandOutput.json { UserDocument.write(user, to: &$0) }
                return
            }
            let style = CommandOutput.tableStyle
            try CommandOutput.table(
                TextTable([.init(""), .init("")], rows: Self.fields(of: user, style).map { [$0.name, $0.value] }))
            guard style != .piped else { return }
            let page = try await place.database.sessions(of: user.id, after: nil, limit: Self.rows, at: place.now)
            let sessions = page.items
            try CommandOutput.line("")
            let rows = SessionRows(at: place.now, style)
            try CommandOutput.table(TextTable(SessionRows.ofOne, rows: sessions.map(rows.rowOfOne)))
            if sessions.isEmpty { CommandOutput.hint("Not signed in anywhere.") }
            if page.next != nil { CommandOutput.hint("All of them: bramley sessions list --user \(user.id)") }
        }
    }

    private func find(_ place: OperatorDatabase) async throws -> User? {
        if let person { return try await person.find(in: place).user }
        if let externalID { return try await place.database.user(externalID: externalID) }
        return try await place.database.user(team: place.team, subject: AppleSubject(appleSubject ?? ""))
    }

    /// In the terms of the JSON document.
    static func fields(of user: User, _ style: TextTable.Style) -> [(name: String, value: String?)] {
        [
            ("id", user.id.rawValue), ("state", user.state.rawValue), ("externalID", user.externalID),
            ("appleSubject", user.appleSubject.rawValue), ("given name", user.name.given),
            ("family name", user.name.family), ("email", user.email?.address),
            ("emailVerified", user.email.map { word($0.isVerified) }),
            ("isPrivateEmail", user.email.map { word($0.isPrivate) }),
            ("emailForwarding", user.emailForwarding.map(word)), ("realUserStatus", user.realUserStatus?.rawValue),
            ("credentialState", user.credential.state.rawValue),
            ("credentialChangedAt", user.credential.changedAt?.shown(style)),
            ("credentialCause", user.credential.cause.rawValue),
            ("groups", user.groups.isEmpty ? nil : user.groups.joined(separator: ",")),
            ("createdAt", user.createdAt.shown(style)),
        ]
    }

    private static func word(_ value: Bool) -> String { value ? "true" : "false" }
}
