package import Coding
package import Crypto
package import Logging
package import RelyingParty
import Synchronization

/// Bramley's database: one SQLite file in WAL mode, written by one connection and read by others.
///
/// Every write shares a durable transaction with other waiting writes (`GroupCommit`); once answered, it survives `kill
/// -9` and power loss. Reads do not wait for writes. Any number of processes on one host may open it.
package final class Database: Sendable {
    /// Receives what caches must forget, after COMMIT and before any answer. A cache is trusted only while `tick` is
    /// called at least once a second.
    package let invalidations = SessionInvalidations()

    let options: DatabaseOptions
    let context: StoreContext
    private let clock: any WallClock
    private let commits: GroupCommit
    let connections: Connections
    let foreignChanges: ForeignChanges
    /// Somebody was erased since the log was last emptied.
    let erasures = Atomic(false)
    /// This process has already erased payloads of notifications received until then; milliseconds since 1970.
    let payloadsErasedUntil = Atomic<Int64>(Int64.min)
    private let writer: SQLiteQueue
    private let reader: SQLiteQueue
    private let readers: ReadConnections
    let counting: CountingConnection
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

    /// - Parameter steps: the schema this version knows; tests pass more or fewer.
    init(
        options: DatabaseOptions, keyring: SealingKeyring, clock: any WallClock, random: any RandomSource,
        logger: Logger, steps: [SchemaStep]
    ) throws(StorageOpenError) {
        let files = DatabaseFiles(directory: options.directory)
        try files.prepare()
        let path = files.databasePath
        let connections = Connections(path: path, busyTimeout: options.busyTimeout, use: options.use)
        let context = StoreContext(
            identifiers: RandomIdentifier(random: BufferedRandom(random)), keyring: keyring,
            sessionLimits: options.sessionLimits, onAccountDeleted: options.onAccountDeleted,
            standing: options.use == .command ? .operator : .server, account: options.account)
        let migrations = Migrations(path: path, steps: steps, origin: options.origin, keyring: keyring)
        self.migrations = migrations
        do {
            writer = try connections.openWriter()
            try writer.sync { connection in
                try migrations.inspect(connection)
                if options.use != .server { try migrations.requireCurrent(connection) }
            }
            try connections.makeDurable(writer)
            if options.use == .server {
                try writer.sync { connection in try migrations.run(connection, context, at: clock.now()) }
            }
            try connections.keepUncommittedInMemory(writer)
            reader = SQLiteQueue(try connections.openReader(), label: "reader")
            foreignChanges = try ForeignChanges(
                connection: SQLiteQueue(try connections.openLoopReader(), label: "foreign changes"), context: context,
                invalidations: invalidations, logger: logger)
        } catch {
            throw StorageOpenError(error, path: path)
        }
        self.options = options
        self.context = context
        self.clock = clock
        self.connections = connections
        readers = ReadConnections(connections)
        counting = CountingConnection(connections)
        commits = GroupCommit(
            writer: writer, context: context, invalidations: invalidations, maximumBatch: options.maximumBatch)
    }

    /// Reads what this and other processes have written, evicts it from the caches, and remembers whether somebody was
    /// erased. The executable calls it every 250 ms from one loop; it takes microseconds when nothing changed. Without
    /// it, caches answer nothing and every look-up reads.
    package func tick(at now: Timestamp) {
        if foreignChanges.check(at: now) { erasures.store(true, ordering: .releasing) }
    }

    /// For `/readyz`: makes a durable write. While writes fail, one of the size of a sign-in.
    package func ready(at now: Timestamp) async throws(StoreError) {
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
        try await read { snapshot in try Migrations.fits(snapshot.context.keyring, on: snapshot) }
    }

    /// For a server that has taken over from another: the database now belongs to this server's sealing key.
    package func stampSealingKey(at now: Timestamp) async throws(StoreError) {
        let migrations = migrations
        try await write(at: now) { transaction in try migrations.stamp(transaction) }
    }

    /// Counts of the writer since opening.
    package var statistics: WriteStatistics { commits.statistics }

    /// Measurements of the writer.
    package var metrics: StoreMetrics { commits.metrics }

    /// The pragmas that durability and privacy depend on, read back from the writing connection.
    package func pragmas() throws(StoreError) -> [String: String] {
        do {
            return try writer.sync { connection in
                var values: [String: String] = [:]
                for name in ["synchronous", "journal_mode", "secure_delete", "foreign_keys", "cache_spill"] {
                    values[name] = try connection.pragma(name)
                }
                return values
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// A durable write of its own, on the calling thread. For what must be done before the loops start.
    func writeNow(at now: Timestamp, _ body: (Transaction) throws -> Void) throws(StoreError) {
        do {
            try writer.sync { connection in
                try connection.inTransaction { try body(Transaction(connection, context, at: now)) }
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Runs SQL on the writing connection, between transactions. For tests that limit or break it.
    func executeOnWriter(_ sql: String) throws(StoreError) {
        do {
            try writer.sync { connection in try connection.execute(sql: sql) }
        } catch {
            throw StoreError(error)
        }
    }

    /// Milliseconds. A server's own read takes less than one.
    private static let longestWaitForReaders = 50

    /// Moves the log into the database and empties it when somebody was erased: until then the log, and so the file
    /// system, holds pages as they were before. While a reader such as a backup blocks it, this is tried again at the
    /// next call; writers wait during the attempt, so the wait is shorter than for another writer.
    func emptyLogAfterErasures() async throws(StoreError) {
        guard erasures.exchange(false, ordering: .acquiringAndReleasing) else { return }
        let busyTimeout = options.busyTimeout
        let result: Result<Bool, StoreError> = await withCheckedContinuation { continuation in
            writer.async { connection in
                do {
                    continuation.resume(returning: .success(try Self.emptyLog(connection, busyTimeout: busyTimeout)))
                } catch {
                    continuation.resume(returning: .failure(StoreError(error)))
                }
            }
        }
        let isEmpty = (try? result.get()) ?? false
        if !isEmpty { erasures.store(true, ordering: .releasing) }
        _ = try result.get()
    }

    /// - Returns: false when a reader blocks it.
    private static func emptyLog(_ connection: SQLiteConnection, busyTimeout: Int) throws -> Bool {
        try connection.execute(sql: "PRAGMA busy_timeout = \(longestWaitForReaders)")
        defer { try? connection.execute(sql: "PRAGMA busy_timeout = \(busyTimeout)") }
        return try connection.first("PRAGMA wal_checkpoint(TRUNCATE)") == 0
    }

    /// How often a command that erased somebody tries to empty the log, and the pause in milliseconds: five seconds in
    /// all, during which writers of other processes wait for `longestWaitForReaders` at a time.
    private static let closingTurns = (most: 50, pause: Int32(50))

    /// Finishes accepted writes, moves the log into the database and closes. Later writes are `.unavailable`. When a
    /// reader blocks it, the log stays.
    package func close() {
        commits.close()
        // A command leaves the log to the server, unless it erased somebody and there may be no server.
        if options.use != .command || foreignChanges.check(at: Timestamp(milliseconds: 0)) {
            let busyTimeout = options.busyTimeout
            for turn in 1...(options.use == .command ? Self.closingTurns.most : 1) {
                if turn > 1 { SQLiteConnection.pause(milliseconds: Self.closingTurns.pause) }
                let isEmpty = try? writer.sync { connection in
                    try Self.emptyLog(connection, busyTimeout: busyTimeout)
                }
                if isEmpty != false { break }
            }
        }
        foreignChanges.close()
        readers.close()
        counting.close()
        reader.close()
        writer.close()
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

    /// A read in one snapshot, concurrent with any write.
    func read<Value: Sendable>(
        at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(StoreError) -> Value {
        try await read(by: reader, at: now, body)
    }

    func read<Value: Sendable>(
        by reader: SQLiteQueue, at now: Timestamp? = nil, _ body: @escaping @Sendable (Snapshot) throws -> Value
    ) async throws(StoreError) -> Value {
        let (context, now) = (context, now ?? clock.now())
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            reader.async { connection in
                do {
                    let value = try connection.inTransaction("BEGIN DEFERRED") {
                        try body(Snapshot(connection, context, at: now))
                    }
                    continuation.resume(returning: .success(value))
                } catch {
                    continuation.resume(returning: .failure(StoreError(error)))
                }
            }
        }
        return try result.get()
    }

    /// A look-up by key, concurrent with any write, on the calling thread: for what every sign-in waits for.
    func lookUp<Value>(at now: Timestamp, _ body: (Snapshot) throws -> Value) throws(StoreError) -> Value {
        try readers.read { connection in try body(Snapshot(connection, context, at: now)) }
    }
}

extension Database: SessionDirectory {
    package func makeReader() throws(StoreError) -> any SessionReader {
        do {
            return SessionLookUpReader(connection: try connections.openLoopReader(), context: context)
        } catch {
            throw StoreError(error)
        }
    }
}
