import Accounts
import ArgumentParser
internal import Storage

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
            let list = CommandList(UserRows.columns, User.fields, .users, empty: "Nobody.")
            try await list.show(page, json: output.json) { after, limit in
                try await place.database.users(filter, after: after, limit: limit)
            }
        }
    }
}
