import CSQLite

extension SQLiteConnection {
    /// Copies this database over that of `destination` by SQLite's backup interface. When it throws, the destination holds
    /// no database.
    /// - Parameters:
    ///   - pagesPerStep: how many pages are copied before `progress` is told.
    ///   - progress: told after each step how many pages of how many are copied; what it throws ends the copy and is
    ///     thrown.
    func copy(
        to destination: SQLiteConnection, pagesPerStep: Int32, progress: (_ pages: Int, _ total: Int) throws -> Void
    ) throws {
        let from = unsafe try opened()
        let to = unsafe try destination.opened()
        // Safe: both connections are open until this returns, and the copy is finished, once, before that.
        guard let backup = unsafe sqlite3_backup_init(to, "main", from, "main") else {
            throw unsafe SQLiteError(code: SQLITE_ERROR, of: to)
        }
        do {
            var isDone = false
            while !isDone {
                let code = unsafe sqlite3_backup_step(backup, pagesPerStep)
                guard code == SQLITE_OK || code == SQLITE_DONE else { throw unsafe SQLiteError(code: code, of: to) }
                isDone = code == SQLITE_DONE
                let total = Int(unsafe sqlite3_backup_pagecount(backup))
                try progress(total - Int(unsafe sqlite3_backup_remaining(backup)), total)
            }
        } catch {
            _ = unsafe sqlite3_backup_finish(backup)
            throw error
        }
        let code = unsafe sqlite3_backup_finish(backup)
        guard code == SQLITE_OK else { throw unsafe SQLiteError(code: code, of: to) }
    }
}
