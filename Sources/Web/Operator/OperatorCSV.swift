/// A list as a file for spreadsheets (RFC 4180), read and made a part at a time.
struct OperatorCSV: PieceSource {
    /// Rows read at once.
    private static let part = 100

    private let list: OperatorList
    private var rows: ArraySlice<[OperatorCell]> = []
    private var place: String?
    private var count = 0
    private var isBegun = false
    private var isDone = false

    init(_ list: OperatorList) { self.list = list }

    mutating func next() async throws(WebFailure) -> [UInt8]? {
        let columns = list.columns.dropLast(list.hasActions ? 1 : 0)
        var text = isBegun ? "" : Self.line(Array(columns))
        if rows.isEmpty {
            guard !isDone else { return nil }
            try await read()
        }
        while text.utf8.count < Pieces.size, let row = rows.popFirst() {
            text += Self.line(columns.indices.map { $0 < row.count ? row[$0].plain ?? "" : "" })
        }
        return Array(text.utf8)
    }

    private mutating func read() async throws(WebFailure) {
        let part = try await list.read(place, min(Self.part, OperatorList.fileSize - count))
        isBegun = true
        rows = part.rows[...]
        count += part.rows.count
        place = part.next
        isDone = place == nil || count >= OperatorList.fileSize
    }

    private static func line(_ fields: [String]) -> String { fields.map(field).joined(separator: ",") + "\r\n" }

    /// Quoted, and never a formula: spreadsheets calculate what begins with one of these signs, and a name is chosen by
    /// a stranger.
    private static func field(_ text: String) -> String {
        let isFormula = text.utf8.first.map { Array("=+-@\t\r".utf8).contains($0) } ?? false
        return "\"" + (isFormula ? "'" : "") + text.replacing("\"", with: "\"\"") + "\""
    }
}
