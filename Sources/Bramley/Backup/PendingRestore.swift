internal import Sockets

/// A restore over a database whose log is damaged and cannot be moved into it: the old log must be removed before the
/// new file is put in place, and no step can do both.
///
/// The copy first gets the name `bramley.db.restored`, and from then on the restore counts. The next process that opens
/// the database finishes what a crash has cut off; every step can be repeated.
enum PendingRestore {
    /// Where the copy waits.
    static func path(of database: String) -> String { database + ".restored" }

    static func isWaiting(for database: String) -> Bool { FileStamp(of: path(of: database)) != nil }

    /// Puts the copy in place. The caller must hold the database's lock.
    static func finish(_ database: String) throws(SystemError) {
        // SQLite would treat a remaining log as the new database's own.
        for file in StagedCopy.companions(of: database) { try Files.remove(file) }
        try Files.synchronizeDirectory(of: database)
        try Files.land(path(of: database), at: database, replacing: true)
    }
}
