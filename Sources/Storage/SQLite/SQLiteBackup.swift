import CSQLite

extension SQLiteConnection {
    /// Copies this database over that of `destination` through SQLite's backup interface. If it throws, the destination
    /// holds no database.
    /// - Parameters:
    ///   - pagesPerStep: pages copied between two calls of `progress`.
    ///   - progress: called after each step with the pages copied and the total; an error it throws ends the copy and
    ///     is rethrown.
    func copy(
        to destination: SQLiteConnection, pagesPerStep: Int32, progress: (_ pages: Int, _ total: Int) throws -> Void
    ) throws {
        let from = unsafe try opened()
        let to = unsafe try destination.opened()
        // Safe: both connections are open until this returns, and the copy is finished, once, before that.
        guard let backup = unsafe sqlite3_backup_init(to, "main", from, "main") else {
            throw unsafe SQLiteError(code: SQLITE_ERROR, of: to)
        }
        var step = SQLITE_OK
        do {
            while step == SQLITE_OK {
                step = unsafe sqlite3_backup_step(backup, pagesPerStep)
                guard step == SQLITE_OK || step == SQLITE_DONE else { break }
                let total = Int(unsafe sqlite3_backup_pagecount(backup))
                try progress(total - Int(unsafe sqlite3_backup_remaining(backup)), total)
            }
        } catch {
            _ = unsafe sqlite3_backup_finish(backup)
            throw error
        }
        // Only now does the destination have the error's text.
        let end = unsafe sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE, end == SQLITE_OK else {
            throw unsafe SQLiteError(code: end == SQLITE_OK ? step : end, of: to)
        }
    }
}
