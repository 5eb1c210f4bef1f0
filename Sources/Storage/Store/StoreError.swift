package enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Disk full or I/O error: nothing was written.
    case unavailable(String)
    /// Another process held the lock too long.
    case busy(String)
    /// The database is damaged, or its schema is newer.
    case corrupt(String)
    /// A constraint was violated: a bug in Bramley.
    case inconsistent(String)

    package static let late = StoreError.unavailable("no answer in time")

    package var description: String { text }

    /// The case's name and the store's text, for the operator's log.
    package var text: String {
        switch self {
        case .unavailable(let detail): "unavailable: \(detail)"
        case .busy(let detail): "busy: \(detail)"
        case .corrupt(let detail): "corrupt: \(detail)"
        case .inconsistent(let detail): "inconsistent: \(detail)"
        }
    }
}

/// Why the database was not opened: one clear line each, for the operator's terminal. Nothing was changed.
package enum StorageOpenError: Error, Hashable, Sendable, CustomStringConvertible {
    case directoryMissing(String)
    case notADirectory(String)
    case directoryMode(String, mode: Int)
    case fileMode(String, mode: Int)
    /// The operating system does not let us read or write it, or it is not a regular file.
    case unreadable(String, detail: String)
    case locked(String)
    case corrupt(String, detail: String)
    case foreign(String)
    /// Written by a newer Bramley; `migration` is its newest step, `known` this version's.
    case newerSchema(String, migration: String, known: String)
    case olderSchema(String)
    /// Stamped real and opened for the simulator, or the reverse.
    case wrongOrigin(String, found: DatabaseOrigin, expected: DatabaseOrigin)
    case wrongSealingKey(String)
    /// `PRAGMA synchronous` does not read back FULL, so acknowledged writes could be lost.
    case notDurable(String, synchronous: Int)
    case moved(String, to: String)
    /// `bramley move` was interrupted after the copy, before or just after the old database was marked.
    case unfinishedMove(String)
    /// PostgreSQL does not answer, does not let us in, or cannot hold our data.
    case unusable(String, detail: String)
    /// Other roles may create in PostgreSQL's schema of the tables, or have.
    case openSchema(String, schema: String, to: [String])
    /// libpq is not installed, or too old; `detail` is the loader's text.
    case noLibrary(String)
    case failed(String, detail: String)

    package var description: String {
        switch self {
        case .directoryMissing(let path):
            "The data directory \(path) does not exist and neither does its parent: create it, or correct"
                + " storage.directory."
        case .notADirectory(let path): "\(path) is not a directory: correct storage.directory."
        case .directoryMode(let path, let mode):
            "The data directory \(path) can be written by others (mode \(octal(mode))): run chmod 700 \(path)."
        case .fileMode(let path, let mode):
            "The database \(path) is open to others (mode \(octal(mode))): run chmod 600 \(path)."
        case .unreadable(let path, let detail): "The database \(path) cannot be read and written: \(detail)."
        case .locked(let path): "The database \(path) is locked by another process."
        case .corrupt(let path, let detail):
            "The database \(path) is damaged or not an SQLite database (\(detail)): restore a backup."
        case .foreign(let path): "The file \(path) is another program's database: correct storage.directory."
        case .newerSchema(let path, let migration, let known):
            "The database \(path) was written by a newer Bramley: its schema is at \"\(migration)\", this version knows"
                + " it up to \"\(known)\". Use that version, or restore a backup from before."
        case .olderSchema(let path):
            """
            The database \(path) was written by an older Bramley: stop any older server, and start bramley serve of \
            this version once.
            """
        case .wrongOrigin(let path, let found, let expected):
            "The database \(path) holds \(found.rawValue) sign-ins and the configured Apple is"
                + " \(expected.rawValue): name another database in the configuration."
        case .wrongSealingKey(let path):
            "The sealing key does not belong to the database \(path): restore its key file, or list the old key under"
                + " secrets.previousSealingKeyFiles."
        case .notDurable(let path, let synchronous):
            "The database \(path) would not be durable (synchronous is \(synchronous), not 2): refusing to start."
        case .moved(let location, let target):
            "The database \(location) was moved to \(target) and is no longer used: name that one in the configuration."
        case .unfinishedMove(let location):
            """
            A move into the database \(location) was not completed: run bramley move again with the old configuration \
            and the same target, which completes it.
            """
        case .unusable(let location, let detail): "The database \(location) cannot be used: \(detail)."
        case .openSchema(let location, let schema, let roles):
            """
            The database \(location) is refused: \(roles.joined(separator: ", ")) may create functions in its schema \
            \(schema), and they would run as Bramley. Run REVOKE CREATE ON SCHEMA \(schema) FROM \
            \(roles.joined(separator: ", ")) and drop what others own in it, or give Bramley a schema of its own \
            (docs/operate/several-machines.md).
            """
        case .noLibrary(let detail):
            "storage.postgres.url needs PostgreSQL's client library, version 14 or later: install the package libpq5 or"
                + " your system's equivalent (\(detail))."
        case .failed(let path, let detail): "The database \(path) could not be opened: \(detail)."
        }
    }

    private func octal(_ mode: Int) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
