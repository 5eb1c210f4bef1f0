import Storage

/// A type whose values a statement accepts as parameters.
protocol ColumnBindable: Sendable {
    var column: ColumnValue { get }
}

/// The parameters of one statement, in order; nil is NULL.
struct StatementArguments: ExpressibleByArrayLiteral, Sendable {
    private(set) var values: [ColumnValue]

    init(_ values: [(any ColumnBindable)?]) {
        self.values = values.map { $0?.column ?? .null }
    }

    init(arrayLiteral elements: (any ColumnBindable)?...) {
        self.init(elements)
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

extension Row {
    /// The column of this name.
    /// - Throws: `.corrupt` when the column is not a `Value`.
    subscript<Value: ColumnReadable>(name: String) -> Value {
        get throws(StoreError) {
            guard let value = Value(try self.value(name)) else { throw .corrupt("\(name) holds no \(Value.self)") }
            return value
        }
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
