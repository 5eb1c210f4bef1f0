/// Copies of a whole database: what a backup is made of, and what a restore puts in place.
package enum DatabaseCopy {
    /// How far it is.
    package struct Progress: Hashable, Sendable {
        package var pages: Int
        package var total: Int
    }

    /// Pages of one step: 2 MiB of those of 4 KiB. Between two steps the copy can be ended.
    private static let pagesPerStep: Int32 = 512

    /// Copies the database at `source`, as it is at one moment, into the empty file at `destination`, on the calling
    /// thread. Nobody who writes to the source waits for it: the copy reads one snapshot of it, and what is written
    /// meanwhile is not in it. The copy is one file, without a log beside it, and on the disk when this returns; its name
    /// need not be.
    /// - Parameters:
    ///   - destination: empty, with the mode it is to have.
    ///   - progress: told after each step; what it throws ends the copy and is thrown.
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
            // A copy that is cut is thrown away whole: its old pages, of which there are none, need no journal.
            try to.execute(sql: "PRAGMA journal_mode = MEMORY")
            // One snapshot for all steps. Otherwise the first write that comes between two begins the copy anew, and a busy
            // server might never let it end.
            try from.inTransaction("BEGIN DEFERRED") {
                _ = try from.firstRow("SELECT count(*) FROM sqlite_schema")
                try from.copy(to: to, pagesPerStep: pagesPerStep) { pages, total in
                    try progress(Progress(pages: pages, total: total))
                }
            }
        } catch let error as SQLiteError {
            throw StorageOpenError(error, path: error.isOfDestination ? destination : source)
        }
    }

    /// Moves the log of the database at `path` into it, so that the one file holds all and nothing is beside it.
    /// - Throws: `StorageOpenError.locked` when another process has it open.
    package static func settle(_ path: String) throws(StorageOpenError) {
        do {
            let connection = try open(path)
            defer { connection.close() }
            guard try connection.pragma("journal_mode = DELETE") == "delete" else {
                throw StorageOpenError.locked(path)
            }
        } catch {
            throw StorageOpenError(error, path: path)
        }
    }

    static func open(_ path: String, isReadOnly: Bool = false) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, isReadOnly: isReadOnly, busyTimeout: 5_000)
        if !isReadOnly { try connection.execute(sql: "PRAGMA synchronous = FULL") }
        return connection
    }
}
