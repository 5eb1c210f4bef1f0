package import Coding
package import Crypto
package import Logging
package import RelyingParty
import Synchronization

/// Bramley's database.
///
/// Every write shares a durable transaction with other waiting writes (`GroupCommit`); once answered, it survives `kill
/// -9` and power loss. Reads do not wait for writes. Any number of processes may open it: on one host with SQLite, on
/// any with PostgreSQL.
package final class Database: Sendable {
    /// Receives what caches must forget, after COMMIT and before any answer. A cache is trusted only while `tick` is
    /// called at least once a second.
    package let invalidations: SessionInvalidations

    let options: DatabaseOptions
    let context: StoreContext
    let engine: any Engine
    private let clock: any WallClock
    private let commits: GroupCommit
    private let probe = WriteProbe()
    /// This process has already erased payloads of notifications received until then; milliseconds since 1970.
    let payloadsErasedUntil = Atomic<Int64>(Int64.min)
    /// Of people in each state: few are counted each time, however many are in another.
    let userNumbers = Dictionary(uniqueKeysWithValues: User.State.allCases.map { ($0, KeptNumbers<Int>()) })
    private let migrations: Migrations

    /// Whether `directory` contains a database. The sealing key is created only together with a new one.
    package static func exists(in directory: String) -> Bool {
        DatabaseFiles(directory: directory).holdsDatabase
    }

    /// Creates `directory` if only its parent exists, and refuses one that others may write to.
    package static func prepareDirectory(_ directory: String) throws(StorageOpenError) {
        try DatabaseFiles(directory: directory).prepareDirectory()
    }

    /// The path of the database file in `directory`.
    package static func path(in directory: String) -> String {
        DatabaseFiles(directory: directory).databasePath
    }

    /// Opens or creates the database: checks files, reads durability back, updates the schema, compares stamps. Blocks;
    /// called once, before the loops start.
    package convenience init(
        options: DatabaseOptions, keyring: SealingKeyring, clock: any WallClock, random: any RandomSource,
        logger: Logger
    ) throws(StorageOpenError) {
        try self.init(
            options: options, keyring: keyring, clock: clock, random: random, logger: logger, steps: Schema.steps)
    }

    /// - Parameters:
    ///   - steps: the schema this version knows; tests pass more or fewer.
    ///   - wrap: puts another engine before the real one; that of tests fails when told to.
    init(
        options: DatabaseOptions, keyring: SealingKeyring, clock: any WallClock, random: any RandomSource,
        logger: Logger, steps: [SchemaStep], over wrap: (any Engine) -> any Engine = { $0 }
    ) throws(StorageOpenError) {
        context = StoreContext(
            identifiers: RandomIdentifier(random: BufferedRandom(random)), keyring: keyring,
            sessionLimits: options.sessionLimits, onAccountDeleted: options.onAccountDeleted,
            standing: options.use == .command ? .operator : .server, account: options.account)
        invalidations = SessionInvalidations(trust: options.postgres?.trust ?? SessionInvalidations.defaultTrust)
        if let postgres = options.postgres {
            engine = wrap(
                try PostgresEngine(
                    postgres, options: options, context: context, steps: steps, invalidations: invalidations,
                    random: random, at: clock.now(), logger: logger))
        } else {
            engine = wrap(
                try SQLiteEngine(
                    options: options, context: context, steps: steps, invalidations: invalidations, at: clock.now(),
                    logger: logger))
        }
        self.options = options
        self.clock = clock
        migrations = Migrations(place: engine.place, steps: steps, origin: options.origin, keyring: keyring)
        commits = GroupCommit(
            writer: engine.writer, context: context, invalidations: invalidations, maximumBatch: options.maximumBatch)
    }

    /// Reads what this and other processes have written, and evicts it from the caches. The executable calls it every
    /// 250 ms from one loop; it takes microseconds when nothing changed. Without it, caches answer nothing and every
    /// look-up reads.
    package func tick(at now: Timestamp) {
        engine.watch(at: now)
        if isShared { commits.giveUp(after: Waits.patience) }
    }

    /// For `/readyz`: makes a durable write. While writes fail, one of the size of a sign-in.
    package func ready(at now: Timestamp) async throws(StoreError) {
        // SQLite's waits for the lock at most.
        try await ready(at: now, within: isShared ? .seconds(1) : nil)
    }

    private func ready(at now: Timestamp, within limit: Duration?) async throws(StoreError) {
        try await probe.run(within: limit) { () async throws(StoreError) in try await self.writeProbe(at: now) }
    }

    /// For what cannot be undone before its outcome is written, such as to send a code to Apple: asks whether a write can
    /// succeed. One that just did is an answer, and so is what is known to be in the way.
    package func requireWrites(at now: Timestamp) async throws(StoreError) {
        // A connection that was just lost may be made again: the probe waits for that.
        if let trouble, trouble.isLock { throw trouble.error }
        guard trouble != nil || !commits.hasJustCommitted else { return }
        try await ready(at: now, within: Waits.patience)
    }

    /// Why no write can succeed now, where to try one would only mean to wait.
    package var knownObstacle: StoreError? {
        commits.trouble.flatMap { $0.isLock ? $0.error : nil } ?? engine.obstacle
    }

    private func writeProbe(at now: Timestamp) async throws(StoreError) {
        let known = commits.trouble
        var content = Array(String(now.milliseconds).utf8)
        if known != nil { content += [UInt8](repeating: 0, count: GroupCommit.probeSize) }
        let value = content
        try await write(at: now) { transaction in try transaction.store("ready", value) }
        if let known { commits.endTrouble(known) }
    }

    /// Why writes fail now, as far as this process knows; nil while they succeed.
    package var trouble: StoreTrouble? { commits.trouble }

    /// For `/readyz`: whether this process can open what other processes seal now.
    package func sealingKeyFits() async throws(StoreError) -> Bool {
        try await lookUp { snapshot in try Migrations.fits(snapshot.context.keyring, on: snapshot) }
    }

    /// For `/readyz`: whether a newer version, started beside this one, has left this one a schema that it can use.
    package func schemaFits() async throws(StoreError) -> Bool {
        let migrations = migrations
        return try await lookUp { snapshot in try migrations.isAdmitted(on: snapshot) }
    }

    /// For a server that has taken over from another: the database now belongs to this server's sealing key.
    package func stampSealingKey(at now: Timestamp) async throws(StoreError) {
        let migrations = migrations
        try await write(at: now) { transaction in try migrations.stamp(transaction) }
    }

    /// How far the database's clock was ahead of this machine's at the last look, in milliseconds; 0 on SQLite.
    package var clockDifference: Int64 { engine.clockDifference }

    /// For times that one machine writes and another compares to the second.
    package var sharedClock: any WallClock { SharedClock(own: clock, engine: engine) }

    /// Whether it is on PostgreSQL, where servers on other machines may use it too.
    package var isShared: Bool { options.postgres != nil }

    /// Counts of the writer since opening.
    package var statistics: WriteStatistics { commits.statistics }

    /// Measurements of the writer.
    package var metrics: StoreMetrics { commits.metrics }

    /// The settings that durability and privacy depend on, read back from the writing connection.
    package func settings() throws(StoreError) -> [String: String] {
        do { return try engine.settings() } catch { throw StoreError(error) }
    }

    /// A durable write of its own, on the calling thread. For what must be done before the loops start.
    func writeNow(at now: Timestamp, _ body: (Transaction) throws -> Void) throws(StoreError) {
        do {
            try engine.writer.sync { connection in
                try connection.inTransaction { try body(Transaction(connection, context, at: now)) }
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Finishes accepted writes and closes. Later writes are `.unavailable`.
    package func close() {
        commits.close()
        engine.close()
    }

    /// A durable write, in a transaction it shares with others.
    /// - Parameters:
    ///   - now: the caller's time; nil reads the clock.
    ///   - body: may run twice.
    @discardableResult
    func write<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws(StoreError) -> Value {
        try await commits.write(at: now ?? clock.now(), body)
    }

    /// A write that may be left undone: nobody waits for it for long, nor while writes are known to fail.
    func note(
        at now: Timestamp, _ body: @escaping @Sendable (Transaction) throws -> Void
    ) async throws(StoreError) {
        if let obstacle = trouble?.error ?? engine.obstacle { throw obstacle }
        let task = Task { () -> Result<Void, StoreError> in
            do throws(StoreError) { return .success(try await self.write(at: now, body)) } catch {
                return .failure(error)
            }
        }
        guard let result = await StorePatience.value(of: task, within: options.notePatience) else { throw .late }
        try result.get()
    }

    /// A read in one snapshot, concurrent with any write.
    func read<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(StoreError) -> Value {
        try await read(by: engine.reader, at: now, body)
    }

    func read<Value: Sendable>(
        by reader: ConnectionQueue, at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(StoreError) -> Value {
        let (context, now) = (context, now ?? clock.now())
        return try await reader.read { connection in
            try connection.inTransaction(.read) { try body(Snapshot(connection, context, at: now)) }
        }
    }

    /// A look-up of one row by its key, concurrent with any write and any other read: for what every sign-in waits for,
    /// and what says whether this server is ready.
    func lookUp<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(StoreError) -> Value {
        let (context, now) = (context, now ?? clock.now())
        return try await engine.lookUp { connection in try body(Snapshot(connection, context, at: now)) }
    }
}

extension Database: SessionDirectory {
    package func makeReader() throws(StoreError) -> any SessionReader {
        do { return try engine.sessionReader() } catch { throw StoreError(error) }
    }
}
