import GRDB

/// Opens the connections of one database file, each with its pragmas.
struct Connections: Sendable {
    let path: String
    /// Milliseconds.
    let busyTimeout: Int

    /// The one connection that writes. WAL, `synchronous=FULL`, both read back.
    func makeWriter() throws -> DatabaseQueue {
        var configuration = self.configuration(label: "writer")
        configuration.prepareDatabase { connection in
            // Deleted names and tokens are overwritten, not only unlinked.
            try connection.execute(sql: "PRAGMA secure_delete = ON")
        }
        // A transaction that cannot be ended after an I/O error must not stop the process; the next batch rolls back.
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Turns on the write-ahead log and full synchronisation. After opening, because set-up code before it chooses
    /// NORMAL, which loses acknowledged commits when power fails.
    func makeDurable(_ writer: DatabaseQueue) throws {
        try writer.writeWithoutTransaction { connection in
            let mode = try String.fetchOne(connection, sql: "PRAGMA journal_mode = WAL")
            guard mode == "wal" else {
                throw StorageOpenError.failed(path, detail: "journal_mode reads back \(mode ?? "nothing")")
            }
            try connection.execute(sql: "PRAGMA synchronous = FULL")
            try connection.execute(sql: "PRAGMA journal_size_limit = 67108864")
            let synchronous = try Int.fetchOne(connection, sql: "PRAGMA synchronous") ?? -1
            guard synchronous == 2 else { throw StorageOpenError.notDurable(path, synchronous: synchronous) }
        }
    }

    /// A connection that only reads, for one loop or one purpose.
    func makeReader(label: String) throws -> DatabaseQueue {
        var configuration = self.configuration(label: label)
        configuration.readonly = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private func configuration(label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.busyMode = .timeout(Double(busyTimeout) / 1000)
        configuration.foreignKeysEnabled = true
        return configuration
    }
}
