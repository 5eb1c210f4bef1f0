package import Accounts
package import ArgumentParser

// Command-line arguments as values of the domain. Anything else is refused before the database is opened.

extension UserID: ExpressibleByArgument {
    package init?(argument: String) { self.init(parsing: argument) }
}

extension SessionID: ExpressibleByArgument {
    package init?(argument: String) { self.init(parsing: argument) }
}

extension EventID: ExpressibleByArgument {
    package init?(argument: String) { self.init(parsing: argument) }
}

extension LinkState: ExpressibleByArgument {}
extension User.State: ExpressibleByArgument {}
extension NotificationOutcome: ExpressibleByArgument {}
extension JournalEntry.Kind: ExpressibleByArgument {}

/// Which part of a list is shown.
package struct PageOptions: ParsableArguments {
    /// The most rows of one page.
    package static let maximum = 10_000

    @Option(help: ArgumentHelp("Maximum number of rows, 1 to \(maximum).", valueName: "count"))
    package var limit = 50

    @Option(
        name: [.customLong("after"), .customLong("cursor")],
        help: ArgumentHelp("Continue from a previous page's `next`.", valueName: "cursor"))
    package var cursor: String?

    @Flag(help: "All rows, ignoring --limit.")
    package var all = false

    package init() {}

    package func validate() throws {
        guard (1...Self.maximum).contains(limit) else {
            throw ValidationError("--limit is 1 to \(Self.maximum).")
        }
        // Of which list, is seen when it is read.
        guard cursor.map({ PlaceMark(of: $0) != nil }) ?? true else {
            throw ValidationError("--after is not a cursor from bramley.")
        }
        guard !all || cursor == nil else { throw ValidationError("--all begins at the first row: no --after.") }
    }
}
