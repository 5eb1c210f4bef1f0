@testable import Accounts
@testable import Storage

// Statements as the domain writes them, on a connection.
extension EngineConnection {
    func first<Value: ColumnReadable>(
        _ sql: String, _ arguments: StatementArguments = [], as type: Value.Type = Value.self
    ) throws -> Value? {
        Value(try value(sql, arguments.values))
    }

    @discardableResult
    func run(_ sql: String, _ arguments: StatementArguments) throws -> Int { try run(sql, arguments.values) }

    func firstRow(_ sql: String, _ arguments: StatementArguments) throws -> Row? {
        try firstRow(sql, arguments.values)
    }
}
