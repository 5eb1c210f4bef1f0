internal import Accounts
import ArgumentParser
internal import Storage

/// `bramley users groups`
struct UsersGroupsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups", abstract: "Show or change a user's groups.",
        discussion: """
            Groups appear in X-Auth-Request-Groups and in access rules. A running server applies them within a second.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

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
            throw ValidationError("--set says everything: no --add or --remove beside it.")
        }
        for list in [set, add].compactMap({ $0 }) where !UserLimits.accepts(groups: Self.names(list)) {
            throw ValidationError(
                "A user has at most \(UserLimits.groups) groups with different names of 1 to \(UserLimits.groupName) bytes, "
                    + "without control characters and without spaces at either end.")
        }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let finding = try await person.find(in: place)
            let id = finding.user.id
            if changesGroups { try confirmation.confirm([finding], "will be in other groups") }
            guard let user = try await user(id, place) else { throw CommandFailure("There is no user \(id).") }
            // Already changed, or left alone because of this.
            guard changed(user.groups).count <= UserLimits.groups else {
                throw CommandFailure("Nobody is in more than \(UserLimits.groups) groups. Nothing was done.")
            }
            if output.json {
                try UserRows.report(user, output)
            } else {
                for group in user.groups { try CommandOutput.line(TerminalText.safe(group)) }
                if user.groups.isEmpty { CommandOutput.hint("In no group.") }
            }
        }
    }

    private var changesGroups: Bool { [set, add, remove].contains { $0 != nil } }

    /// The person with the requested groups, unless there are too many; nil when unknown.
    private func user(_ id: UserID, _ place: OperatorDatabase) async throws -> User? {
        guard changesGroups else { return try await place.database.user(id) }
        let command = self
        let result = try await place.database.patchUser(id, at: place.now) { user in
            let groups = command.changed(user.groups)
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
