internal import Accounts
internal import ArgumentParser
internal import Coding
internal import FoundationEssentials
internal import Sockets

/// A command's output: results on standard output, remarks on standard error.
enum CommandOutput {
    static var tableStyle: TextTable.Style {
        guard StandardStream.output.isTerminal else { return .piped }
        let environment = ProcessInfo.processInfo.environment
        // https://no-color.org: any value that is not empty.
        let isPlain = environment["NO_COLOR"]?.isEmpty == false || environment["TERM"] == "dumb"
        return .terminal(width: StandardStream.output.columns ?? 80, bold: !isPlain)
    }

    /// - Throws: `ExitCode.success` when the reader has closed the output (`… | head`), else `CommandFailure`.
    static func write(_ bytes: [UInt8]) throws {
        do {
            try StandardStream.output.write(bytes)
        } catch {
            if error.isLostReader { throw ExitCode.success }
            throw CommandFailure("The output cannot be written: \(error).")
        }
    }

    static func line(_ text: String) throws { try write(Array((text + "\n").utf8)) }

    static func table(_ table: TextTable) throws {
        let style = tableStyle
        try write(Array(table.render(style).utf8))
        let hidden = table.hidden(style)
        if !hidden.isEmpty {
            hint("Not shown: \(hidden.joined(separator: ", ")). Use a wider terminal, or --json.")
        }
    }

    static func table<Item>(_ columns: [CommandColumn<Item>], _ items: [Item], empty: String) throws {
        try table(TextTable(columns, items, tableStyle))
        if items.isEmpty { hint(empty) }
    }

    static func json(_ body: (inout JSONWriter) -> Void) throws {
        var writer = JSONWriter(reserving: 1024)
        body(&writer)
        try write(writer.bytes + [UInt8(ascii: "\n")])
    }

    static func fields<Item>(of item: Item, _ fields: [Field<Item>], separator: String = ",") throws {
        try rows(fields.map { ($0.name, $0.value(item).shown(tableStyle, separator: separator)) })
    }

    static func rows(_ rows: [(name: String, text: String?)]) throws {
        try table(TextTable([.init(""), .init("")], rows: rows.map { [$0.name, $0.text] }))
    }

    /// A list in the API's form: `items`, and `next` for `--after`, or null.
    static func jsonList<Item>(_ items: [Item], next: String? = nil, _ fields: [Field<Item>]) throws {
        let objects = items.map { item in fields.map { ($0.name, $0.value(item)) } }
        try json { $0.write([("items", .objects(objects)), ("next", .text(next))]) }
    }

    /// A remark besides the result; made safe for a terminal.
    static func remark(_ text: String) { StandardError().write(Array((TerminalText.safe(text) + "\n").utf8)) }

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

    /// `2026-01-02 03:04Z` for a person, RFC 3339 for a script.
    func shown(_ style: TextTable.Style) -> String {
        let text = rfc3339
        guard case .terminal = style else { return text }
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))Z"
    }
}
