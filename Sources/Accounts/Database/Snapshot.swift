import Coding
import Crypto
import Storage
import Synchronization

/// Values that the domain's statements need besides their arguments.
struct StoreContext: Sendable {
    let identifiers: RandomIdentifier
    let rowNumbers = RowNumbers()
    let keyring: SealingKeyring
    let sessionLimits: SessionLimits
    let onAccountDeleted: AccountDeletionPolicy
    /// The actor of writes outside of requests.
    let fallback: AuditActor
    /// The operating system user of a command, when it works for the operator.
    let account: String?

    var subjectHashes: SubjectHashes { SubjectHashes(keyring: keyring) }
}

/// Numbers of rows without a public identifier, chosen by their writer, which saves a query. They sort by time.
final class RowNumbers: Sendable {
    private let last = Mutex<Int64>(0)

    func next(_ identifiers: RandomIdentifier, at now: Timestamp) -> Int64 {
        last.withLock { last in
            last = max(last + 1, identifiers.makeNumber(at: now))
            return last
        }
    }
}

/// A consistent read of the store. The domain's reads are its methods; used on the thread of its connection.
class Snapshot {
    /// `Transaction` writes through it.
    fileprivate final let connection: any EngineConnection
    let context: StoreContext
    /// The caller's time, for all reads and writes.
    let now: Timestamp

    init(_ connection: any EngineConnection, _ context: StoreContext, at now: Timestamp) {
        self.connection = connection
        self.context = context
        self.now = now
    }

    final func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try connection.rows(sql, arguments.values)
    }

    final func firstRow(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try connection.firstRow(sql, arguments.values)
    }

    /// The first column of the first row; nil when there is no row, or when it is NULL.
    final func value<Value: ColumnReadable>(
        _ sql: String, _ arguments: StatementArguments = [], as type: Value.Type = Value.self
    ) throws -> Value? {
        let column = try connection.value(sql, arguments.values)
        guard column != .null else { return nil }
        guard let value = Value(column) else { throw StoreError.corrupt("a value is not of type \(type)") }
        return value
    }

    /// The answer of `SELECT count(*)` and similar; 0 for NULL.
    final func count(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try value(sql, arguments) ?? 0
    }

    final func exists(_ sql: String, _ arguments: StatementArguments = []) throws -> Bool {
        try connection.firstRow(sql, arguments.values) != nil
    }

    /// One page of a search. The last parameter of `sql` is the maximum number of rows: one more than `limit`, to tell
    /// whether there is another page. `place` is an item's.
    final func page<Item: Sendable, Place: Sendable>(
        _ sql: String, _ arguments: StatementArguments, limit: Int, place: (Item) -> Place, _ read: (Row) throws -> Item
    ) throws -> Page<Item, Place> {
        var arguments = arguments
        arguments += [limit + 1]
        let rows = try connection.rows(sql, arguments.values)
        let items = try rows.prefix(limit).map(read)
        return Page(items: items, next: rows.count > limit ? items.last.map(place) : nil)
    }

    /// Reads a value of `meta`.
    final func stored(_ key: String) throws -> [UInt8]? { try connection.stored(key) }

    /// Frees the memory of pages that are not read again soon.
    final func releaseMemory() throws { try connection.releaseMemory() }
}

/// The owner of rows, for `Transaction.claim`.
struct TransactionKey {
    fileprivate let text: String

    static func attempt(_ id: Digest256) -> Self { Self(text: "attempt \(id.hexadecimal)") }
    static func browser(_ binding: Digest256) -> Self { Self(text: "browser \(binding.hexadecimal)") }
    /// In any team: a person who is moving may have the same subject in two.
    static func subject(_ subject: AppleSubject) -> Self { Self(text: "subject \(subject.rawValue)") }
    static func transfer(_ subject: TransferSubject) -> Self { Self(text: "transfer \(subject.rawValue)") }
    static func user(_ id: UserID) -> Self { Self(text: "user \(id.rawValue)") }
    static func session(_ id: SessionID) -> Self { Self(text: "session \(id.rawValue)") }
    static func grant(_ id: Grant.ID) -> Self { Self(text: "grant \(Hexadecimal.encode(id.bytes))") }
    static func client(_ id: OpenIDClientID) -> Self { Self(text: "client \(id.rawValue)") }
    static func service(_ id: OpenIDClientID) -> Self { Self(text: "service \(id.rawValue)") }
}

/// One write, inside the transaction it shares with others. The domain's writes are its methods.
final class Transaction: Snapshot {
    let actor: AuditActor
    /// Invalidations that are passed to the caches after COMMIT.
    private(set) var invalidations: [SessionInvalidations.Entry] = []

    /// - Parameter actor: nil outside of requests.
    init(_ connection: any EngineConnection, _ context: StoreContext, at now: Timestamp, for actor: AuditActor? = nil) {
        self.actor = actor ?? context.fallback
        super.init(connection, context, at: now)
    }

    /// Declares, before the first statement, that all rows this write touches belong to claimed keys; writes with other
    /// keys may then run with it.
    func claim(_ keys: TransactionKey...) { connection.claim(keys.map(\.text)) }

    /// Runs one statement. Its failure may surface only at the next one that returns something, or at the commit.
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try connection.enqueue(sql, arguments.values)
    }

    /// Runs one statement to completion, and returns how many rows it inserted, updated or deleted.
    func change(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try connection.run(sql, arguments.values)
    }

    /// Runs an `INSERT … RETURNING` of one row, and returns the column.
    func insert<Value: ColumnReadable>(_ sql: String, _ arguments: StatementArguments) throws -> Value {
        guard let value: Value = try value(sql, arguments) else {
            throw StoreError.inconsistent("nothing was inserted")
        }
        return value
    }

    func invalidate(_ entry: SessionInvalidations.Entry) { invalidations.append(entry) }

    /// The effect of the commit.
    func effect(on caches: SessionInvalidations) -> WriteEffect? {
        guard !invalidations.isEmpty else { return nil }
        return { [invalidations] in caches.append(invalidations) }
    }

    /// Writes a value of `meta`.
    func store(_ key: String, _ value: [UInt8]) throws { try connection.store(key, value) }

    /// Runs `body`, and in a rehearsal rolls back everything it wrote.
    func rehearse<Value>(_ isRehearsal: Bool, _ body: () throws -> Value) throws -> Value {
        guard isRehearsal else { return try body() }
        let known = invalidations.count
        try run("SAVEPOINT rehearsal")
        let value = try body()
        try run("ROLLBACK TO rehearsal")
        try run("RELEASE rehearsal")
        invalidations.removeSubrange(known...)
        return value
    }
}
