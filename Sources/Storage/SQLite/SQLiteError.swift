import CSQLite

struct SQLiteError: Error, Hashable {
    let extendedCode: Int32
    /// SQLite's message. It may name tables and columns, but contains no value.
    let message: String

    static let closed = SQLiteError(extendedCode: SQLITE_MISUSE, message: "the connection is closed")

    var code: Int32 { extendedCode & 0xff }

    /// Whether a copy failed on the side it was written to, not the side it was read from.
    var isOfDestination: Bool {
        // SQLITE_IOERR_WRITE, _FSYNC and _TRUNCATE are macros that Swift does not import.
        code == SQLITE_FULL || [3, 4, 6].contains { extendedCode == SQLITE_IOERR | $0 << 8 }
    }

    fileprivate var detail: String {
        // Safe: a constant of SQLite.
        let name = unsafe sqlite3_errstr(extendedCode).map { unsafe String(cString: $0) } ?? ""
        return message == name ? "\(extendedCode) (\(name))" : "\(extendedCode) (\(name)) \(message)"
    }
}

extension SQLiteError {
    /// The error of `database` for the call that just returned `code`.
    init(code: Int32, of database: OpaquePointer?) {
        // Safe: the text belongs to SQLite until the next call on this connection, and is copied here. Without a
        // connection, it is that of out of memory.
        let message = unsafe sqlite3_errmsg(database).map { unsafe String(cString: $0) }
        self.init(extendedCode: unsafe max(code, sqlite3_extended_errcode(database)), message: message ?? "")
    }
}

extension SQLiteError: EngineError {
    var storeError: StoreError {
        guard self != .closed else { return .unavailable("the database is closed") }
        switch code {
        case SQLITE_BUSY, SQLITE_LOCKED: return .busy(detail)
        case SQLITE_CORRUPT, SQLITE_NOTADB: return .corrupt(detail)
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_INTERRUPT,
            SQLITE_ABORT, SQLITE_PROTOCOL, SQLITE_AUTH:
            return .unavailable(detail)
        default: return .inconsistent(detail)
        }
    }

    func openError(_ location: String) -> StorageOpenError {
        switch code {
        case SQLITE_BUSY, SQLITE_LOCKED: .locked(location)
        case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(location, detail: detail)
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: .unreadable(location, detail: detail)
        default: .failed(location, detail: detail)
        }
    }
}
