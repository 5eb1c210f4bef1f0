import CSQLite
import RelyingParty

/// A failure that SQLite reports.
struct SQLiteError: Error, Hashable {
    /// SQLite's extended result code.
    let extendedCode: Int32
    /// SQLite's own text. It may name tables and columns, but contains no value.
    let message: String

    init(extendedCode: Int32, message: String) {
        self.extendedCode = extendedCode
        self.message = message
    }

    /// The error of `database` for the call that just returned `code`.
    init(code: Int32, of database: OpaquePointer?) {
        // Safe: the text belongs to SQLite until the next call on this connection, and is copied here. Without a
        // connection, it is that of out of memory.
        let message = unsafe sqlite3_errmsg(database).map { unsafe String(cString: $0) }
        self.init(extendedCode: unsafe max(code, sqlite3_extended_errcode(database)), message: message ?? "")
    }

    /// The connection had been closed.
    static let closed = SQLiteError(extendedCode: SQLITE_MISUSE, message: "the connection is closed")

    /// SQLite's primary result code.
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

extension StoreError {
    /// What a failed statement means to the domain.
    init(_ error: any Error) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? SQLiteError else {
            self = .inconsistent("\(type(of: error))")
            return
        }
        guard error != .closed else {
            self = .unavailable("the database is closed")
            return
        }
        switch error.code {
        case SQLITE_BUSY, SQLITE_LOCKED: self = .busy(error.detail)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt(error.detail)
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_INTERRUPT,
            SQLITE_ABORT, SQLITE_PROTOCOL, SQLITE_AUTH:
            self = .unavailable(error.detail)
        default: self = .inconsistent(error.detail)
        }
    }
}

extension StorageOpenError {
    init(_ error: any Error, path: String) {
        if let error = error as? StorageOpenError {
            self = error
            return
        }
        guard let error = error as? SQLiteError else {
            self = .failed(path, detail: "\(error)")
            return
        }
        switch error.code {
        case SQLITE_BUSY, SQLITE_LOCKED: self = .locked(path)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt(path, detail: error.detail)
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: self = .unreadable(path, detail: error.detail)
        default: self = .failed(path, detail: error.detail)
        }
    }
}
