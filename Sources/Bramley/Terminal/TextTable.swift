package struct TextTable: Sendable {
    package struct Column: Sendable {
        package var title: String
        /// Whether it may be cut when the terminal is too narrow. What another command needs as its argument never is.
        package var isFlexible: Bool
        /// Whether it may be left out: where the others do not fit without being cut below `narrowest`.
        package var isOptional: Bool

        package init(_ title: String, flexible: Bool = false, optional: Bool = false) {
            self.title = title
            isFlexible = flexible
            isOptional = optional
        }
    }

    package enum Style: Hashable, Sendable {
        /// Aligned below titles, without the columns that do not fit into the width. `bold` emphasises the titles.
        case terminal(width: Int, bold: Bool)
        /// One row per line, separated by tabs, no titles, nothing cut.
        case piped
    }

    static let narrowest = 10
    /// For a terminal on which even the rest does not fit: a letter or two, and the sign that it was cut.
    static let least = 4
    private static let gap = 2

    package var columns: [Column]
    /// Unescaped values: made safe here. Nil is shown as `-`, and as nothing in a pipe.
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

    /// The titles of columns for which a terminal has no room.
    package func hidden(_ style: Style) -> [String] {
        guard case .terminal(let width, _) = style, !rows.isEmpty else { return [] }
        let shown = fit(width)
        return columns.indices.filter { index in !shown.contains { $0.column == index } }.map { columns[$0].title }
    }

    private func aligned(width: Int, bold: Bool) -> String {
        let shown = fit(width)
        var text = ""
        if columns.contains(where: { !$0.title.isEmpty }) {
            let title = line(columns.map(\.title), shown)
            text += bold ? "\u{1B}[1m\(title)\u{1B}[0m\n" : title + "\n"
        }
        for row in rows { text += line(row.map(Self.cell), shown) + "\n" }
        return text
    }

    private static func cell(_ value: String?) -> String { value.map(TerminalText.safe) ?? "-" }

    /// Leaves out optional columns until the line fits, from the right, and those without any value first; then cuts
    /// flexible ones, the widest first.
    private func fit(_ width: Int) -> [(column: Int, width: Int)] {
        var shown = columns.indices.map { index in
            let cells = [columns[index].title] + rows.map { Self.cell($0[index]) }
            return (column: index, width: cells.map(TerminalText.width).max() ?? 0)
        }
        func excess(_ width: Int, cut: Bool) -> Int {
            shown.reduce(-Self.gap - width) { sum, item in
                let isCut = cut && columns[item.column].isFlexible
                return sum + Self.gap + (isCut ? min(item.width, Self.narrowest) : item.width)
            }
        }
        let optional = shown.indices.reversed().filter { columns[$0].isOptional }
        let empty = optional.filter { index in rows.allSatisfy { $0[index] == nil } }
        for index in empty + optional.filter({ !empty.contains($0) }) where excess(width, cut: true) > 0 {
            shown.removeAll { $0.column == index }
        }
        var rest = excess(width, cut: false)
        for bound in [Self.narrowest, Self.least] {
            while rest > 0 {
                let candidates = shown.indices.filter {
                    columns[shown[$0].column].isFlexible && shown[$0].width > bound
                }
                guard let widest = candidates.max(by: { shown[$0].width < shown[$1].width }) else { break }
                shown[widest].width -= 1
                rest -= 1
            }
        }
        return shown
    }

    private func line(_ cells: [String], _ shown: [(column: Int, width: Int)]) -> String {
        var text = ""
        for (index, item) in shown.enumerated() {
            let cut = TerminalText.cut(cells[item.column], to: item.width)
            text += TerminalText.fenced(cut)
            guard index < shown.count - 1 else { break }
            text += String(repeating: " ", count: max(0, item.width - TerminalText.width(cut)) + Self.gap)
        }
        return text
    }
}
