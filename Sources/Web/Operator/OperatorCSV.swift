/// Tables as files for spreadsheets (RFC 4180).
enum OperatorCSV {
    static func encode(_ columns: [String], _ rows: [[OperatorCell]]) -> [UInt8] {
        var text = ""
        // A column of links that change something has no place in a file.
        let kept = columns.indices.filter { index in rows.allSatisfy { index >= $0.count || $0[index].plain != nil } }
        text += kept.map { field(columns[$0]) }.joined(separator: ",") + "\r\n"
        for row in rows {
            text += kept.map { $0 < row.count ? field(row[$0].plain ?? "") : "" }.joined(separator: ",") + "\r\n"
        }
        return Array(text.utf8)
    }

    /// Quoted, and never a formula: spreadsheets calculate what begins with one of these signs, and a name is chosen by
    /// a stranger.
    private static func field(_ text: String) -> String {
        let isFormula = text.utf8.first.map { Array("=+-@\t\r".utf8).contains($0) } ?? false
        return "\"" + (isFormula ? "'" : "") + text.replacing("\"", with: "\"\"") + "\""
    }
}
