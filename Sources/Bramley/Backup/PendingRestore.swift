internal import Sockets

/// A restore in the place of a database with a log beside it that could not be moved into it, since it is damaged: the
/// old log must go before the new file comes, and no step can do both.
///
/// The copy first gets the name `bramley.db.restored`, and from then on the restore counts. Whoever opens the database
/// next finishes what a crash has cut off; every step can be done again.
enum PendingRestore {
    /// Where the copy waits.
    static func path(of database: String) -> String { database + ".restored" }

    static func isWaiting(for database: String) -> Bool { FileStamp(of: path(of: database)) != nil }

    /// Puts the copy in place. The caller must hold the database's lock.
    static func finish(_ database: String) throws(SystemError) {
        // SQLite would take a log that is left for the new database's own.
        for file in StagedCopy.companions(of: database) { try Files.remove(file) }
        try Files.synchronizeDirectory(of: database)
        try Files.land(path(of: database), at: database, replacing: true)
    }
}
