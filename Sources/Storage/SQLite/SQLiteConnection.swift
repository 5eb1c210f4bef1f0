import GRDB
import GRDBSQLite

/// One connection and the statements it has prepared. GRDB opens, configures and closes it; statements go to SQLite's own
/// interface, which costs half.
///
/// Proof for `@unchecked Sendable`: a connection is used by one thread at a time. `SQLiteQueue` lends its own on its
/// serial queue alone; a reader of `ReadConnections` is taken out of the list by whoever uses it, and a loop's
/// `SessionLookUpReader` is not Sendable.
@safe final class SQLiteConnection: @unchecked Sendable {
    // Safe: open until `GRDB.DatabaseQueue` closes it; whoever does that calls `close` first, and then it is nil.
    private var database: OpaquePointer?
    private var statements: [StatementText: SQLiteStatement] = [:]
    /// Present on the connection that writes.
    var auditContext: AuditContext?

    /// - Throws: when the connection is closed.
    init(_ connection: GRDB.Database) throws {
        guard let database = unsafe connection.sqliteConnection else {
            throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the connection is closed")
        }
        unsafe self.database = database
        // GRDB's observers of transactions have to see every statement, and are never used here.
        _ = unsafe sqlite3_commit_hook(database, nil, nil)
        _ = unsafe sqlite3_rollback_hook(database, nil, nil)
    }

    /// Drops what was prepared: before the connection closes.
    func close() {
        statements.removeAll()
        unsafe database = nil
    }

    private func opened() throws -> OpaquePointer {
        guard let database = unsafe database else {
            throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the connection is closed")
        }
        return unsafe database
    }

    /// Holds the calling thread, and no lock, by SQLite's own clockwork (`sqlite3_sleep`).
    static func pause(milliseconds: Int32) {
        _ = sqlite3_sleep(milliseconds)
    }

    // MARK: Statements

    /// Runs one statement to its end.
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        while try statement.step() {}
    }

    /// The first row. The statement is reset before this returns: no read transaction outlives the call.
    func firstRow(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        return try statement.step() ? statement.row : nil
    }

    func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        var rows: [Row] = []
        while try statement.step() { rows.append(statement.row) }
        return rows
    }

    /// The first column of the first row; nil when there is no row, or when it holds no integer.
    func integer(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
        try firstRow(sql, arguments)?[0]
    }

    /// What a pragma reads back, as text.
    func pragma(_ name: String) throws -> String? {
        switch try firstRow("PRAGMA \(name)")?.values.first {
        case .integer(let number): String(number)
        case .text(let text): text
        case .null, .real, .blob, nil: nil
        }
    }

    /// Runs any number of statements, which are not kept.
    func execute(sql: String) throws {
        let database = unsafe try opened()
        let code = unsafe sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw unsafe DatabaseError(code: code, of: database) }
    }

    private func prepared(_ sql: String) throws -> SQLiteStatement {
        let text = StatementText(sql: sql)
        if let statement = statements[text] { return statement }
        let statement = unsafe try SQLiteStatement(sql, on: opened())
        statements[text] = statement
        return statement
    }

    // MARK: Transactions

    /// False also when SQLite has ended it by itself.
    var isInsideTransaction: Bool { unsafe database.map { unsafe sqlite3_get_autocommit($0) == 0 } ?? false }

    var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(database) }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    var changesCount: Int { Int(unsafe sqlite3_changes(database)) }

    /// Runs `body` in a transaction of its own, committed unless it throws.
    /// - Parameter begin: the statement that begins it.
    func inTransaction<Value>(_ begin: String = "BEGIN IMMEDIATE", _ body: () throws -> Value) throws -> Value {
        try run(begin)
        do {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            if isInsideTransaction { try? run("ROLLBACK") }
            throw error
        }
    }
}

/// The text of a statement as a key. Statements are few and long: the length and a few bytes tell nearly all apart, and
/// one literal equals itself without a look at its bytes.
private struct StatementText: Hashable {
    let sql: String

    func hash(into hasher: inout Hasher) {
        let bytes = sql.utf8
        hasher.combine(bytes.count)
        var step = bytes.count / 8
        if step == 0 { step = 1 }
        var sample: UInt64 = 0
        var index = bytes.startIndex
        while let next = bytes.index(index, offsetBy: step, limitedBy: bytes.endIndex), next < bytes.endIndex {
            sample = sample << 8 ^ sample >> 56 ^ UInt64(bytes[next])
            index = next
        }
        hasher.combine(sample)
    }
}
