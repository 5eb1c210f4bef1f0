internal import Sockets
internal import Storage

/// Keeps a restore apart from commands, which would write into the old file. Commands share it.
final class RestoreLock: Sendable {
    private let lock: FileLock

    private init(_ lock: consuming FileLock) { self.lock = lock }

    /// - Returns: nil where no lock can be made, as in a directory that is not writable: no restore can work there.
    static func shared(_ directory: String) throws(CommandFailure) -> RestoreLock? {
        if PendingRestore.isWaiting(for: Store.path(in: directory)) {
            try PendingRestore.finish(directory, exclusive(directory))
            CommandOutput.remark("Completed an interrupted restore.")
        }
        do {
            return RestoreLock(try FileLock(path: path(in: directory), isShared: true))
        } catch {
            guard !error.isOfLink else { throw FileLock.refusal(of: error, path(in: directory)) }
            guard error.isHeldByAnother else { return nil }
            throw CommandFailure("bramley restore is running in \(directory). Run this again afterwards.")
        }
    }

    static func exclusive(_ directory: String) throws(CommandFailure) -> RestoreLock {
        RestoreLock(
            try FileLock.taking(
                path(in: directory),
                orSay: "Another bramley command is using the database in \(directory). Run this again afterwards."))
    }

    static func ofServer(_ directory: String) throws(CommandFailure) -> RestoreLock {
        RestoreLock(
            try FileLock.taking(
                directory + "/serve.lock",
                orSay: "bramley serve is running on the data directory \(directory). Stop it first."))
    }

    private static func path(in directory: String) -> String { directory + "/restore.lock" }
}

extension FileLock {
    static func taking(_ path: String, orSay held: @autoclosure () -> String) throws(CommandFailure) -> FileLock {
        do {
            return try FileLock(path: path)
        } catch {
            throw error.isHeldByAnother ? CommandFailure(held()) : refusal(of: error, path)
        }
    }

    fileprivate static func refusal(of error: SystemError, _ path: String) -> CommandFailure {
        CommandFailure(
            error.isOfLink
                ? "\(path) is a symbolic link, which is not followed. Remove it, and find out who put it there."
                : "\(path) cannot be locked: \(error).")
    }
}

/// A restore over a database with a damaged log, which must be removed before the new file is put in place. Until then
/// the copy is `bramley.db.restored`: the next process that opens the database finishes what a crash has cut off.
enum PendingRestore {
    static func path(of database: String) -> String { database + ".restored" }

    static func isWaiting(for database: String) -> Bool { FileStamp(of: path(of: database)) != nil }

    /// - Parameter lock: held until it is done, by the process with exclusive access to the database.
    static func finish(_ directory: String, _ lock: RestoreLock) throws(CommandFailure) {
        let database = Store.path(in: directory)
        guard isWaiting(for: database) else { return }
        do {
            // SQLite would treat a remaining log as the new database's own.
            for file in StagedCopy.companions(of: database) { try Files.remove(file) }
            try Files.synchronizeDirectory(of: database)
            try Files.publish(path(of: database), at: database, replacing: true)
        } catch {
            throw CommandFailure(
                """
                The restored database cannot be put in place: \(error). It is kept as \(path(of: database)). Fix the \
                cause; the next command or start will put it in place.
                """)
        }
    }
}
