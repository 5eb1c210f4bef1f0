import ArgumentParser
internal import Coding
import RelyingParty
internal import Storage

/// `bramley links`
struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "Manage links between Apple identities and your application's accounts.",
        subcommands: [LinksListCommand.self, LinksRetryCommand.self])

}

/// `bramley links list`
struct LinksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List links and upgrades, oldest first.",
        discussion: """
            A converting link waits until the application confirms that it dropped the password. An ended link is kept \
            for a day without the account's name.
            """)

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
                    .init("NEXT", optional: true), .init("ATTEMPTS", optional: true), .init("WHY", flexible: true),
                ],
                empty: "There are none.",
                row: { link in
                    [
                        link.key.rawValue, link.kind.rawValue, Self.shown(link, at: place.now), link.user?.rawValue,
                        link.createdAt.shown(style), link.nextAttemptAt?.shown(style), String(link.attempts),
                        link.failure,
                    ]
                }, document: LinkDocument.write)
            try await list.show(page, json: output.json) { after, limit in
                let after = after.map { (createdAt: $0.moment, key: LinkKey(unchecked: $0.id)) }
                // One more than requested tells whether there is another page.
                let found = try await place.database.links(in: Set(state), after: after, limit: limit + 1)
                let links = Array(found.prefix(limit))
                let last = found.count > limit ? links.last : nil
                return (links, last.map { CommandCursor.encode($0.createdAt, $0.key.rawValue) })
            }
        }
    }
}

extension LinksListCommand {
    /// The state, or that it has expired: such a link stays in the list for a day, unchanged.
    static func shown(_ link: Link, at now: Timestamp) -> String {
        switch link.state {
        case .challenged, .open, .authorized: link.isOver(at: now) ? "expired" : link.state.rawValue
        case .converting, .done, .failed: link.state.rawValue
        }
    }
}

/// `bramley links retry`
struct LinksRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Retry unanswered upgrades at the application now.",
        discussion: "Use after fixing the application. A running server sends the requests.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("One upgrade; default all that wait.", valueName: "id"))
    var id: LinkKey?

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let count = try await place.database.retryConversions(id, at: place.now)
            if let id, count == 0 { throw CommandFailure("\(id) has no pending request to the application.") }
            if output.json {
                try CommandOutput.json { writer in
                    writer.beginObject()
                    writer.member("retried", Int64(count))
                    writer.endObject()
                }
            } else {
                try CommandOutput.line(count == 1 ? "1 upgrade is due now" : "\(count) upgrades are due now")
            }
        }
    }
}

/// A link as JSON: ids and times, no account.
enum LinkDocument {
    static func write(_ link: Link, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", link.key.rawValue)
        writer.member("style", link.style.rawValue)
        writer.member("kind", link.kind.rawValue)
        writer.member("state", link.state.rawValue)
        writer.member("user", link.user?.rawValue)
        writer.member("createdAt", link.createdAt)
        writer.member("expiresAt", link.expiresAt)
        writer.member("attempts", Int64(link.attempts))
        writer.member("nextAttemptAt", link.nextAttemptAt)
        writer.member("failure", link.failure)
        writer.member("endedAt", link.endedAt)
        writer.endObject()
    }
}
