package import Coding

/// A database and its connections: an SQLite file, or PostgreSQL.
package protocol Engine: Sendable {
    /// Path or address, without any secret, as messages name it.
    var location: String { get }
    /// The only connection of this process that writes.
    var writer: ConnectionQueue { get }
    /// For reads of several statements.
    var reader: ConnectionQueue { get }
    /// For counting, opened on first use, so that no other read waits for it.
    func counting() throws -> ConnectionQueue

    /// Runs one statement that finds a row by its key, concurrent with any write.
    func lookUp(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError)
    /// A connection for the look-ups of one event loop, on its thread; nil where each look-up goes over the network.
    func loopConnection() throws -> (any EngineConnection)?

    /// Evicts from the caches what other processes have changed. Called every 250 ms; does not block.
    func watch(at now: Timestamp)
    /// Returns once the caches may be trusted at `now`.
    func ensureTrust(at now: Timestamp) async throws(StoreError)
    /// How far the clock that all processes share is ahead of this machine's, in milliseconds.
    var clockDifference: Int64 { get }
    /// Why nothing can be read or written now; nil while all is well, as far as `watch` knows.
    var obstacle: StoreError? { get }
    /// Erases from the files what was erased from the tables since the last call. `isCertain`: the caller knows of
    /// some.
    func eraseRemains(isCertain: Bool) async throws(StoreError)
    /// What durability and privacy depend on, read back.
    func settings() throws -> [String: String]
    /// Closes everything; called once, after the last write.
    func close()
}

extension Engine {
    package func ensureTrust(at now: Timestamp) async throws(StoreError) {}
    package var clockDifference: Int64 { 0 }
    package var obstacle: StoreError? { nil }
}

/// One connection to a database, used by one thread at a time. Statements are in the part of SQLite's dialect that
/// PostgreSQL understands too; both engines enforce references between tables.
package protocol EngineConnection: AnyObject, Sendable {
    /// Runs one statement to completion. Returns how many rows it inserted, updated or deleted.
    @discardableResult
    func run(_ sql: String, _ arguments: [ColumnValue]) throws -> Int
    /// Runs one statement of a transaction without returning its count: before the next one that has an answer, at the
    /// latest before the commit. Its failure may surface only then.
    func enqueue(_ sql: String, _ arguments: [ColumnValue]) throws
    /// The first row. No read transaction outlives the call.
    func firstRow(_ sql: String, _ arguments: [ColumnValue]) throws -> Row?
    func rows(_ sql: String, _ arguments: [ColumnValue]) throws -> [Row]
    /// Runs any number of statements, without arguments, in this engine's own dialect.
    func execute(sql: String) throws

    /// Also false after the engine has ended the transaction by itself.
    var isInsideTransaction: Bool { get }
    /// Begins a transaction. Another can only be open if its end failed; it is then rolled back first.
    func begin(_ access: AccessMode) throws
    /// Begins a transaction in which `runAll` runs these writes.
    func begin(for writes: [(any EngineConnection) throws -> FinishedWrite]) throws
    /// Rolls back the transaction, if one is open.
    func rollBack()
    /// Returns once what was written survives a crash. Throws when nothing was committed, or that is unknown.
    func commit() throws

    /// Declares, before a write's first statement, that it reads and changes only rows that belong to these keys, or to
    /// those of later calls. Then it may run together with writes of other keys.
    func claim(_ keys: [String])
    /// Runs writes inside the open transaction, as if one after the other, in any order. When one fails, none counts.
    func runAll(_ writes: [(any EngineConnection) throws -> FinishedWrite]) throws -> [FinishedWrite]

    /// Whether the database is marked as Bramley's; `markOurs` marks it.
    func isOurs() throws -> Bool
    func markOurs() throws
    func tables() throws -> Set<String>
    /// Executes a step of the schema, written for SQLite.
    func define(_ schema: String) throws
    /// Runs `body`, whose statements are interrupted at `limit`.
    func limited(by limit: ReadLimit, _ body: () throws -> Void) throws

    /// Frees memory of pages that are not read again soon.
    func releaseMemory() throws
    /// Drops prepared statements and closes the connection; an open transaction is rolled back.
    func close()
}

package enum AccessMode: Sendable {
    /// Reads one state of the database, while others write.
    case read
    /// Writes exclusively: what it has read stays true until it ends.
    case write
}

extension EngineConnection {
    package func enqueue(_ sql: String, _ arguments: [ColumnValue]) throws { try run(sql, arguments) }
    package func begin(for writes: [(any EngineConnection) throws -> FinishedWrite]) throws { try begin(.write) }

    package func claim(_ keys: [String]) {}

    package func limited(by limit: ReadLimit, _ body: () throws -> Void) throws { try body() }

    package func runAll(_ writes: [(any EngineConnection) throws -> FinishedWrite]) throws -> [FinishedWrite] {
        try writes.map { write in
            let finished = try write(self)
            guard isInsideTransaction else { throw TransactionLost() }
            return finished
        }
    }

    @discardableResult
    package func run(_ sql: String) throws -> Int { try run(sql, []) }
    package func firstRow(_ sql: String) throws -> Row? { try firstRow(sql, []) }
    package func rows(_ sql: String) throws -> [Row] { try rows(sql, []) }

    /// The first column of the first row; NULL when there is no row.
    package func value(_ sql: String, _ arguments: [ColumnValue] = []) throws -> ColumnValue {
        try firstRow(sql, arguments)?.values.first ?? .null
    }

    /// Runs `body` in a transaction, committed unless it throws. A read runs again when the engine lost it.
    @discardableResult
    package func inTransaction<Value>(_ access: AccessMode = .write, _ body: () throws -> Value) throws -> Value {
        do {
            return try once(access, body)
        } catch let error as any EngineError where access == .read && error.mayRerun {
            return try once(access, body)
        }
    }

    private func once<Value>(_ access: AccessMode, _ body: () throws -> Value) throws -> Value {
        try begin(access)
        do {
            let value = try body()
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }
}

package protocol EngineError: Error {
    var storeError: StoreError { get }
    func openError(_ location: String) -> StorageOpenError
    /// The transaction was lost without effect: it may succeed on a new connection.
    var mayRerun: Bool { get }
    /// Whether the transaction was committed could not be determined.
    var isOutcomeUnknown: Bool { get }
    /// One statement of a transaction was refused; without its write, the others succeed.
    var isRefusal: Bool { get }
}

extension EngineError {
    package var mayRerun: Bool { false }
    package var isOutcomeUnknown: Bool { false }
    package var isRefusal: Bool { false }
}

extension StoreError {
    package init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as any EngineError: self = error.storeError
        default: self = .inconsistent("\(type(of: error))")
        }
    }
}

extension StorageOpenError {
    init(_ error: any Error, location: String) {
        switch error {
        case let error as StorageOpenError: self = error
        case let error as any EngineError: self = error.openError(location)
        default: self = .failed(location, detail: "\(error)")
        }
    }
}
