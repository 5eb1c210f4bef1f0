internal import Accounts
internal import Coding
internal import FoundationEssentials
internal import Sockets

/// The reader has closed the output: the command ends without a failure (`… | head`).
struct OutputClosed: Error {}

/// A command's output: results on standard output, remarks on standard error.
enum CommandOutput {
    /// The style of tables on standard output.
    static var tableStyle: TextTable.Style {
        guard StandardStream.output.isTerminal else { return .piped }
        let environment = ProcessInfo.processInfo.environment
        // https://no-color.org: any value that is not empty.
        let isPlain = environment["NO_COLOR"]?.isEmpty == false || environment["TERM"] == "dumb"
        return .terminal(width: StandardStream.output.columns ?? 80, bold: !isPlain)
    }

    /// - Throws: `OutputClosed`, or `CommandFailure` for a full disk and similar.
    static func write(_ bytes: [UInt8]) throws {
        do {
            try StandardStream.output.write(bytes)
        } catch {
            if error.isLostReader { throw OutputClosed() }
            throw CommandFailure("The output cannot be written: \(error).")
        }
    }

    static func line(_ text: String) throws {
        try write(Array((text + "\n").utf8))
    }

    static func table(_ table: TextTable) throws {
        try write(Array(table.render(tableStyle).utf8))
    }

    /// One JSON document on one line.
    static func json(_ body: (inout JSONWriter) -> Void) throws {
        var writer = JSONWriter(reserving: 1024)
        body(&writer)
        try write(writer.bytes + [UInt8(ascii: "\n")])
    }

    /// One thing, a field a line.
    static func fields<Item>(of item: Item, _ fields: [Field<Item>], separator: String = ",") throws {
        try rows(fields.map { ($0.name, $0.value(item).shown(tableStyle, separator: separator)) })
    }

    /// Names and what they have.
    static func rows(_ rows: [(name: String, text: String?)]) throws {
        try table(TextTable([.init(""), .init("")], rows: rows.map { [$0.name, $0.text] }))
    }

    /// A list in the API's form: `items`, and `next` for `--after`, or null.
    static func jsonList<Item>(_ items: [Item], next: String? = nil, _ fields: [Field<Item>]) throws {
        try json { writer in
            writer.beginObject()
            writer.name("items")
            writer.beginArray()
            for item in items { writer.write(item, fields) }
            writer.endArray()
            writer.member("next", next)
            writer.endObject()
        }
    }

    /// A remark besides the result; made safe for a terminal.
    static func remark(_ text: String) {
        StandardError().write(Array((TerminalText.safe(text) + "\n").utf8))
    }

    /// A remark only for people: not written when standard output goes into a file or a pipe.
    static func hint(_ text: String) {
        if StandardStream.output.isTerminal { remark(text) }
    }
}

extension Timestamp {
    /// How long ago, in at most four columns for ten years: `now`, `5m`, `3h`, `12d`.
    func age(at now: Timestamp) -> String {
        let minutes = max(0, (now.milliseconds - milliseconds) / 60_000)
        return switch minutes {
        case 0: "now"
        case ..<60: "\(minutes)m"
        case ..<(60 * 24): "\(minutes / 60)h"
        default: "\(minutes / (60 * 24))d"
        }
    }

    /// `2026-01-02 03:04Z` for a person, RFC 3339 for a program.
    func shown(_ style: TextTable.Style) -> String {
        let text = rfc3339
        guard case .terminal = style else { return text }
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))Z"
    }
}
