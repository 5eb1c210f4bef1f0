internal import Accounts
import ArgumentParser
internal import Coding

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Manage users.",
        subcommands: [
            List.self, Show.self, Approve.self, Disable.self, Enable.self, Groups.self, EndAccess.self, Export.self,
            Import.self, Delete.self,
        ])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "List users, oldest first.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions
        @Option(help: "Only users in this state: active, pending or disabled.") var state: User.State?
        @Option(help: ArgumentHelp("Only users in this group.", valueName: "name")) var group: String?
        @Option(help: ArgumentHelp("Only users with this address.", valueName: "address")) var email: String?

        @Option(help: ArgumentHelp("Only users whose name has a word starting with this.", valueName: "words"))
        var name: String?

        func run(on context: OperatorDatabase) async throws {
            let filter = UserFilter(state: state, group: group, email: email, name: name)
            try await page.show(
                UserRows.columns, User.fields, .users, empty: "No users match.", json: options.json
            ) { after, limit in try await context.database.users(filter, after: after, limit: limit) }
        }
    }

    struct Show: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a user, their sessions and their applications.",
            discussion: """
                If several users match an address or name, they are listed; choose one by id.
                """)

        @OptionGroup var options: CommandOptions
        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person")) var person: UserReference?
        @Option(help: ArgumentHelp("Your application's id for the user.", valueName: "id")) var externalID: String?
        @Option(help: ArgumentHelp("Apple's sub.", valueName: "sub")) var appleSubject: String?

        private static let rows = 20

        func validate() throws {
            guard [person != nil, externalID != nil, appleSubject != nil].count(where: { $0 }) == 1 else {
                throw ValidationError("Pass exactly one of: a user, --external-id, --apple-subject.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            guard let user = try await find(context) else { throw CommandFailure("There is no such user.") }
            if options.json { return try CommandOutput.json { $0.write(user, User.fields) } }
            let style = CommandOutput.tableStyle
            try CommandOutput.rows(Self.rows(of: user, style))
            guard style != .piped else { return }
            let page = try await context.database.sessions(of: user.id, after: nil, limit: Self.rows, at: context.now)
            try CommandOutput.line("")
            try CommandOutput.table(
                SessionRows.ofOne(at: context.now, style), page.items, empty: "Not signed in anywhere.")
            if page.next != nil { CommandOutput.hint("For all sessions: bramley sessions list --user \(user.id)") }
            let applications = try await context.database.applications(of: user.id, at: context.now) ?? []
            guard !applications.isEmpty else { return }
            try CommandOutput.line("")
            try CommandOutput.table(Self.applications(at: context.now), applications, empty: "")
        }

        private static func applications(at now: Timestamp) -> [CommandColumn<ConnectedApplication>] {
            [
                .init("APPLICATION") { .code($0.client.rawValue) }, .init("NAME", flexible: true) { .text($0.name) },
                .init("LAST USED") { .text($0.lastUsedAt.age(at: now)) }, .init("OFFLINE") { .flag($0.isOffline) },
                .init("SCOPES", flexible: true, optional: true) {
                    .text($0.scopes.map(\.rawValue).joined(separator: " "))
                },
            ]
        }

        private func find(_ context: OperatorDatabase) async throws -> User? {
            if let person { return try await person.find(in: context).user }
            if let externalID { return try await context.database.user(externalID: externalID) }
            return try await context.database.user(team: context.team, subject: AppleSubject(appleSubject ?? ""))
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
}

enum UserRows {
    static let columns: [CommandColumn<User>] = [
        .init("ID") { .code($0.id.rawValue) }, .init("STATE") { .text($0.state.rawValue) },
        .init("NAME", flexible: true) { .text(name($0)) }, .init("EMAIL", flexible: true) { .text($0.email?.address) },
        .init("GROUPS", flexible: true, optional: true) { .texts($0.groups) },
        .init("CREATED", optional: true) { .time($0.createdAt) },
        .init("EXTERNAL ID", optional: true) { .text($0.externalID) },
    ]

    /// Given name first, in the order Apple asks for; nil when there is neither.
    static func name(_ user: User) -> String? {
        let parts = [user.name.given, user.name.family].compactMap { $0 }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    /// One person in a question: the id and, if known, the name and address.
    static func mention(_ user: User) -> String {
        let known = [name(user), user.email?.address].compactMap { $0 }
        return known.isEmpty ? user.id.rawValue : "\(user.id.rawValue) (\(known.joined(separator: ", ")))"
    }

    static func report(_ user: User, _ options: CommandOptions) throws {
        let words = [user.id.rawValue, user.state.rawValue, TerminalText.safe(user.groups.joined(separator: ","))]
        try options.show(words.filter { !$0.isEmpty }.joined(separator: "\t"), user, User.fields)
    }
}
