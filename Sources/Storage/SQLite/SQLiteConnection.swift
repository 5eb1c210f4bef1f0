import CSQLite

/// One connection and its prepared statements.
///
/// Proof for `@unchecked Sendable`: one thread at a time uses a connection. `ConnectionQueue` lends its own only on its
/// serial queue; a reader of `ReadConnections` is removed from the list by its user, and a loop's own is used
/// by a reader that is not Sendable.
@safe final class SQLiteConnection: EngineConnection, @unchecked Sendable {
    // Safe: open from `init` until `close`, and nil afterwards.
    private var database: OpaquePointer?
    private var statements: [StatementText: SQLiteStatement] = [:]
    fileprivate var limit: ReadLimit?
    private var logPace = Pace.logPages

    /// Opens the file at `path`, created if it is missing and may be written; fails if it is not a database.
    /// References are enforced. A statement waits for another connection's lock for `busyTimeout` milliseconds.
    init(path: String, isReadOnly: Bool = false, busyTimeout: Int) throws {
        // One thread at a time uses a connection, so SQLite's own locking is not needed.
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var database: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &database, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        // SQLite creates a connection even when it cannot open the file; `deinit` closes it.
        unsafe self.database = database
        guard code == SQLITE_OK, let database = unsafe database else {
            throw unsafe SQLiteError(code: code, of: database)
        }
        wait(milliseconds: busyTimeout)
        unsafe bramley_refuse_quoted_strings(database)
        try execute(sql: "PRAGMA foreign_keys = ON")
        // Only the first read makes SQLite examine the file.
        _ = try firstRow("SELECT * FROM sqlite_schema LIMIT 1")
    }

    deinit { close() }

    func close() {
        statements.removeAll()
        unsafe sqlite3_close_v2(database)
        unsafe database = nil
    }

    /// How long a statement waits for another connection's lock.
    ///
    /// Tries again every few milliseconds. SQLite's own handler sleeps for up to a tenth of a second, and misses the
    /// moments between two transactions of a process that makes many of them.
    func wait(milliseconds: Int) {
        // When closed, each statement fails.
        guard let database = unsafe database else { return }
        // Safe: the limit is the pointer's number, and nothing is read there.
        unsafe sqlite3_busy_handler(
            database,
            { limit, count in
                let waited = count < 100 ? Int(count) : 100 + (Int(count) - 100) * 3
                guard waited < Int(bitPattern: limit) else { return 0 }
                sqlite3_sleep(count < 100 ? 1 : 3)
                return 1
            }, UnsafeMutableRawPointer(bitPattern: milliseconds))
    }

    /// Moves the log into the database after a commit, once it is long enough, as SQLite does by itself at a fixed length.
    func moveLogInPieces() {
        // Safe, both: SQLite calls this inside a COMMIT on this connection, with its own pointers.
        unsafe sqlite3_wal_hook(
            database,
            { connection, database, name, pages in
                guard let connection = unsafe connection else { return SQLITE_OK }
                let writer = unsafe Unmanaged<SQLiteConnection>.fromOpaque(connection).takeUnretainedValue()
                guard Int(pages) >= writer.logPace.limit else { return SQLITE_OK }
                let start = ContinuousClock.now
                // Pages that a reader still needs are moved after a later commit.
                unsafe sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
                writer.logPace.adapt(to: ContinuousClock.now - start)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// SQLite's virtual machine instructions between two checks of the limit: about a millisecond.
    private static let instructions: Int32 = 20_000

    func limited(by limit: ReadLimit, _ body: () throws -> Void) throws {
        guard !limit.isNone else { return try body() }
        self.limit = limit
        // Safe, both: the handler runs inside `body`'s statements, while the caller keeps the connection.
        unsafe sqlite3_progress_handler(
            database, Self.instructions,
            { connection in
                guard let connection = unsafe connection else { return 0 }
                let limit = unsafe Unmanaged<SQLiteConnection>.fromOpaque(connection).takeUnretainedValue().limit
                return limit?.isOver == true ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        defer {
            unsafe sqlite3_progress_handler(database, 0, nil, nil)
            self.limit = nil
        }
        try body()
    }

    /// Makes the running statement fail with SQLITE_INTERRUPT. From any thread, while nobody closes the connection.
    func interrupt() {
        guard let database = unsafe database else { return }
        unsafe sqlite3_interrupt(database)
    }

    func opened() throws -> OpaquePointer {
        guard let database = unsafe database else { throw SQLiteError.closed }
        return unsafe database
    }

    /// Blocks the calling thread, without a lock, through SQLite (`sqlite3_sleep`).
    static func pause(milliseconds: Int32) { _ = sqlite3_sleep(milliseconds) }

    // MARK: Statements

    @discardableResult
    func run(_ sql: String, _ arguments: [ColumnValue]) throws -> Int {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        while try statement.step() {}
        return Int(unsafe sqlite3_changes(database))
    }

    /// The statement is reset before this returns: no read transaction outlives the call.
    func firstRow(_ sql: String, _ arguments: [ColumnValue]) throws -> Row? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        return try statement.step() ? statement.row : nil
    }

    func rows(_ sql: String, _ arguments: [ColumnValue]) throws -> [Row] {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        var rows: [Row] = []
        while try statement.step() { rows.append(statement.row) }
        return rows
    }

    /// Does not cache the statements.
    func execute(sql: String) throws {
        let database = unsafe try opened()
        let code = unsafe sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw unsafe SQLiteError(code: code, of: database) }
    }

    private func prepared(_ sql: String) throws -> SQLiteStatement {
        let text = StatementText(sql: sql)
        if let statement = statements[text] { return statement }
        let statement = unsafe try SQLiteStatement(sql, on: opened())
        statements[text] = statement
        return statement
    }

    // MARK: Transactions

    var isInsideTransaction: Bool { unsafe database.map { unsafe sqlite3_get_autocommit($0) == 0 } ?? false }

    func begin(_ access: AccessMode) throws {
        if isInsideTransaction { try run("ROLLBACK") }
        try run(access == .write ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED")
    }

    func rollBack() {
        if isInsideTransaction { _ = try? run("ROLLBACK") }
    }

    func commit() throws { try run("COMMIT") }

    // MARK: The schema

    /// `PRAGMA application_id`: "Brml".
    private static let applicationID: Int64 = 0x4272_6D6C

    func isOurs() throws -> Bool { try value("PRAGMA application_id") == .integer(Self.applicationID) }
    func markOurs() throws { try execute(sql: "PRAGMA application_id = \(Self.applicationID)") }

    func tables() throws -> Set<String> {
        Set(try rows("SELECT name FROM sqlite_schema WHERE type = 'table'").map { try $0.text("name") })
    }

    func define(_ schema: String) throws { try execute(sql: schema) }
    func releaseMemory() throws { try execute(sql: "PRAGMA shrink_memory") }
}

/// The text of a statement as a key. Statements are few and long: the length and a few bytes distinguish nearly all,
/// and a literal equals itself without comparing bytes.
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

extension SQLiteConnection {
    /// Copies this database over that of `destination` by SQLite's backup interface; if it throws, there is none.
    /// - Parameter progress: called after each step; an error it throws ends the copy and is rethrown.
    func copy(
        to destination: SQLiteConnection, pagesPerStep: Int32, progress: (_ pages: Int, _ total: Int) throws -> Void
    ) throws {
        let from = unsafe try opened()
        let to = unsafe try destination.opened()
        // Safe: both connections are open until this returns, and the copy is finished, once, before that.
        guard let backup = unsafe sqlite3_backup_init(to, "main", from, "main") else {
            throw unsafe SQLiteError(code: SQLITE_ERROR, of: to)
        }
        var step = SQLITE_OK
        do {
            while step == SQLITE_OK {
                step = unsafe sqlite3_backup_step(backup, pagesPerStep)
                guard step == SQLITE_OK || step == SQLITE_DONE else { break }
                let total = Int(unsafe sqlite3_backup_pagecount(backup))
                try progress(total - Int(unsafe sqlite3_backup_remaining(backup)), total)
            }
        } catch {
            _ = unsafe sqlite3_backup_finish(backup)
            throw error
        }
        // Only now does the destination have the error message.
        let end = unsafe sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE, end == SQLITE_OK else {
            throw unsafe SQLiteError(code: end == SQLITE_OK ? step : end, of: to)
        }
    }
}
