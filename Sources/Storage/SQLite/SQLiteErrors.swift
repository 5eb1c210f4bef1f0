import GRDB
import RelyingParty

extension StoreError {
    /// What a failed statement means to the domain. Messages name the statement's failure, never its values: SQLite's
    /// own text holds none, and GRDB's arguments are left out.
    init(_ error: any Error) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self = .inconsistent("\(type(of: error))")
            return
        }
        let detail = "\(error.extendedResultCode) \(error.message ?? "")"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy(detail)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .corrupt(detail)
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_NOMEM, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM,
            .SQLITE_INTERRUPT, .SQLITE_ABORT, .SQLITE_PROTOCOL, .SQLITE_AUTH:
            self = .unavailable(detail)
        default: self = .inconsistent(detail)
        }
    }
}

extension StorageOpenError {
    init(_ error: any Error, path: String) {
        if let error = error as? StorageOpenError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self = .failed(path, detail: "\(error)")
            return
        }
        let detail = "\(error.extendedResultCode) \(error.message ?? "")"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .locked(path)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .corrupt(path, detail: detail)
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH: self = .unreadable(path, detail: detail)
        default: self = .failed(path, detail: detail)
        }
    }
}
