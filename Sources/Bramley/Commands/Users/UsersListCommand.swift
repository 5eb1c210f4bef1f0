import Accounts
import ArgumentParser
internal import Coding
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

    @Option(help: ArgumentHelp("Only users with a word of their name that begins with this.", valueName: "words"))
    var name: String?

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let filter = UserFilter(state: state, group: group, email: email, name: name)
            let style = CommandOutput.tableStyle
            let list = CommandList<User>(
                UserRows.columns, empty: "Nobody.", row: { UserRows.row($0, style) },
                document: { UserDocument.write($0, to: &$1) })
            try await list.show(page, json: output.json) { after, limit in
                let cursor = after.map { place in
                    // Behind the id, the word that was found.
                    let parts = place.id.split(separator: " ", maxSplits: 1).map(String.init)
                    return UserCursor(
                        createdAt: place.moment, id: UserID(unchecked: parts.first ?? ""), word: parts.dropFirst().first
                    )
                }
                let users = try await place.database.users(filter, after: cursor, limit: limit)
                return (
                    users.items,
                    users.next.map { next in
                        CommandCursor.encode(
                            next.createdAt, [next.id.rawValue, next.word].compactMap(\.self).joined(separator: " "))
                    }
                )
            }
        }
    }
}
