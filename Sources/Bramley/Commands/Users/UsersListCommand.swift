package import ArgumentParser
internal import Coding
package import RelyingParty
internal import Sockets
internal import Storage
internal import Web

/// `bramley users list`
package struct UsersListCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "list", abstract: "People in the order they came.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var page: PageOptions

    @Option(help: "Only those who are active, pending or disabled.")
    package var state: User.State?

    @Option(help: ArgumentHelp("Only those in this group.", valueName: "name"))
    package var group: String?

    @Option(help: ArgumentHelp("Only those with this address, to look at: it proves nothing.", valueName: "address"))
    package var email: String?

    @Flag(help: "All of them, without --limit and --cursor.")
    package var all = false

    package init() {}

    package func validate() throws {
        guard !all || page.cursor == nil else { throw ValidationError("--all begins at the first: no --cursor.") }
        guard email == nil || (state == nil && group == nil && page.cursor == nil && !all) else {
            throw ValidationError("--email goes with --limit and nothing else.")
        }
    }

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            if let email {
                let found = try await place.database.users(email: email, limit: page.limit + 1)
                try show(UserPage(items: Array(found.prefix(page.limit)), next: nil))
                if found.count > page.limit {
                    CommandOutput.remark("There are more than \(page.limit) with this address: raise --limit.")
                }
                return
            }
            let filter = UserFilter(state: state, group: group)
            if all {
                try await showAll(filter, place)
            } else {
                let after = page.place.map { UserCursor(createdAt: $0.moment, id: UserID(unchecked: $0.id)) }
                try show(try await place.database.users(filter, after: after, limit: page.limit))
            }
        }
    }

    private func show(_ users: UserPage) throws {
        let next = users.next.map { CommandCursor.encode($0.createdAt, $0.id.rawValue) }
        if output.json {
            try CommandOutput.jsonList(users.items, next: next) { UserDocument.write($0, to: &$1) }
            return
        }
        let style = CommandOutput.tableStyle
        try CommandOutput.table(TextTable(UserRows.columns, rows: users.items.map { UserRows.row($0, style) }))
        if users.items.isEmpty { CommandOutput.hint("Nobody.") }
        page.hint(next: next)
    }

    /// Page by page, so that a million people need no more memory than two hundred; a table on a terminal needs all its
    /// rows to know its widths.
    private func showAll(_ filter: UserFilter, _ place: OperatorDatabase) async throws {
        let style = CommandOutput.tableStyle
        var table = TextTable(UserRows.columns)
        var cursor: UserCursor?
        var isFirst = true
        if output.json { try CommandOutput.write(Array("{\"items\":[".utf8)) }
        repeat {
            let users = try await place.database.users(filter, after: cursor, limit: UserLimits.pageSize)
            cursor = users.next
            if output.json {
                var bytes: [UInt8] = []
                for user in users.items {
                    if !isFirst { bytes.append(UInt8(ascii: ",")) }
                    isFirst = false
                    bytes += UserDocument.encode(user)
                }
                try CommandOutput.write(bytes)
            } else {
                table.rows += users.items.map { UserRows.row($0, style) }
                if style == .piped {
                    try CommandOutput.table(table)
                    table.rows = []
                }
            }
        } while cursor != nil
        if output.json {
            try CommandOutput.write(Array("],\"next\":null}\n".utf8))
        } else {
            if style != .piped && table.rows.isEmpty { CommandOutput.hint("Nobody.") }
            try CommandOutput.table(table)
        }
    }
}
