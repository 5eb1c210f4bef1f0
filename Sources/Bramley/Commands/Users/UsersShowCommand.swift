internal import Accounts
import ArgumentParser
internal import Coding
internal import Storage

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
            if output.json { return try CommandOutput.json { $0.write(user, User.fields) } }
            let style = CommandOutput.tableStyle
            try CommandOutput.rows(Self.rows(of: user, style))
            guard style != .piped else { return }
            let page = try await place.database.sessions(of: user.id, after: nil, limit: Self.rows, at: place.now)
            let sessions = page.items
            try CommandOutput.line("")
            try CommandOutput.table(TextTable(SessionRows.ofOne(at: place.now, style), sessions, style))
            if sessions.isEmpty { CommandOutput.hint("Not signed in anywhere.") }
            if page.next != nil { CommandOutput.hint("All of them: bramley sessions list --user \(user.id)") }
        }
    }

    private func find(_ place: OperatorDatabase) async throws -> User? {
        if let person { return try await person.find(in: place).user }
        if let externalID { return try await place.database.user(externalID: externalID) }
        return try await place.database.user(team: place.team, subject: AppleSubject(appleSubject ?? ""))
    }

    /// In the terms of the JSON document; the name before the address, each part by itself.
    static func rows(of user: User, _ style: TextTable.Style) -> [(name: String, text: String?)] {
        var fields = User.fields
        if let name = fields.firstIndex(where: { $0.name == "name" }),
            let email = fields.firstIndex(where: { $0.name == "email" })
        {
            fields.insert(fields.remove(at: name), at: email)
        }
        return fields.flatMap { field -> [(name: String, text: String?)] in
            let value = field.value(user)
            guard case .parts(let parts) = value else { return [(field.name, value.shown(style))] }
            return parts.map { ("\($0.name) \(field.name)", $0.text) }
        }
    }
}
