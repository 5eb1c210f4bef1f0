import Coding
import Crypto
import Synchronization

/// One SQLite file in WAL mode, with one writer and several readers; other processes of the host may open it.
final class SQLiteEngine: Engine {
    let location: String
    let writer: ConnectionQueue
    private let pages: [ConnectionQueue]
    private let connections: Connections
    private let readers: ReadConnections
    private let foreignChanges: ForeignChanges
    private let counter = Mutex<ConnectionQueue?>(nil)
    /// Whether a person was erased since the log was last emptied.
    private let erasures = Atomic(false)

    /// Opens or creates the file: checks modes, reads durability back, updates the schema, compares stamps.
    init(
        options: StoreOptions, schema: StoreSchema, keyring: SealingKeyring, trust: CacheTrust, runtime: Runtime
    ) throws(StorageOpenError) {
        let files = DatabaseFiles(directory: options.directory)
        try files.prepare()
        let location = files.databasePath
        let connections = Connections(path: location, busyTimeout: options.busyTimeout, use: options.use)
        let migrations = Migrations(
            location: location, steps: schema.steps, origin: options.origin, keyring: keyring,
            admitsMoved: options.admitsMoved)
        do {
            writer = try connections.openWriter()
            try writer.sync { connection in
                try migrations.inspect(connection)
                if options.use != .server { try migrations.requireCurrent(connection) }
            }
            try connections.makeDurable(writer)
            if options.use == .server {
                try writer.sync { connection in try migrations.run(connection, for: schema, at: runtime.clock.now()) }
            }
            try connections.keepUncommittedInMemory(writer)
            pages = try (0..<(options.use == .server ? 2 : 1)).map { _ in
                ConnectionQueue(try connections.openReader(), label: "reader", patience: options.readPatience)
            }
            foreignChanges = try ForeignChanges(
                connection: ConnectionQueue(try connections.openLoopReader(), label: "foreign changes"),
                schema: schema, trust: trust, logger: runtime.logger)
        } catch {
            throw StorageOpenError(error, location: location)
        }
        self.location = location
        self.connections = connections
        readers = ReadConnections(connections)
    }

    var reader: ConnectionQueue { pages.idlest ?? writer }

    func counting() throws -> ConnectionQueue {
        try counter.withLock { counter in
            if let counter { return counter }
            let opened = ConnectionQueue(try connections.openReader(), label: "counts")
            counter = opened
            return opened
        }
    }

    /// On the calling thread: it takes microseconds.
    func lookUp(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) {
        try readers.read(body)
    }

    func loopConnection() throws -> (any EngineConnection)? { try connections.openLoopReader() }

    func watch(at now: Timestamp) {
        if foreignChanges.check(at: now) { erasures.store(true, ordering: .releasing) }
    }

    func settings() throws -> [String: String] {
        try writer.sync { connection in
            var values: [String: String] = [:]
            for name in ["synchronous", "journal_mode", "secure_delete", "foreign_keys", "cache_spill"] {
                let value = try connection.value("PRAGMA \(name)")
                values[name] = value.text ?? value.integer.map { String($0) }
            }
            return values
        }
    }

    // MARK: The log

    /// Milliseconds. A server's own read takes less than one.
    private static let longestWaitForReaders = 50

    /// Moves the log into the database and empties it when a person was erased: until then the log, and so the file
    /// system, holds pages as they were before. While a reader such as a backup blocks it, this is tried again at the
    /// next call; writers wait during the attempt, so the wait is shorter than for another writer.
    func eraseRemains(isCertain: Bool) async throws(StoreError) {
        let isKnown = erasures.exchange(false, ordering: .acquiringAndReleasing)
        guard isCertain || isKnown else { return }
        let busyTimeout = connections.busyTimeout
        do {
            let isEmpty = try await writer.perform { try Self.emptyLog($0, busyTimeout: busyTimeout) }
            if !isEmpty { erasures.store(true, ordering: .releasing) }
        } catch {
            erasures.store(true, ordering: .releasing)
            throw error
        }
    }

    /// - Returns: false when a reader blocks it.
    private static func emptyLog(_ connection: any EngineConnection, busyTimeout: Int) throws -> Bool {
        let sqlite = connection as? SQLiteConnection
        sqlite?.wait(milliseconds: longestWaitForReaders)
        defer { sqlite?.wait(milliseconds: busyTimeout) }
        return try connection.value("PRAGMA wal_checkpoint(TRUNCATE)") == .integer(0)
    }

    /// How often a command that erased a person tries to empty the log, and the pause in milliseconds: five seconds in
    /// all, during which writers of other processes wait for `longestWaitForReaders` at a time.
    private static let closingTurns = (most: 50, pause: Int32(50))

    /// Moves the log into the database and closes. When a reader blocks it, the log stays.
    func close() {
        let isCommand = connections.use == .command
        // A command leaves the log to the server, unless it erased a person and there may be no server.
        if !isCommand || foreignChanges.check(at: Timestamp(milliseconds: 0)) {
            for turn in 1...(isCommand ? Self.closingTurns.most : 1) {
                if turn > 1 { SQLiteConnection.pause(milliseconds: Self.closingTurns.pause) }
                let isEmpty = try? writer.sync { connection in
                    try Self.emptyLog(connection, busyTimeout: connections.busyTimeout)
                }
                if isEmpty != false { break }
            }
        }
        foreignChanges.close()
        readers.close()
        counter.withLock { $0 }?.close()
        for reader in pages { reader.close() }
        writer.close()
    }
}
