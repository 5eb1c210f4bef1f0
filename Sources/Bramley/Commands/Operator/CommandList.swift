internal import Accounts
internal import Coding

/// A list in every command's form: a table or JSON, one page or everything.
struct CommandList<Item> {
    /// Where a page ended: the time and the id of its last row.
    typealias Place = (moment: Timestamp, id: String)

    /// Rows read at once for `--all`.
    private static var part: Int { 500 }

    let columns: [TextTable.Column]
    /// Shown to a person when there are no rows.
    let empty: String
    let row: (Item) -> [String?]
    let document: (Item, inout JSONWriter) -> Void

    init(
        _ columns: [TextTable.Column], empty: String, row: @escaping (Item) -> [String?],
        document: @escaping (Item, inout JSONWriter) -> Void
    ) {
        self.columns = columns
        self.empty = empty
        self.row = row
        self.document = document
    }

    /// - Parameter read: returns the items after a place, and the cursor after the last of them if there are more.
    func show(
        _ page: PageOptions, json: Bool, read: (Place?, Int) async throws -> (items: [Item], next: String?)
    ) async throws {
        guard page.all else {
            let (items, next) = try await read(page.place, page.limit)
            if json {
                try CommandOutput.jsonList(items, next: next, document)
            } else {
                try show(items)
            }
            // Also into a pipe: whoever counts lines must know that there are more.
            if let next { CommandOutput.remark("There are more: add --all, or continue with --after \(next)") }
            return
        }
        if json { try await writeAllJSON(read) } else { try await writeAll(read) }
    }

    private func show(_ items: [Item]) throws {
        try CommandOutput.table(TextTable(columns, rows: items.map(row)))
        if items.isEmpty { CommandOutput.hint(empty) }
    }

    /// Page by page, so that a million rows need no more memory than one page; a table on a terminal needs all its rows
    /// to compute its widths.
    private func writeAll(_ read: (Place?, Int) async throws -> (items: [Item], next: String?)) async throws {
        guard CommandOutput.tableStyle != .piped else {
            try await eachPage(read) { items in try show(items) }
            return
        }
        var all: [Item] = []
        try await eachPage(read) { all += $0 }
        try show(all)
    }

    private func writeAllJSON(_ read: (Place?, Int) async throws -> (items: [Item], next: String?)) async throws {
        var isFirst = true
        try CommandOutput.write(Array("{\"items\":[".utf8))
        try await eachPage(read) { items in
            var bytes: [UInt8] = []
            for item in items {
                var writer = JSONWriter(reserving: 512)
                document(item, &writer)
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                bytes += writer.bytes
            }
            try CommandOutput.write(bytes)
        }
        try CommandOutput.write(Array("],\"next\":null}\n".utf8))
    }

    private func eachPage(
        _ read: (Place?, Int) async throws -> (items: [Item], next: String?), _ body: ([Item]) throws -> Void
    ) async throws {
        var place: Place?
        repeat {
            let (items, next) = try await read(place, Self.part)
            try body(items)
            place = next.flatMap(CommandCursor.decode)
        } while place != nil
    }
}
