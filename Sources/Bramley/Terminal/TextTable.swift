package struct TextTable: Sendable {
    package struct Column: Sendable {
        package var title: String
        /// Whether it may be cut when the terminal is too narrow; ids and times never are.
        package var isFlexible: Bool
        /// Whether it is cut first, before flexible columns become unreadable.
        package var isOptional: Bool

        package init(_ title: String, flexible: Bool = false, optional: Bool = false) {
            self.title = title
            isFlexible = flexible
            isOptional = optional
        }
    }

    package enum Style: Hashable, Sendable {
        /// Aligned below titles, cut to the width in columns. `bold` emphasises the titles.
        case terminal(width: Int, bold: Bool)
        /// One row per line, separated by tabs, no titles, nothing cut.
        case piped
    }

    static let narrowest = 8
    /// If that is not enough, no column is cut below this: a letter or two, and the sign that it was cut.
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

    private func aligned(width: Int, bold: Bool) -> String {
        let cells = rows.map { row in row.map { $0.map(TerminalText.safe) ?? "-" } }
        let natural = columns.indices.map { index in
            ([columns[index].title] + cells.map { $0[index] }).map(TerminalText.width).max() ?? 0
        }
        let widths = fit(natural, into: width)
        var text = ""
        if columns.contains(where: { !$0.title.isEmpty }) {
            let title = line(columns.map(\.title), widths)
            text += bold ? "\u{1B}[1m\(title)\u{1B}[0m\n" : title + "\n"
        }
        for row in cells { text += line(row, widths) + "\n" }
        return text
    }

    /// Cuts columns, the widest first, until the line fits: optional ones before others, so that names stay readable.
    private func fit(_ natural: [Int], into width: Int) -> [Int] {
        var widths = natural
        var excess = max(0, widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) - width)
        let steps: [(isOptional: Bool, bound: Int)] = [
            (true, Self.narrowest), (false, 2 * Self.narrowest), (true, Self.least), (false, Self.narrowest),
            (false, Self.least),
        ]
        for step in steps {
            while excess > 0 {
                let candidates = widths.indices.filter { index in
                    let column = columns[index]
                    let mayBeCut = step.isOptional ? column.isOptional : column.isFlexible && !column.isOptional
                    return mayBeCut && widths[index] > step.bound
                }
                guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
                widths[widest] -= 1
                excess -= 1
            }
        }
        return widths
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
