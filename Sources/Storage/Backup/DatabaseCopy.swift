import GRDB

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
            defer { try? from.close() }
            let to = try open(destination)
            defer { try? to.close() }
            try from.writeWithoutTransaction { from in
                // One snapshot for all steps. Otherwise the first write that comes between two begins the copy anew, and
                // a busy server might never let it end.
                try from.execute(sql: "BEGIN DEFERRED")
                defer { try? from.execute(sql: "ROLLBACK") }
                _ = try Int.fetchOne(from, sql: "SELECT count(*) FROM sqlite_schema")
                try to.writeWithoutTransaction { to in
                    // A copy that is cut is thrown away whole: its old pages, of which there are none, need no journal.
                    try to.execute(sql: "PRAGMA journal_mode = MEMORY")
                    try withoutActuallyEscaping(progress) { progress in
                        try from.backup(to: to, pagesPerStep: pagesPerStep) { step in
                            try progress(
                                Progress(
                                    pages: step.totalPageCount - step.remainingPageCount, total: step.totalPageCount))
                        }
                    }
                }
            }
        } catch let error as DatabaseError {
            throw StorageOpenError(error, path: error.isOfDestination ? destination : source)
        }
    }

    /// Moves the log of the database at `path` into it, so that the one file holds all and nothing is beside it.
    /// - Throws: `StorageOpenError.locked` when another process has it open.
    package static func settle(_ path: String) throws(StorageOpenError) {
        do {
            let queue = try open(path)
            defer { try? queue.close() }
            try queue.writeWithoutTransaction { connection in
                let mode = try String.fetchOne(connection, sql: "PRAGMA journal_mode = DELETE")
                guard mode == "delete" else { throw StorageOpenError.locked(path) }
            }
        } catch {
            throw StorageOpenError(error, path: path)
        }
    }

    static func open(_ path: String, isReadOnly: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(5)
        // The snapshot that is read for as long as the copy takes.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { connection in
            if !isReadOnly { try connection.execute(sql: "PRAGMA synchronous = FULL") }
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}

extension DatabaseError {
    /// Whether a copy failed where it was written to, not where it was read.
    fileprivate var isOfDestination: Bool {
        switch resultCode {
        case .SQLITE_FULL: true
        case .SQLITE_IOERR:
            [.SQLITE_IOERR_WRITE, .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_TRUNCATE].contains(extendedResultCode)
        default: false
        }
    }
}
