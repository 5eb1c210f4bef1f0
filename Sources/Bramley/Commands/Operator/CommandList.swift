internal import Accounts
internal import Coding

/// A column of a command's table, and what it shows of each row.
struct CommandColumn<Item>: Sendable {
    let column: TextTable.Column
    let value: @Sendable (Item) -> FieldValue

    init(
        _ title: String, flexible: Bool = false, optional: Bool = false,
        _ value: @escaping @Sendable (Item) -> FieldValue
    ) {
        column = TextTable.Column(title, flexible: flexible, optional: optional)
        self.value = value
    }
}

extension FieldValue {
    /// In a table; nil for nothing.
    func shown(_ style: TextTable.Style, separator: String = ",") -> String? {
        switch self {
        case .text(let text), .code(let text): text
        case .number(let number): number.map { String($0) }
        case .flag(let flag, _): flag.map { $0 ? "true" : "false" }
        case .time(let time): time?.shown(style)
        case .texts(let texts): texts.isEmpty ? nil : texts.joined(separator: separator)
        case .parts(let parts): parts.compactMap(\.text).joined(separator: " ")
        }
    }
}

extension TextTable {
    init<Item>(_ columns: [CommandColumn<Item>], _ items: [Item], _ style: Style) {
        self.init(
            columns.map(\.column), rows: items.map { item in columns.map { $0.value(item).shown(style) } })
    }
}

/// A list in every command's form: a table or JSON, one page or everything.
struct CommandList<Item: Sendable, Place: Sendable> {
    typealias Reading = (Place?, Int) async throws -> Page<Item, Place>

    /// Rows read at once for `--all`.
    private static var part: Int { 500 }

    let columns: [CommandColumn<Item>]
    /// In JSON.
    let fields: [Field<Item>]
    let places: Places<Place>
    /// Shown to a person when there are no rows.
    let empty: String

    init(
        _ columns: [CommandColumn<Item>], _ fields: [Field<Item>], _ places: Places<Place>, empty: String
    ) {
        self.columns = columns
        self.fields = fields
        self.places = places
        self.empty = empty
    }

    /// - Parameter read: returns the items after a place, at most as many as the limit.
    func show(_ page: PageOptions, json: Bool, read: Reading) async throws {
        guard page.all else {
            var place: Place?
            if let text = page.cursor {
                place = places.place(text)
                if place == nil { throw CommandFailure.usage("--after is not a cursor of this list.") }
            }
            let found = try await read(place, page.limit)
            let next = found.next.map(places.text)
            if json { try CommandOutput.jsonList(found.items, next: next, fields) } else { try show(found.items) }
            // Also into a pipe: whoever counts lines must know that there are more.
            if let next { CommandOutput.remark("There are more: add --all, or continue with --after \(next)") }
            return
        }
        if json { try await writeAllJSON(read) } else { try await writeAll(read) }
    }

    private func show(_ items: [Item]) throws {
        try CommandOutput.table(TextTable(columns, items, CommandOutput.tableStyle))
        if items.isEmpty { CommandOutput.hint(empty) }
    }

    /// Page by page, so that a million rows need no more memory than one page; a table on a terminal needs all its rows
    /// to compute its widths.
    private func writeAll(_ read: Reading) async throws {
        guard CommandOutput.tableStyle != .piped else {
            try await eachPage(read) { items in try show(items) }
            return
        }
        var all: [Item] = []
        try await eachPage(read) { all += $0 }
        try show(all)
    }

    private func writeAllJSON(_ read: Reading) async throws {
        var isFirst = true
        try CommandOutput.write(Array("{\"items\":[".utf8))
        try await eachPage(read) { items in
            var bytes: [UInt8] = []
            for item in items {
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                bytes += JSONWriter.encode(item, fields)
            }
            try CommandOutput.write(bytes)
        }
        try CommandOutput.write(Array("],\"next\":null}\n".utf8))
    }

    private func eachPage(_ read: Reading, _ body: ([Item]) throws -> Void) async throws {
        var place: Place?
        repeat {
            let page = try await read(place, Self.part)
            try body(page.items)
            place = page.next
        } while place != nil
    }
}
