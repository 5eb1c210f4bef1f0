internal import Accounts
import ArgumentParser

extension UsersCommand {
    struct Approve: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Approve users who wait (access.signUp).")

        @OptionGroup var change: StateChange
        var options: CommandOptions { change.options }

        func run(on place: OperatorDatabase) async throws {
            try await change.set(
                .active, from: [.pending, .active], otherwise: "is disabled: enable them instead",
                saying: "will be let in",
                on: place)
        }
    }

    struct Disable: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign users out and block further sign-ins.",
            discussion: "Asks for confirmation for more than one. Deletes nothing; enable reverses it.")

        @OptionGroup var change: StateChange
        var options: CommandOptions { change.options }

        func run(on place: OperatorDatabase) async throws {
            try await change.set(
                .disabled, from: User.State.allCases, otherwise: "", saying: "will be signed out and kept out",
                asksForSeveral: true, on: place)
        }
    }

    struct Enable: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Enable disabled users.")

        @OptionGroup var change: StateChange
        var options: CommandOptions { change.options }

        func run(on place: OperatorDatabase) async throws {
            try await change.set(
                .active, from: [.disabled, .active], otherwise: "waits for approval: approve them instead",
                saying: "will be let in", on: place)
        }
    }

    /// Sets the state of several people. Each is a separate change; those who cannot be changed are named, and the rest is
    /// done.
    struct StateChange: ParsableArguments {
        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions

        @Argument(help: ArgumentHelp(UserReference.help + " Repeatable.", valueName: "person"))
        var people: [UserReference]

        /// - Parameters:
        ///   - otherwise: why somebody in a state that is no source is left alone.
        ///   - what: the end of the question, as in `will be let in`.
        func set(
            _ target: User.State, from sources: [User.State], otherwise: String, saying what: String,
            asksForSeveral: Bool = false, on place: OperatorDatabase
        ) async throws {
            // Unknown ids are reported below, and the rest is done.
            let named = people.compactMap { UserID(parsing: $0.text) }
            var found: [UserReference.Finding] = []
            for id in named {
                if let user = try await place.database.user(id) { found.append(.init(user: user, isCertain: true)) }
            }
            let others = try await people.filter { UserID(parsing: $0.text) == nil }.find(in: place)
                .filter { other in !named.contains(other.user.id) }
            if asksForSeveral, people.count > 1 { try confirmation.confirm("\(people.count) people \(what).") }
            try confirmation.confirm(found + others, what)
            let ids = named + others.map(\.user.id)
            var refused = 0
            for id in ids {
                let result = try await place.database.patchUser(id, at: place.now) { user in
                    sources.contains(user.state) ? UserPatch(state: target) : nil
                }
                if case .patched(let user) = result, user.state == target {
                    try UserRows.report(user, options)
                    continue
                }
                var reason = "is unknown"
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
                Groups appear in X-Auth-Request-Groups and in access rules. A running server applies them within a \
                second.
                """)

        @OptionGroup var options: CommandOptions

        @OptionGroup var confirmation: ConfirmationOptions

        @Argument(help: ArgumentHelp(UserReference.help, valueName: "person"))
        var person: UserReference

        @Option(help: ArgumentHelp("Set exactly these, comma-separated; \"\" for none.", valueName: "names"))
        var set: String?

        @Option(help: ArgumentHelp("Add these.", valueName: "names"))
        var add: String?

        @Option(help: ArgumentHelp("Remove these.", valueName: "names"))
        var remove: String?

        func validate() throws {
            guard set == nil || (add == nil && remove == nil) else {
                throw ValidationError("--set replaces all groups: leave out --add and --remove.")
            }
            for list in [set, add].compactMap({ $0 }) where !UserLimits.accepts(groups: Self.names(list)) {
                throw ValidationError(
                    "A user has at most \(UserLimits.groups) groups with different names of 1 to \(UserLimits.groupName) bytes, "
                        + "without control characters and without spaces at either end.")
            }
        }

        func run(on place: OperatorDatabase) async throws {
            let finding = try await person.find(in: place)
            let id = finding.user.id
            if changesGroups { try confirmation.confirm([finding], "will be in other groups") }
            guard let user = try await user(id, place) else { throw CommandFailure("There is no user \(id).") }
            // Already changed, or left alone because of this.
            guard changed(user.groups).count <= UserLimits.groups else {
                throw CommandFailure("Nobody is in more than \(UserLimits.groups) groups. Nothing was done.")
            }
            if options.json {
                try UserRows.report(user, options)
            } else {
                for group in user.groups { try CommandOutput.line(TerminalText.safe(group)) }
                if user.groups.isEmpty { CommandOutput.hint("In no group.") }
            }
        }

        private var changesGroups: Bool { [set, add, remove].contains { $0 != nil } }

        /// The person with the requested groups, unless there are too many; nil when unknown.
        private func user(_ id: UserID, _ place: OperatorDatabase) async throws -> User? {
            guard changesGroups else { return try await place.database.user(id) }
            let result = try await place.database.patchUser(id, at: place.now) { user in
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
