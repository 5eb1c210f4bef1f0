import ArgumentParser
internal import Coding
import RelyingParty
internal import Sockets
internal import Storage
internal import Web

/// `bramley users list`
struct UsersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List users, oldest first.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    @Option(help: "Only users in this state: active, pending or disabled.")
    var state: User.State?

    @Option(help: ArgumentHelp("Only users in this group.", valueName: "name"))
    var group: String?

    @Option(help: ArgumentHelp("Only users with this address.", valueName: "address"))
    var email: String?

    @Option(help: ArgumentHelp("Only users whose name contains this.", valueName: "part"))
    var name: String?

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let search = UserSearch(filter: UserFilter(state: state, group: group, email: email), name: name)
            let style = CommandOutput.tableStyle
            let list = CommandList<User>(
                UserRows.columns, empty: "Nobody.", row: { UserRows.row($0, style) },
                document: { UserDocument.write($0, to: &$1) })
            try await list.show(page, json: output.json) { after, limit in
                let cursor = after.map { UserCursor(createdAt: $0.moment, id: UserID(unchecked: $0.id)) }
                let users = try await search.read(place.database, after: cursor, limit: limit)
                return (users.items, users.next.map { CommandCursor.encode($0.createdAt, $0.id.rawValue) })
            }
        }
    }
}
