import Coding
package import Crypto
import Logging
package import Storage
import Synchronization

/// Which database to open, and the periods and limits that its writes apply.
package struct DatabaseOptions: Sendable {
    package var store: StoreOptions
    package var sessionLimits: SessionLimits
    package var retention: RetentionPolicy
    package var onAccountDeleted: AccountDeletionPolicy
    /// The operating system user who runs the command, for the audit log.
    package var account: String?

    package init(
        _ store: StoreOptions, sessionLimits: SessionLimits, retention: RetentionPolicy = RetentionPolicy(),
        onAccountDeleted: AccountDeletionPolicy
    ) {
        self.store = store
        self.sessionLimits = sessionLimits
        self.retention = retention
        self.onAccountDeleted = onAccountDeleted
    }
}

/// People, their sessions and all that belongs to them, stored in `store`: each operation is one transaction.
package final class Database: Sendable {
    package let store: Store
    /// Receives evictions for the caches, after COMMIT and before any answer.
    package let invalidations: SessionInvalidations
    let options: DatabaseOptions
    let context: StoreContext
    private let clock: any WallClock
    /// Sessions that requests read recently, if each lookup goes over the network.
    let sharedSessions: SharedSessions?
    /// This process has erased payloads of notifications up to this time; milliseconds since 1970.
    let payloadsErasedUntil = Atomic<Int64>(Int64.min)
    /// The number of people in each state, cached separately: a rare state is counted each time.
    let userNumbers = Dictionary(uniqueKeysWithValues: User.State.allCases.map { ($0, KeptNumbers<Int>()) })
    let signedInNumber = KeptNumbers<Int>()

    /// Opens or creates the database (`Store`). Blocks; called once, before the loops start. Tests pass other `steps`,
    /// and wrap the engine.
    package init(
        options: DatabaseOptions, keyring: SealingKeyring, runtime: Runtime, steps: [SchemaStep] = Schema.steps,
        over wrap: (any Engine) -> any Engine = { $0 }
    ) throws(StorageOpenError) {
        let trust = options.store.postgres.map { CacheTrust(for: $0.trust) } ?? CacheTrust()
        context = StoreContext(
            identifiers: RandomIdentifier(random: BufferedRandom(runtime.random)), keyring: keyring,
            sessionLimits: options.sessionLimits, onAccountDeleted: options.onAccountDeleted,
            fallback: options.store.use == .command ? .operator : .server, account: options.account)
        invalidations = SessionInvalidations(trust: trust)
        store = try Store(
            options.store, schema: Schema.owned(by: context, steps: steps, invalidations: invalidations), trust: trust,
            keyring: keyring, runtime: runtime, over: wrap)
        self.options = options
        clock = runtime.clock
        sharedSessions =
            store.isShared ? SharedSessions(invalidations: invalidations, limits: options.sessionLimits) : nil
    }

    /// A durable write, in a transaction it shares with others; `body` may run twice. Without `now`, the clock is read.
    @discardableResult
    func write<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws(Failure) -> Value {
        let answer = Answer<Value>()
        let write = transaction(at: now ?? clock.now()) { transaction in answer.set(try body(transaction)) }
        try await Failure.ofStore(await store.write(write))
        return try answer.get()
    }

    /// A write that may be lost: it does not wait long, and is not tried while writes are known to fail.
    func attemptWrite(at now: Timestamp, _ body: @escaping @Sendable (Transaction) throws -> Void) async throws(Failure)
    {
        try await Failure.ofStore(await store.attemptWrite(transaction(at: now, body)))
    }

    /// For the current task's actor.
    private func transaction(
        at now: Timestamp, _ body: @escaping @Sendable (Transaction) throws -> Void
    ) -> @Sendable (any EngineConnection) throws -> WriteEffect? {
        let actor = AuditActor.current
        return { [context, invalidations] connection in
            let transaction = Transaction(connection, context, at: now, for: actor)
            try body(transaction)
            return transaction.effect(on: invalidations)
        }
    }

    /// A durable write of its own, on the calling thread, before the loops start.
    func writeNow(at now: Timestamp, _ body: (Transaction) throws -> Void) throws(Failure) {
        do throws(StoreError) {
            try store.writeNow { connection in try body(Transaction(connection, context, at: now)) }
        } catch {
            throw Failure(store: error)
        }
    }

    /// A read in one snapshot, concurrent with any write.
    func read<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(Failure) -> Value {
        try await read(at: now, body, by: store.read)
    }

    /// The same on the connection that counts, so that no other read waits for it.
    func readCounting<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(Failure) -> Value {
        try await read(at: now, body, by: store.readCounting)
    }

    /// A lookup of one row by its key, concurrent with any write and any other read: for sign-ins and readiness.
    func lookUp<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(Failure) -> Value {
        try await read(at: now, body, by: store.engine.lookUp)
    }

    private func read<Value: Sendable>(
        at now: Timestamp?, _ body: @escaping @Sendable (Snapshot) throws -> Value,
        by read: (@escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) -> Void
    ) async throws(Failure) -> Value {
        let (answer, now) = (Answer<Value>(), now ?? clock.now())
        try await Failure.ofStore(
            await read { [context] connection in answer.set(try body(Snapshot(connection, context, at: now))) })
        return try answer.get()
    }

    /// Finishes accepted writes and closes. Later writes are `.unavailable`.
    package func close() { store.close() }
}

/// The result of the last run of a transaction's body: a generic call across modules would not be specialised.
private final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }

    func get() throws(Failure) -> Value {
        guard let value = value.withLock({ $0 }) else {
            throw Failure(store: .inconsistent("the transaction returned nothing"))
        }
        return value
    }
}

/// A job of the store that another module runs.
package typealias StoreTask = @Sendable () async throws(Failure) -> Void
