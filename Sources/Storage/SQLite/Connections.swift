import Synchronization

/// Opens the connections of one database file, each with its pragmas.
struct Connections: Sendable {
    let path: String
    /// Milliseconds.
    let busyTimeout: Int
    let use: StoreOptions.Use

    /// The page cache of one connection, in KiB. A command rereads few pages and keeps SQLite's default, to stay small
    /// next to a server on a small machine.
    private var cacheSize: Int { use != .command ? 8192 : 2000 }

    /// The only connection that writes. WAL and `synchronous=FULL`, both read back.
    func openWriter() throws -> ConnectionQueue {
        let connection = try SQLiteConnection(path: path, busyTimeout: busyTimeout)
        connection.moveLogInPieces()
        // Deleted names and tokens are overwritten, not only unlinked.
        try connection.execute(sql: "PRAGMA secure_delete = ON")
        return ConnectionQueue(connection, label: "writer")
    }

    /// Enables the write-ahead log and full synchronisation, without which power loss loses acknowledged commits.
    /// Separate from opening, because the file must first be identified as ours.
    func makeDurable(_ writer: ConnectionQueue) throws {
        try writer.sync { connection in
            let mode = try connection.value("PRAGMA journal_mode = WAL").text
            guard mode == "wal" else {
                throw StorageOpenError.failed(path, detail: "journal_mode reads back \(mode ?? "nothing")")
            }
            try connection.execute(sql: "PRAGMA synchronous = FULL")
            try connection.execute(sql: "PRAGMA journal_size_limit = 67108864")
            // The cache holds the ends of the indexes that every write touches.
            try connection.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
            let synchronous = try connection.value("PRAGMA synchronous").integer ?? -1
            guard synchronous == 2 else { throw StorageOpenError.notDurable(path, synchronous: Int(synchronous)) }
        }
    }

    /// Once the schema is current every transaction is small, and its pages stay in memory until the commit. When
    /// SQLite 3.40 recovers the log, it loses a commit whose pages had been spilled to the log before part of it was
    /// rolled back (`ROLLBACK TO`), as happens to a batch in which one write fails.
    func keepUncommittedInMemory(_ writer: ConnectionQueue) throws {
        try writer.sync { connection in try connection.execute(sql: "PRAGMA cache_spill = OFF") }
    }

    /// Milliseconds. A reader waits only for a program that locks the whole file; a loop has other requests.
    private static let loopBusyTimeout = 50

    func openLoopReader() throws -> SQLiteConnection {
        let connection = try openReader()
        connection.wait(milliseconds: Self.loopBusyTimeout)
        return connection
    }

    func openReader() throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, isReadOnly: true, busyTimeout: busyTimeout)
        // Room for the inner pages of the indexes of a million sessions; memory is used only for pages that were read.
        try connection.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
        return connection
    }
}

/// Read-only connections for look-ups that take microseconds: opened on the calling thread, without a detour through
/// another queue. As many as threads have ever used at once.
final class ReadConnections: Sendable {
    private struct State {
        var idle: [SQLiteConnection] = []
        var isClosed = false
    }

    private let connections: Connections
    private let state = Mutex(State())

    init(_ connections: Connections) { self.connections = connections }

    /// Runs `body` on this thread. For look-ups by key, one statement each, without a transaction.
    func read(_ body: (any EngineConnection) throws -> Void) throws(StoreError) {
        do {
            let reader = try acquire()
            defer { release(reader) }
            try body(reader)
        } catch {
            throw StoreError(error)
        }
    }

    private func acquire() throws -> SQLiteConnection {
        let idle = try state.withLock { state in
            guard !state.isClosed else { throw StoreError.unavailable("the database is closed") }
            return state.idle.popLast()
        }
        return try idle ?? connections.openReader()
    }

    private func release(_ reader: SQLiteConnection) {
        let mustClose = state.withLock { state in
            if !state.isClosed { state.idle.append(reader) }
            return state.isClosed
        }
        if mustClose { reader.close() }
    }

    /// Closes unused connections; the others close when their look-up has ended.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for reader in idle { reader.close() }
    }
}
