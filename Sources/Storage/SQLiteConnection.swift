import GRDB

/// One connection inside a database access; never kept outside of it. (`Database` is our own type in this target.)
typealias SQLiteConnection = GRDB.Database

extension SQLiteConnection {
    /// Runs one statement from the connection's cache.
    func run(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The first row of one statement from the connection's cache; the statement is reset before this returns.
    func firstRow(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// What `decode` makes of the first row, read straight from the statement without a copy of the row.
    func first<Value>(
        _ statement: Statement, _ arguments: StatementArguments, decode: (Row) throws -> Value
    ) throws -> Value? {
        // The cursor resets the statement when it goes, which ends the read transaction.
        try Row.fetchCursor(statement, arguments: arguments).next().map(decode)
    }

    func rows(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    func integer(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Int64? {
        try Int64.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }
}
