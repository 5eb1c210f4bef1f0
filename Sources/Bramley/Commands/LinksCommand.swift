internal import Accounts
import ArgumentParser
internal import Coding

struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "Manage links between Apple identities and your application's accounts.",
        subcommands: [List.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List links, oldest first.",
            discussion: "An ended link is kept for a day without the account's name.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions
        @Option(help: "Only links in this state. Repeatable.") var state: [LinkState] = []

        func run(on context: OperatorDatabase) async throws {
            try await page.show(
                [
                    .init("ID") { .code($0.id.rawValue) }, .init("KIND", optional: true) { .text($0.kind.rawValue) },
                    .init("STATE") { .text(Self.shown($0, at: context.now)) },
                    .init("USER", optional: true) { .code($0.user?.rawValue) },
                    .init("CREATED", optional: true) { .time($0.createdAt) },
                    .init("REASON", flexible: true) { .text($0.failure) },
                ], Link.fields, .links, empty: "No links.", json: options.json
            ) { after, limit in try await context.database.links(in: Set(state), after: after, limit: limit) }
        }

        /// The state, or that it has expired: such a link stays in the list for a day, unchanged.
        static func shown(_ link: Link, at now: Timestamp) -> String {
            switch link.state {
            case .open, .authorized: link.isOver(at: now) ? "expired" : link.state.rawValue
            case .done, .failed: link.state.rawValue
            }
        }
    }
}
