/// Rows for a person at a terminal, or for the next program of a pipe.
package struct TextTable: Sendable {
    package struct Column: Sendable {
        package var title: String
        /// Whether it may be cut where the terminal is too narrow; ids and times never are.
        package var isFlexible: Bool
        /// Whether it is left out where the columns beside it would have to be cut for it; the last such column goes
        /// first.
        package var isOptional: Bool

        package init(_ title: String, flexible: Bool = false, optional: Bool = false) {
            self.title = title
            isFlexible = flexible
            isOptional = optional
        }
    }

    package enum Style: Hashable, Sendable {
        /// Aligned below titles, cut to the width in columns. `bold` sets the titles off.
        case terminal(width: Int, bold: Bool)
        /// One row a line, tabs between, no titles, nothing cut.
        case piped
    }

    /// A flexible column is not cut below this.
    static let narrowest = 8
    /// A flexible column that shows this many columns of the terminal counts as whole: one endless name does not cost
    /// everybody else's groups.
    static let ample = 40
    private static let gap = 2

    package var columns: [Column]
    /// Values as they are: made safe here. Nil shows as `-`, and as nothing in a pipe.
    package var rows: [[String?]]

    package init(_ columns: [Column], rows: [[String?]] = []) {
        self.columns = columns
        self.rows = rows
    }

    /// Each line ends with a line end; nothing for a table without rows.
    package func render(_ style: Style) -> String {
        switch style {
        case .piped:
            return rows.map { row in
                row.map { $0.map(TerminalText.safe) ?? "" }.joined(separator: "\t") + "\n"
            }.joined()
        case .terminal(let width, let bold):
            guard !rows.isEmpty else { return "" }
            return aligned(width: width, bold: bold)
        }
    }

    private func aligned(width: Int, bold: Bool) -> String {
        let cells = rows.map { row in row.map { $0.map(TerminalText.safe) ?? "-" } }
        let natural = columns.indices.map { index in
            ([columns[index].title] + cells.map { $0[index] }).map(TerminalText.width).max() ?? 0
        }
        let (shown, widths) = fit(natural, into: width)
        var text = ""
        if columns.contains(where: { !$0.title.isEmpty }) {
            let title = line(shown.map { columns[$0].title }, widths)
            text += bold ? "\u{1B}[1m\(title)\u{1B}[0m\n" : title + "\n"
        }
        for row in cells { text += line(shown.map { row[$0] }, widths) + "\n" }
        return text
    }

    /// Leaves out optional columns and cuts flexible ones, the widest first, until the line fits or no more can be done.
    /// - Returns: the columns that are shown, and their widths.
    private func fit(_ natural: [Int], into width: Int) -> (shown: [Int], widths: [Int]) {
        func whole(_ index: Int) -> Int {
            columns[index].isFlexible ? min(natural[index], Self.ample) : natural[index]
        }
        func line(_ widths: [Int]) -> Int { widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) }
        var shown = Array(columns.indices)
        while line(shown.map(whole)) > width, let dropped = shown.lastIndex(where: { columns[$0].isOptional }) {
            shown.remove(at: dropped)
        }
        var widths = shown.map { natural[$0] }
        for _ in 0..<max(0, line(widths) - width) {
            let candidates = shown.indices.filter { columns[shown[$0]].isFlexible && widths[$0] > Self.narrowest }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
        }
        return (shown, widths)
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var text = ""
        for (index, cell) in cells.enumerated() {
            let cut = TerminalText.cut(cell, to: widths[index])
            text += TerminalText.fenced(cut)
            guard index < cells.count - 1 else { break }
            text += String(repeating: " ", count: max(0, widths[index] - TerminalText.width(cut)) + Self.gap)
        }
        return text
    }
}
