internal import Accounts
internal import ArgumentParser
internal import Coding

struct CommandColumn<Item>: Sendable {
    let column: TextTable.Column
    let value: @Sendable (Item) -> FieldValue
}

extension CommandColumn {
    init(
        _ title: String, flexible: Bool = false, optional: Bool = false,
        _ value: @escaping @Sendable (Item) -> FieldValue
    ) {
        column = TextTable.Column(title, flexible: flexible, optional: optional)
        self.value = value
    }
}

extension FieldValue {
    func shown(_ style: TextTable.Style, separator: String = ",") -> String? {
        switch self {
        case .text(let text), .code(let text): text
        case .number(let number): number.map { String($0) }
        case .flag(let flag, _): flag.map { $0 ? "true" : "false" }
        case .time(let time): time?.shown(style)
        case .texts(let texts): texts.isEmpty ? nil : texts.joined(separator: separator)
        case .parts(let parts): parts.compactMap(\.text).joined(separator: " ")
        case .object, .objects: nil
        }
    }
}

extension TextTable {
    init<Item>(_ columns: [CommandColumn<Item>], _ items: [Item], _ style: Style) {
        self.init(columns.map(\.column), rows: items.map { item in columns.map { $0.value(item).shown(style) } })
    }
}

struct PageOptions: ParsableArguments {
    static let maximum = 10_000

    @Option(help: ArgumentHelp("Maximum number of rows, 1 to \(maximum).", valueName: "count")) var limit = 50

    @Option(
        name: [.customLong("after"), .customLong("cursor")],
        help: ArgumentHelp("Continue from a previous page's `next`.", valueName: "cursor"))
    var cursor: String?

    @Flag(help: "All rows, ignoring --limit.") var all = false

    func validate() throws {
        guard (1...Self.maximum).contains(limit) else { throw ValidationError("--limit must be 1 to \(Self.maximum).") }
        // Whether it belongs to this list is checked when it is used.
        guard cursor.map({ PlaceMark(of: $0) != nil }) ?? true else {
            throw ValidationError("--after is not a valid cursor.")
        }
        guard !all || cursor == nil else { throw ValidationError("--all cannot be combined with --after.") }
    }

    private static let part = 500

    /// A list in every command's form: a table or JSON, one page or everything.
    /// - Parameter read: returns the items after a place, at most as many as the limit.
    func show<Item, Place>(
        _ columns: [CommandColumn<Item>], _ fields: [Field<Item>], _ places: Places<Place>, empty: String, json: Bool,
        read: (Place?, Int) async throws -> Page<Item, Place>
    ) async throws {
        func table(_ items: [Item]) throws { try CommandOutput.table(columns, items, empty: empty) }
        if all {
            if json { return try await writeAll(fields, read) }
            // Page by page, so that a million rows need no more memory than one page; a table on a terminal needs all
            // its rows to compute its widths.
            guard CommandOutput.tableStyle != .piped else { return try await Self.eachPage(read, table) }
            var items: [Item] = []
            try await Self.eachPage(read) { items += $0 }
            return try table(items)
        }
        let place = cursor.flatMap(places.place)
        if cursor != nil, place == nil { throw CommandFailure.usage("--after is not a cursor of this list.") }
        let found = try await read(place, limit)
        let next = found.next.map(places.text)
        if json { try CommandOutput.jsonList(found.items, next: next, fields) } else { try table(found.items) }
        // Also into a pipe: a script that counts lines must know that there are more.
        if let next { CommandOutput.remark("There are more rows: add --all, or continue with --after \(next)") }
    }

    private func writeAll<Item, Place>(
        _ fields: [Field<Item>], _ read: (Place?, Int) async throws -> Page<Item, Place>
    ) async throws {
        var isFirst = true
        try CommandOutput.write(Array("{\"items\":[".utf8))
        try await Self.eachPage(read) { items in
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

    static func eachPage<Item, Place>(
        _ read: (Place?, Int) async throws -> Page<Item, Place>, _ body: ([Item]) throws -> Void
    ) async throws {
        var place: Place?
        repeat {
            let page = try await read(place, part)
            try body(page.items)
            place = page.next
        } while place != nil
    }
}
