internal import Accounts
import ArgumentParser
internal import Coding

extension UsersCommand {
    struct Approve: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Approve pending users (access.signUp).")

        @OptionGroup var change: StateChange
        var options: CommandOptions { change.options }

        func run(on context: OperatorDatabase) async throws {
            try await change.set(
                .active, from: [.pending, .active], otherwise: "is disabled; use bramley users enable",
                saying: "will be approved", on: context)
        }
    }

    struct Disable: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign users out and block further sign-ins.",
            discussion: "Asks for confirmation if there is more than one. Deletes nothing; enable reverses it.")

        @OptionGroup var change: StateChange
        var options: CommandOptions { change.options }

        func run(on context: OperatorDatabase) async throws {
            try await change.set(
                .disabled, from: User.State.allCases, otherwise: "", saying: "will be signed out and blocked",
                asksForSeveral: true, on: context)
        }
    }

    struct Enable: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Enable disabled users.")

        @OptionGroup var change: StateChange
        var options: CommandOptions { change.options }

        func run(on context: OperatorDatabase) async throws {
            try await change.set(
                .active, from: [.disabled, .active], otherwise: "is waiting for approval; use bramley users approve",
                saying: "will be enabled", on: context)
        }
    }

    struct EndAccess: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "End an application's access to a user, or that of all.",
            discussion: """
                Its codes, access and refresh tokens end, and it gets a logout token. The user can sign in there again.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person")) var person: UserReference
        @Argument(help: ArgumentHelp("The application's client ID.", valueName: "client-id"), transform: Self.client)
        var client: OpenIDClientID?
        @Flag(help: "All applications.") var all = false

        private static func client(_ text: String) throws -> OpenIDClientID {
            guard let id = OpenIDClientID(parsing: text) else {
                throw ValidationError("\"\(text)\" is not a client ID.")
            }
            return id
        }

        func validate() throws {
            guard all != (client != nil) else { throw ValidationError("Pass a client ID, or --all.") }
        }

        func run(on context: OperatorDatabase) async throws {
            let finding = try await person.find(in: context)
            let id = finding.user.id
            try await confirmation.confirm(
                [finding], "will no longer be accessible to \(client?.rawValue ?? "any application")")
            let count = try await context.database.endAccess(of: client, to: id, at: context.now)
            try options.show("access of \(Quantity.count(count, "application")) ended", [("ended", .number(count))])
            if count == 0, let client { throw CommandFailure("\(client) has no access to \(id).") }
        }
    }

    /// Sets the state of several people, each separately; those who cannot be changed are named.
    struct StateChange: ParsableArguments {
        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions

        @Argument(help: ArgumentHelp(UserReference.help + " Repeatable.", valueName: "person"))
        var people: [UserReference]

        /// - Parameter otherwise: why a user in another state is not changed.
        func set(
            _ target: User.State, from sources: [User.State], otherwise: String, saying what: String,
            asksForSeveral: Bool = false, on context: OperatorDatabase
        ) async throws {
            // Unknown ids are reported below, and the rest is done.
            let named = people.compactMap { UserID(parsing: $0.text) }
            var found: [UserReference.Finding] = []
            for id in named {
                if let user = try await context.database.user(id) { found.append(.init(user: user, isCertain: true)) }
            }
            let others = try await people.filter { UserID(parsing: $0.text) == nil }.find(in: context)
                .filter { other in !named.contains(other.user.id) }
            if asksForSeveral, people.count > 1 { try await confirmation.confirm("\(people.count) people \(what).") }
            try await confirmation.confirm(found + others, what)
            let ids = named + others.map(\.user.id)
            var refused = 0
            for id in ids {
                let result = try await context.database.patchUser(id, at: context.now) { user in
                    sources.contains(user.state) ? UserPatch(state: target) : nil
                }
                if case .patched(let user) = result, user.state == target {
                    try UserRows.report(user, options)
                    continue
                }
                var reason = "was not found"
                if case .patched = result { reason = otherwise }
                CommandOutput.remark("\(id) \(reason)")
                refused += 1
            }
            if refused > 0 { throw CommandFailure("\(refused) of \(ids.count) not changed.") }
        }
    }

    struct Groups: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show or change a user's groups.",
            discussion: """
                Groups are sent in X-Auth-Request-Groups and used by access rules. A running server applies changes \
                within a second.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person")) var person: UserReference

        @Option(help: ArgumentHelp("Set exactly these, comma-separated; \"\" for none.", valueName: "names"))
        var set: String?

        @Option(help: ArgumentHelp("Add these.", valueName: "names")) var add: String?
        @Option(help: ArgumentHelp("Remove these.", valueName: "names")) var remove: String?

        func validate() throws {
            guard set == nil || (add == nil && remove == nil) else {
                throw ValidationError("--set cannot be combined with --add or --remove.")
            }
            for list in [set, add].compactMap({ $0 }) where !UserLimits.accepts(groups: Self.names(list)) {
                throw ValidationError(
                    "A user can have at most \(UserLimits.groups) groups. Their names must differ and have 1 to "
                        + "\(UserLimits.groupName) bytes, without control characters or spaces at either end; "
                        + "org: at the beginning is for Apple's organizations.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let finding = try await person.find(in: context)
            let id = finding.user.id
            if changesGroups { try await confirmation.confirm([finding], "will get different groups") }
            guard let user = try await user(id, context) else { throw CommandFailure("There is no user \(id).") }
            // Either changed, or not changed for this reason.
            guard changed(user.groups).count <= UserLimits.groups else {
                throw CommandFailure("A user can have at most \(UserLimits.groups) groups. Nothing was done.")
            }
            if options.json {
                try UserRows.report(user, options)
            } else {
                for group in user.groups { try CommandOutput.line(TerminalText.safe(group)) }
                if user.groups.isEmpty { CommandOutput.hint("No groups.") }
            }
        }

        private var changesGroups: Bool { [set, add, remove].contains { $0 != nil } }

        /// The person with the requested groups, unless there are too many; nil when unknown.
        private func user(_ id: UserID, _ context: OperatorDatabase) async throws -> User? {
            guard changesGroups else { return try await context.database.user(id) }
            let result = try await context.database.patchUser(id, at: context.now) { user in
                let groups = changed(user.groups)
                return groups.count <= UserLimits.groups ? UserPatch(groups: groups) : nil
            }
            guard case .patched(let user) = result else { return nil }
            return user
        }

        /// The requested groups: kept ones in their order, new ones at the end. Idempotent.
        func changed(_ groups: [String]) -> [String] {
            if let set { return Self.names(set) }
            let removed = remove.map(Self.names) ?? []
            let added = (add.map(Self.names) ?? []).filter { name in !groups.contains { Self.isSame($0, name) } }
            return (groups + added).filter { name in !removed.contains { Self.isSame($0, name) } }
        }

        static func names(_ list: String) -> [String] {
            list.isEmpty ? [] : list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }

        private static func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
    }
}
