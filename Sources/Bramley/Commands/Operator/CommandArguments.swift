package import Accounts
package import ArgumentParser
internal import Coding

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
        guard cursor == nil || place != nil else { throw ValidationError("--after is not a cursor from bramley.") }
        guard !all || cursor == nil else { throw ValidationError("--all begins at the first row: no --after.") }
    }

    /// The time and id of the last row of the previous page.
    var place: (moment: Timestamp, id: String)? { cursor.flatMap(CommandCursor.decode) }
}

/// Where a page ended, as text: base64url of the time in milliseconds, a slash, and the id.
enum CommandCursor {
    static func encode(_ moment: Timestamp, _ id: String) -> String {
        Base64URL.encode(Array("\(moment.milliseconds)/\(id)".utf8))
    }

    static func decode(_ text: String) -> (moment: Timestamp, id: String)? {
        guard let bytes = Base64URL.decode(text), let plain = String(validating: bytes, as: UTF8.self),
            let slash = plain.firstIndex(of: "/"), let milliseconds = Int64(plain[..<slash])
        else { return nil }
        return (Timestamp(milliseconds: milliseconds), String(plain[plain.index(after: slash)...]))
    }
}
