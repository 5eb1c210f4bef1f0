/// Copies a whole database, for backups and restores.
package enum DatabaseCopy {
    package struct Progress: Hashable, Sendable {
        package var pages: Int
        package var total: Int
    }

    /// Pages per step: 2 MiB with pages of 4 KiB. The copy can be ended between two steps.
    private static let pagesPerStep: Int32 = 512

    /// Copies a snapshot of the database at `source` into the empty file at `destination`, on the calling thread. No
    /// writer of the source waits for it; what is written in the meantime is not copied. The copy is one file without a
    /// log, and synced to disk when this returns; its directory entry may not be.
    /// - Parameter progress: called after each step; an error it throws ends the copy and is rethrown.
    package static func write(
        _ source: String, to destination: String, progress: (Progress) throws -> Void = { _ in }
    ) throws {
        try copy(source, to: destination, progress)
        try settle(destination)
    }

    private static func copy(_ source: String, to destination: String, _ progress: (Progress) throws -> Void) throws {
        do {
            let from = try open(source, isReadOnly: true)
            defer { from.close() }
            let to = try open(destination)
            defer { to.close() }
            // An incomplete copy is discarded as a whole: it needs no journal.
            try to.execute(sql: "PRAGMA journal_mode = MEMORY")
            // One snapshot for all steps: a write between two steps restarts the copy, which might never end.
            try from.inTransaction(.read) {
                _ = try from.firstRow("SELECT count(*) FROM sqlite_schema")
                try from.copy(to: to, pagesPerStep: pagesPerStep) { pages, total in
                    try progress(Progress(pages: pages, total: total))
                }
            }
        } catch let error as SQLiteError {
            throw StorageOpenError(error, location: error.isOfDestination ? destination : source)
        }
    }

    /// Moves the log of the database at `path` into it, leaving a single file.
    /// - Throws: `StorageOpenError.locked` when another process has it open.
    package static func settle(_ path: String) throws(StorageOpenError) {
        do {
            let connection = try open(path)
            defer { connection.close() }
            guard try connection.value("PRAGMA journal_mode = DELETE") == .text("delete") else {
                throw StorageOpenError.locked(path)
            }
        } catch {
            throw StorageOpenError(error, location: path)
        }
    }

    static func open(_ path: String, isReadOnly: Bool = false) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, isReadOnly: isReadOnly, busyTimeout: 5_000)
        if !isReadOnly { try connection.execute(sql: "PRAGMA synchronous = FULL") }
        return connection
    }
}
