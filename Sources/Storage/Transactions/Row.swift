import RelyingParty

/// The value of one column in a row.
enum ColumnValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// A type whose values a statement accepts as parameters.
protocol ColumnBindable: Sendable {
    var column: ColumnValue { get }
}

/// The parameters of one statement, in order; nil is NULL.
struct StatementArguments: ExpressibleByArrayLiteral, Sendable {
    private(set) var values: [(any ColumnBindable)?]

    init(_ values: [(any ColumnBindable)?] = []) {
        self.values = values
    }

    init(arrayLiteral elements: (any ColumnBindable)?...) {
        values = elements
    }

    static func += (left: inout StatementArguments, right: StatementArguments) {
        left.values += right.values
    }
}

/// A type that a column can be read as.
protocol ColumnReadable {
    /// Nil for a column of another type; only optional types accept NULL.
    init?(_ column: ColumnValue)
}

/// A copy of one row, which outlives its statement's next step. Columns are read by the names the statement gives them.
struct Row {
    let values: [ColumnValue]
    let names: ColumnNames

    /// - Throws: `.corrupt` when the column is not a `Value`.
    subscript<Value: ColumnReadable>(name: String) -> Value {
        get throws(StoreError) {
            guard let index = names.index(of: name) else { throw .inconsistent("no column is named \(name)") }
            guard let value = Value(values[index]) else { throw .corrupt("\(name) holds no \(Value.self)") }
            return value
        }
    }
}

/// The column names of one statement. Columns are mostly read in order, so a search begins after the last one found.
final class ColumnNames {
    let names: [String]
    private var next = 0

    init(_ names: [String]) {
        self.names = names
    }

    func index(of name: String) -> Int? {
        if next < names.count, names[next] == name {
            defer { next += 1 }
            return next
        }
        guard let found = names.firstIndex(of: name) else { return nil }
        next = found + 1
        return found
    }
}

/// Columns of joined tables, each read by its qualified name: `u.id AS "u.id"`.
func columns(_ names: String...) -> String {
    names.map { "\($0) AS \"\($0)\"" }.joined(separator: ", ")
}

/// The conditions of a search, joined by AND, with their arguments.
struct Conditions {
    private var parts: [String] = []
    private(set) var arguments = StatementArguments()

    mutating func add(_ condition: String, _ values: StatementArguments) {
        parts.append(condition)
        arguments += values
    }

    /// The column has one of the values; an empty list adds no condition.
    mutating func add(_ column: String, in values: [any ColumnBindable]) {
        guard !values.isEmpty else { return }
        add("\(column) IN (\(values.map { _ in "?" }.joined(separator: ", ")))", StatementArguments(values))
    }

    /// Empty without conditions.
    var clause: String { parts.isEmpty ? "" : "WHERE " + parts.joined(separator: " AND ") }
}
