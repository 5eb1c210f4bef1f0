import Crypto

/// What SQLite stores in one place.
enum SQLiteValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// A type whose values a statement may take as parameters.
protocol SQLiteBindable: Sendable {
    /// - Parameter index: from 1.
    /// - Returns: SQLite's result code.
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32
}

extension Int64: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { statement.bind(self, at: index) }
}

extension Int: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { statement.bind(Int64(self), at: index) }
}

extension Bool: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { statement.bind(self ? 1 : 0, at: index) }
}

extension String: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { statement.bind(self, at: index) }
}

extension [UInt8]: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { statement.bind(self, at: index) }
}

extension Digest256: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { statement.bind(bytes, at: index) }
}

/// The parameters of one statement, in order; nil is NULL.
struct StatementArguments: ExpressibleByArrayLiteral, Sendable {
    private(set) var values: [(any SQLiteBindable)?]

    init(_ values: [(any SQLiteBindable)?] = []) {
        self.values = values
    }

    init(arrayLiteral elements: (any SQLiteBindable)?...) {
        self.init(elements)
    }

    static func += (left: inout StatementArguments, right: StatementArguments) {
        left.values += right.values
    }
}

/// A type that a column is read as; each is nil for a column of another type.
protocol SQLiteReadable {
    init?(_ value: SQLiteValue)
}

extension Int64: SQLiteReadable {
    init?(_ value: SQLiteValue) {
        guard case .integer(let number) = value else { return nil }
        self = number
    }
}

extension Bool: SQLiteReadable {
    init?(_ value: SQLiteValue) {
        guard case .integer(let number) = value else { return nil }
        self = number != 0
    }
}

extension String: SQLiteReadable {
    init?(_ value: SQLiteValue) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension [UInt8]: SQLiteReadable {
    init?(_ value: SQLiteValue) {
        guard case .blob(let bytes) = value else { return nil }
        self = bytes
    }
}

/// A copy of one row: it outlives its statement's next step.
struct Row: Hashable, Sendable {
    let values: [SQLiteValue]

    /// - Parameter index: of the column, from 0.
    subscript<Value: SQLiteReadable>(index: Int) -> Value? { Value(values[index]) }

    func hasNull(atIndex index: Int) -> Bool {
        if case .null = values[index] { true } else { false }
    }
}
