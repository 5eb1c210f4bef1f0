/// Opens the connections of one database file, each with its pragmas.
struct Connections: Sendable {
    let path: String
    /// Milliseconds.
    let busyTimeout: Int
    let use: DatabaseOptions.Use

    /// The page cache of one connection, in KiB. A command reads few of them again and keeps to SQLite's own
    /// measure: beside a server on a small machine it should be small.
    private var cacheSize: Int { use != .command ? 8192 : 2000 }

    /// The one connection that writes. WAL, `synchronous=FULL`, both read back.
    func openWriter() throws -> SQLiteQueue {
        let connection = try SQLiteConnection(path: path, busyTimeout: busyTimeout)
        // Deleted names and tokens are overwritten, not only unlinked.
        try connection.execute(sql: "PRAGMA secure_delete = ON")
        return SQLiteQueue(connection, label: "writer")
    }

    /// Turns on the write-ahead log and full synchronisation, without which acknowledged commits are lost when power
    /// fails. Apart from opening: the file must be known to be ours first.
    func makeDurable(_ writer: SQLiteQueue) throws {
        try writer.sync { connection in
            let mode = try connection.first("PRAGMA journal_mode = WAL", as: String.self)
            guard mode == "wal" else {
                throw StorageOpenError.failed(path, detail: "journal_mode reads back \(mode ?? "nothing")")
            }
            try connection.execute(sql: "PRAGMA synchronous = FULL")
            try connection.execute(sql: "PRAGMA journal_size_limit = 67108864")
            // A log of 16 MiB is moved into the database at once: a page that many writes changed moves once. The cache
            // keeps the ends of the indexes that every write goes to.
            try connection.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            try connection.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
            let synchronous = try connection.first("PRAGMA synchronous") ?? -1
            guard synchronous == 2 else { throw StorageOpenError.notDurable(path, synchronous: synchronous) }
        }
    }

    /// Once the schema is current every transaction is small, and its pages wait in memory for their commit. SQLite 3.40
    /// loses a commit, when it recovers the log, whose pages had gone to the log before and a part of which was taken back
    /// then (`ROLLBACK TO`), as happens to a batch in which one write fails.
    func keepUncommittedInMemory(_ writer: SQLiteQueue) throws {
        try writer.sync { connection in try connection.run("PRAGMA cache_spill = OFF") }
    }

    /// Milliseconds. A reader waits only for a program that locks the whole file, and a loop has other requests to serve.
    private static let loopBusyTimeout = 50

    /// A connection that only reads, on the thread of an event loop.
    func openLoopReader() throws -> SQLiteConnection {
        let connection = try openReader()
        try connection.execute(sql: "PRAGMA busy_timeout = \(Self.loopBusyTimeout)")
        return connection
    }

    /// A connection that only reads, for one purpose.
    func openReader() throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, isReadOnly: true, busyTimeout: busyTimeout)
        // The inner pages of the indexes of a million sessions; as much is used as was read.
        try connection.execute(sql: "PRAGMA cache_size = -\(cacheSize)")
        return connection
    }
}
