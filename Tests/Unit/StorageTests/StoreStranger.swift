import Strangers

@testable import Accounts
@testable import Storage

/// On PostgreSQL. It takes no lock, as a person with psql takes none.
final class PostgresStranger: StoreStranger {
    private let connection: PostgresConnection

    init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    deinit { connection.close() }

    func read<Value>(_ body: (PostgresStranger) throws -> Value) throws -> Value {
        try connection.inTransaction(.read) { try body(self) }
    }

    func write<Value>(_ body: (PostgresStranger) throws -> Value) throws -> Value {
        try connection.beginWithoutLock()
        do {
            let value = try body(self)
            try connection.commit()
            return value
        } catch {
            connection.rollBack()
            throw error
        }
    }

    func execute(_ sql: String, _ arguments: [Any?]) throws {
        if arguments.isEmpty {
            try connection.execute(sql: PostgresDialect.statement(sql))
        } else {
            _ = try rows(sql, arguments)
        }
    }

    func rows(_ sql: String, _ arguments: [Any?]) throws -> [StrangerRow] {
        let bound = StatementArguments(
            arguments.map { argument -> (any ColumnBindable)? in
                switch argument {
                case let value as Int: Int64(value)
                case let value as Int64: value
                case let value as String: value
                case let value as [UInt8]: value
                default: nil
                }
            })
        return try connection.rows(sql, bound.values).map { row in
            StrangerRow(
                names: row.names.names,
                values: row.values.map { value in
                    switch value {
                    case .null: .null
                    case .integer(let number): .integer(Int(number))
                    case .real(let number): .real(number)
                    case .text(let text): .text(text)
                    case .blob(let bytes): .blob(bytes)
                    }
                })
        }
    }
}
