import Accounts
import ArgumentParser
internal import Coding
internal import Storage

/// `bramley links`
struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "Manage links between Apple identities and your application's accounts.",
        subcommands: [LinksListCommand.self])
}

/// `bramley links list`
struct LinksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List links, oldest first.",
        discussion: "An ended link is kept for a day without the account's name.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    @Option(help: "Only links in this state; repeatable.")
    var state: [LinkState] = []

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let style = CommandOutput.tableStyle
            let list = CommandList<Link>(
                [
                    .init("ID"), .init("KIND"), .init("STATE"), .init("USER"), .init("BEGUN"),
                    .init("WHY", flexible: true),
                ],
                empty: "There are none.",
                row: { link in
                    [
                        link.id.rawValue, link.kind.rawValue, Self.shown(link, at: place.now), link.user?.rawValue,
                        link.createdAt.shown(style), link.failure,
                    ]
                }, document: LinkDocument.write)
            try await list.show(page, json: output.json) { after, limit in
                let after = after.map { (createdAt: $0.moment, id: LinkID(unchecked: $0.id)) }
                // One more than requested tells whether there is another page.
                let found = try await place.database.links(in: Set(state), after: after, limit: limit + 1)
                let links = Array(found.prefix(limit))
                let last = found.count > limit ? links.last : nil
                return (links, last.map { CommandCursor.encode($0.createdAt, $0.id.rawValue) })
            }
        }
    }
}

extension LinksListCommand {
    /// The state, or that it has expired: such a link stays in the list for a day, unchanged.
    static func shown(_ link: Link, at now: Timestamp) -> String {
        switch link.state {
        case .open, .authorized: link.isOver(at: now) ? "expired" : link.state.rawValue
        case .done, .failed: link.state.rawValue
        }
    }
}

/// A link as JSON: ids and times, no account.
enum LinkDocument {
    static func write(_ link: Link, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", link.id.rawValue)
        writer.member("kind", link.kind.rawValue)
        writer.member("state", link.state.rawValue)
        writer.member("user", link.user?.rawValue)
        writer.member("createdAt", link.createdAt)
        writer.member("expiresAt", link.expiresAt)
        writer.member("failure", link.failure)
        writer.member("endedAt", link.endedAt)
        writer.endObject()
    }
}
