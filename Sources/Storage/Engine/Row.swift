package enum ColumnValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Nil for a column of another type; the others likewise.
    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var blob: [UInt8]? { if case .blob(let bytes) = self { bytes } else { nil } }
}

/// A copy of one row, which outlives its statement's next step.
package struct Row {
    package let values: [ColumnValue]
    package let names: ColumnNames

    package func value(_ name: String) throws(StoreError) -> ColumnValue {
        guard let index = names.index(of: name) else { throw .inconsistent("no column is named \(name)") }
        return values[index]
    }

    /// - Throws: `.corrupt` when the column is not a text; `integer` likewise.
    func text(_ name: String) throws(StoreError) -> String {
        guard let text = try value(name).text else { throw .corrupt("\(name) is not a text") }
        return text
    }

    func integer(_ name: String) throws(StoreError) -> Int64 {
        guard let number = try value(name).integer else { throw .corrupt("\(name) is not a number") }
        return number
    }
}

/// The column names of one statement. Columns are mostly read in order, so a search begins after the last one found.
package final class ColumnNames {
    package let names: [String]
    private var next = 0

    package init(_ names: [String]) { self.names = names }

    package func index(of name: String) -> Int? {
        if next < names.count, names[next] == name {
            defer { next += 1 }
            return next
        }
        guard let found = names.firstIndex(of: name) else { return nil }
        next = found + 1
        return found
    }
}
