package import Coding
package import Crypto
import Logging
import Synchronization

/// An open database: transactions, and whether they succeed. It knows nothing about its tables (`StoreSchema`).
///
/// Every write shares a durable transaction with other waiting writes (`GroupCommit`); once answered, it survives `kill
/// -9` and power loss. Reads do not wait for writes. Any number of processes may open it: on one host with SQLite, on
/// any with PostgreSQL.
package final class Store: WallClock {
    package let options: StoreOptions
    package let engine: any Engine
    let schema: StoreSchema
    private let clock: any WallClock
    private let commits: GroupCommit
    private let probe = WriteProbe()
    private let migrations: Migrations

    /// Whether `directory` contains a database. The sealing key is created only together with a new one.
    package static func exists(in directory: String) -> Bool { DatabaseFiles(directory: directory).holdsDatabase }

    /// Creates `directory` if only its parent exists, and refuses one that others may write to.
    package static func prepareDirectory(_ directory: String) throws(StorageOpenError) {
        try DatabaseFiles(directory: directory).prepareDirectory()
    }

    package static func path(in directory: String) -> String { DatabaseFiles(directory: directory).databasePath }

    /// Opens or creates the database: checks files, reads durability back, updates the schema, compares stamps. Blocks;
    /// called once, before the loops start.
    /// - Parameters:
    ///   - trust: of the owner's caches, which are used only while `tick` is called at least once a second.
    ///   - wrap: wraps the engine; tests pass one that fails on demand.
    package init(
        _ options: StoreOptions, schema: StoreSchema, trust: CacheTrust, keyring: SealingKeyring, runtime: Runtime,
        over wrap: (any Engine) -> any Engine = { $0 }
    ) throws(StorageOpenError) {
        if let postgres = options.postgres {
            engine = wrap(
                try PostgresEngine(
                    postgres, options: options, schema: schema, keyring: keyring, trust: trust, runtime: runtime))
        } else {
            engine = wrap(
                try SQLiteEngine(options: options, schema: schema, keyring: keyring, trust: trust, runtime: runtime))
        }
        self.options = options
        self.schema = schema
        clock = runtime.clock
        migrations = Migrations(
            location: engine.location, steps: schema.steps, origin: options.origin, keyring: keyring)
        commits = GroupCommit(writer: engine.writer, maximumBatch: options.maximumBatch)
    }

    // MARK: Transactions

    /// A durable write, in a transaction it shares with others.
    /// - Parameter body: may run twice. Returns what to do after COMMIT and before any answer.
    package func write(
        _ body: @escaping @Sendable (any EngineConnection) throws -> WriteEffect?
    ) async throws(StoreError) {
        try await commits.write(body)
    }

    /// An optional write: it does not wait long, and is not tried while writes are known to fail.
    package func attemptWrite(
        _ body: @escaping @Sendable (any EngineConnection) throws -> WriteEffect?
    ) async throws(StoreError) {
        if let obstacle = trouble?.error ?? engine.obstacle { throw obstacle }
        let task = Task { await Result { () async throws(StoreError) in try await self.write(body) } }
        guard let result = await StorePatience.value(of: task, within: options.optionalWritePatience) else {
            throw .late
        }
        try result.get()
    }

    /// A durable write of its own, on the calling thread, before the loops start.
    package func writeNow(_ body: (any EngineConnection) throws -> Void) throws(StoreError) {
        try translating(
            try engine.writer.sync { connection in try connection.inTransaction { try body(connection) } },
            StoreError.init)
    }

    package func read(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) {
        try await read(by: engine.reader, body)
    }

    /// The same on the connection that counts, so that no other read waits for it.
    package func readCounting(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Void
    ) async throws(StoreError) {
        try await read(by: translating(try engine.counting(), StoreError.init), body)
    }

    private func read(
        by reader: ConnectionQueue, _ body: @escaping @Sendable (any EngineConnection) throws -> Void
    ) async throws(StoreError) {
        try await reader.read { connection in try connection.inTransaction(.read) { try body(connection) } }
    }

    func value(_ sql: String) async throws(StoreError) -> ColumnValue {
        try await engine.reader.perform { connection in try connection.value(sql) }
    }

    func stored(_ key: String) async throws(StoreError) -> [UInt8]? {
        try await engine.reader.perform { connection in try connection.stored(key) }
    }

    /// In bytes, without SQLite's log.
    package func size() async throws(StoreError) -> Int {
        let sql = isShared ? "SELECT pg_database_size(current_database())" : SQLiteConnection.sizeStatement
        return Int(try await value(sql).integer ?? 0)
    }

    /// When `bramley backup` last copied it.
    package func lastBackup() async throws(StoreError) -> Timestamp? {
        try await stored(FileExamination.backupKey).flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
            .map { Timestamp(milliseconds: $0) }
    }

    // MARK: Other processes

    /// Evicts from the caches what this and other processes have written. Called every 250 ms from one loop; it takes
    /// microseconds when nothing changed. Without it, caches answer nothing and every look-up reads.
    package func tick(at now: Timestamp) {
        engine.watch(at: now)
        if isShared { commits.giveUp(after: Waits.patience) }
    }

    /// How far the database's clock was ahead of this machine's at the last poll, in milliseconds; 0 on SQLite.
    package var clockDifference: Int64 { engine.clockDifference }

    /// The time by the database's clock, which all machines share: for times that one writes and another compares.
    package func now() -> Timestamp { clock.now().adding(milliseconds: clockDifference) }

    /// Whether it is on PostgreSQL, which servers on other machines may use too.
    package var isShared: Bool { options.postgres != nil }

    // MARK: Readiness

    /// For `/readyz`: makes a durable write; while writes fail, one of a sign-in's size.
    package func ready(at now: Timestamp) async throws(StoreError) {
        // On SQLite the wait for the lock is the limit.
        try await ready(at: now, within: isShared ? .seconds(1) : nil)
    }

    private func ready(at now: Timestamp, within limit: Duration?) async throws(StoreError) {
        try await probe.run(within: limit) { () async throws(StoreError) in try await self.writeProbe(at: now) }
    }

    /// Checks, before something irreversible such as sending a code to Apple, that its outcome can be written. A recent
    /// successful write, or a known obstacle, is an answer.
    package func requireWrites(at now: Timestamp) async throws(StoreError) {
        // A connection that was just lost may be reopened: the probe waits for that.
        if let trouble, trouble.isLock { throw trouble.error }
        guard trouble != nil || !commits.hasJustCommitted else { return }
        try await ready(at: now, within: Waits.patience)
    }

    /// Why no write can succeed now, if that is known without trying one.
    package var knownObstacle: StoreError? {
        commits.trouble.flatMap { $0.isLock ? $0.error : nil } ?? engine.obstacle
    }

    private func writeProbe(at now: Timestamp) async throws(StoreError) {
        let known = commits.trouble
        var content = Array(String(now.milliseconds).utf8)
        if known != nil { content += [UInt8](repeating: 0, count: GroupCommit.probeSize) }
        let value = content
        try await write { connection in
            try connection.store("ready", value)
            return nil
        }
        if let known { commits.endTrouble(known) }
    }

    /// Why writes fail now, as far as this process knows; nil while they succeed.
    package var trouble: StoreTrouble? { commits.trouble }

    /// For `/readyz`: whether this process can open what other processes seal now.
    package func sealingKeyFits() async throws(StoreError) -> Bool {
        try await lookUpAnswer { [migrations] connection in try migrations.fits(connection) }
    }

    /// For `/readyz`: whether this version can still use the schema after a newer one has started beside it.
    package func schemaFits() async throws(StoreError) -> Bool {
        try await lookUpAnswer { [migrations] connection in try migrations.isAdmitted(on: connection) }
    }

    private func lookUpAnswer(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Bool
    ) async throws(StoreError) -> Bool {
        let answer = Mutex(false)
        try await engine.lookUp { connection in
            let found = try body(connection)
            answer.withLock { $0 = found }
        }
        return answer.withLock { $0 }
    }

    /// For a server that has taken over from another: the database now belongs to this server's sealing key.
    package func stampSealingKey(at now: Timestamp) async throws(StoreError) {
        try await write { [migrations, schema] connection in
            try migrations.stamp(connection, for: schema, at: now)
            return nil
        }
    }

    package var statistics: WriteStatistics { commits.statistics }
    package var metrics: StoreMetrics { commits.metrics }

    /// The settings that durability and privacy depend on, read back from the writing connection.
    package func settings() throws(StoreError) -> [String: String] {
        do { return try engine.settings() } catch { throw StoreError(error) }
    }

    /// Finishes accepted writes and closes. Later writes are `.unavailable`.
    package func close() {
        commits.close()
        engine.close()
    }
}
