import RelyingParty

/// One connection to a database, used by one thread at a time. Statements are SQLite's dialect as far as PostgreSQL
/// understands it too (`Statement`); both engines enforce references between tables.
protocol EngineConnection: AnyObject, Sendable {
    /// Runs one statement to completion.
    /// - Returns: how many rows it inserted, updated or deleted.
    @discardableResult
    func run(_ sql: String, _ arguments: StatementArguments) throws -> Int
    /// Runs one statement of a transaction whose count nobody needs: before the next one that has an answer, at the latest
    /// before the commit. Its failure may show only then.
    func enqueue(_ sql: String, _ arguments: StatementArguments) throws
    /// The first row. No read transaction outlives the call.
    func firstRow(_ sql: String, _ arguments: StatementArguments) throws -> Row?
    func rows(_ sql: String, _ arguments: StatementArguments) throws -> [Row]
    /// Runs any number of statements, without arguments, in this engine's own dialect.
    func execute(sql: String) throws

    /// Also false after the engine has ended the transaction by itself.
    var isInsideTransaction: Bool { get }
    /// Begins a transaction. Another can only be open if its end failed; it is then rolled back first.
    func begin(_ access: Access) throws
    /// Begins a transaction in which `runAll` runs these writes.
    func begin<Value>(for bodies: [(any EngineConnection) throws -> Value]) throws
    /// Gives up the transaction, if there still is one.
    func rollBack()
    /// Returns once what was written survives a crash. Throws when nothing was committed, or nobody knows.
    func commit() throws

    /// Says of a write, before its first statement, that it reads and changes only rows which hang on these keys, or on
    /// those of later calls. Then it may run together with writes of other keys.
    func claim(_ keys: [String])
    /// Runs writes inside the open transaction, as if one after the other, in any order.
    /// - Throws: when one fails: none of them counts.
    func runAll<Value>(_ bodies: [(any EngineConnection) throws -> Value]) throws -> [Value]

    /// Whether the tables are Bramley's, and makes them so.
    func isOurs() throws -> Bool
    func markOurs() throws
    /// The names of the tables.
    func tables() throws -> Set<String>
    /// Executes a step of the schema, written for SQLite.
    func define(_ schema: String) throws
    /// Runs `body`, whose statements end when `limit` is over.
    func limited<Value>(by limit: ReadLimit, _ body: () throws -> Value) throws -> Value

    /// Frees memory of what is not read again soon.
    func releaseMemory() throws
    /// Drops prepared statements and closes the connection; an open transaction is rolled back.
    func close()
}

/// What a transaction does.
enum Access: Sendable {
    /// Reads one state of the database, while others write.
    case read
    /// Writes, and nobody else until it ends: what it has read stays true.
    case write
}

extension EngineConnection {
    func enqueue(_ sql: String, _ arguments: StatementArguments) throws { try run(sql, arguments) }

    func begin<Value>(for bodies: [(any EngineConnection) throws -> Value]) throws { try begin(.write) }

    func claim(_ keys: [String]) {}

    func limited<Value>(by limit: ReadLimit, _ body: () throws -> Value) throws -> Value { try body() }

    func runAll<Value>(_ bodies: [(any EngineConnection) throws -> Value]) throws -> [Value] {
        try bodies.map { body in
            let value = try body(self)
            guard isInsideTransaction else { throw TransactionLost() }
            return value
        }
    }

    @discardableResult
    func run(_ sql: String) throws -> Int { try run(sql, []) }
    func firstRow(_ sql: String) throws -> Row? { try firstRow(sql, []) }
    func rows(_ sql: String) throws -> [Row] { try rows(sql, []) }

    /// The first column of the first row; nil when there is no row, or when it has another type.
    func first<Value: ColumnReadable>(
        _ sql: String, _ arguments: StatementArguments = [], as type: Value.Type = Value.self
    ) throws -> Value? {
        try firstRow(sql, arguments)?.values.first.flatMap { Value($0) }
    }

    /// Runs `body` in a transaction of its own, committed unless it throws. One that reads is run again when the engine
    /// lost it.
    @discardableResult
    func inTransaction<Value>(_ access: Access = .write, _ body: () throws -> Value) throws -> Value {
        do {
            return try once(access, body)
        } catch let error as any EngineError where access == .read && error.mayRerun {
            return try once(access, body)
        }
    }

    private func once<Value>(_ access: Access, _ body: () throws -> Value) throws -> Value {
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

/// A failure that an engine reports.
protocol EngineError: Error {
    /// What it means to the domain.
    var storeError: StoreError { get }
    /// What it means when the database is opened.
    /// - Parameter place: the database's path or address.
    func openError(_ place: String) -> StorageOpenError
    /// The transaction is lost and certainly did nothing: it may succeed on a new connection.
    var mayRerun: Bool { get }
    /// The transaction may have been committed or not, and it could not be found out.
    var isOutcomeUnknown: Bool { get }
    /// One statement of a transaction was refused; without the write that it belongs to, the others succeed.
    var isRefusal: Bool { get }
}

extension EngineError {
    var mayRerun: Bool { false }
    var isOutcomeUnknown: Bool { false }
    var isRefusal: Bool { false }
}

extension StoreError {
    /// What a failed statement means to the domain.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as any EngineError: self = error.storeError
        default: self = .inconsistent("\(type(of: error))")
        }
    }
}

extension StorageOpenError {
    init(_ error: any Error, place: String) {
        switch error {
        case let error as StorageOpenError: self = error
        case let error as any EngineError: self = error.openError(place)
        default: self = .failed(place, detail: "\(error)")
        }
    }
}
