import Accounts

/// A list as a file for spreadsheets (RFC 4180), read and made a part at a time.
struct OperatorCSV<Item: Sendable, Place: Sendable>: PieceSource {
    private let list: OperatorList<Item, Place>
    private let columns: [OperatorColumn<Item>]
    private let headings: String
    private var rows: ArraySlice<Item> = []
    private var place: Place?
    /// Rows that it may still have.
    private var left = 100_000
    private var isBegun = false
    private var isDone = false

    init(_ list: OperatorList<Item, Place>, _ texts: OperatorTexts) {
        self.list = list
        columns = list.columns.filter { $0.heading != "change" }
        headings = Self.line(columns.map { texts["columns.\($0.heading)"] })
    }

    mutating func next() async throws(WebFailure) -> [UInt8]? {
        var text = isBegun ? "" : headings
        if rows.isEmpty {
            guard !isDone else { return nil }
            try await read()
        }
        while text.utf8.count < Pieces.size, let row = rows.popFirst() {
            text += Self.line(columns.map { $0.cell(row).plain ?? "" })
        }
        return Array(text.utf8)
    }

    private mutating func read() async throws(WebFailure) {
        let page = try await list.page(after: place, limit: min(100, left))
        isBegun = true
        rows = page.items[...]
        left -= page.items.count
        place = page.next
        isDone = place == nil || left <= 0
    }

    private static func line(_ fields: [String]) -> String { fields.map(field).joined(separator: ",") + "\r\n" }

    /// Quoted, and never a formula: spreadsheets calculate what begins with one of these signs, and a name is chosen by
    /// a stranger.
    private static func field(_ text: String) -> String {
        let isFormula = text.utf8.first.map { Array("=+-@\t\r".utf8).contains($0) } ?? false
        return "\"" + (isFormula ? "'" : "") + text.replacing("\"", with: "\"\"") + "\""
    }
}
