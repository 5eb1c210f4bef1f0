package import Coding
package import Crypto

/// The result of reading a whole database file that nobody writes to.
package struct FileExamination: Hashable, Sendable {
    package var bytes: Int
    /// The newest step of its schema.
    package var schema: String
    /// Whether this version's server would change its schema.
    package var isOlder: Bool
    /// The key that a server was last started with; nil before the first start.
    package var sealingKeyID: String?

    /// Reads the whole file: every page and index agree, no row refers to a missing one, it is a database of Bramley,
    /// and this version knows its schema.
    package static func examine(
        _ path: String, steps: [SchemaStep], keyring: SealingKeyring?, origin: DatabaseOrigin?,
        count: (any EngineConnection) throws -> Void
    ) throws(StorageOpenError) -> FileExamination {
        do {
            let connection = try DatabaseCopy.open(path, isReadOnly: true)
            defer { connection.close() }
            return try examine(connection, path, steps, keyring: keyring, origin: origin, count: count)
        } catch {
            throw StorageOpenError(error, location: path)
        }
    }

    /// The same on the calling thread, for callers that may cancel.
    /// - Throws: `CancellationError` soon after the task is cancelled; otherwise `StorageOpenError`.
    package static func examineUntilCancelled(
        _ path: String, steps: [SchemaStep], keyring: SealingKeyring?, origin: DatabaseOrigin?,
        count: (any EngineConnection) throws -> Void
    ) async throws -> FileExamination {
        do {
            let connection = try DatabaseCopy.open(path, isReadOnly: true)
            // Checked after the handler, which is not called once the body has returned.
            defer { connection.close() }
            return try await withTaskCancellationHandler {
                try Task.checkCancellation()
                return try examine(connection, path, steps, keyring: keyring, origin: origin, count: count)
            } onCancel: {
                connection.interrupt()
            }
        } catch {
            // The error of the current statement would only say that it was interrupted.
            try Task.checkCancellation()
            throw StorageOpenError(error, location: path)
        }
    }

    private static func examine(
        _ connection: SQLiteConnection, _ path: String, _ steps: [SchemaStep], keyring: SealingKeyring?,
        origin: DatabaseOrigin?, count: (any EngineConnection) throws -> Void
    ) throws -> FileExamination {
        let schema = SchemaCheck(location: path, steps: steps)
        guard try connection.isOurs() else { throw StorageOpenError.foreign(path) }
        if let keyring, let origin {
            try Migrations(location: path, steps: steps, origin: origin, keyring: keyring).inspect(connection)
        } else if let origin, try !Migrations.checkOrigin(connection, path, origin) {
            throw StorageOpenError.corrupt(path, detail: "it has no origin")
        }
        let pending = try schema.pendingSteps(connection)
        try checkWhole(connection, path)
        try count(connection)
        return FileExamination(
            bytes: try connection.size(), schema: try connection.value("SELECT max(name) FROM migration").text ?? "",
            isOlder: !pending.isEmpty,
            sealingKeyID: try connection.stored(Migrations.sealingKeyID).map { String(decoding: $0, as: UTF8.self) })
    }

    /// In `meta`: when the database was last backed up, in milliseconds since 1970.
    static let backupKey = "backed-up"

    /// Notes in the database at `path` that it was backed up, of whatever version it is. The backup does not depend on
    /// it: the disk may be full.
    package static func noteBackup(of path: String, at now: Timestamp) {
        guard let connection = try? DatabaseCopy.open(path) else { return }
        defer { connection.close() }
        try? connection.inTransaction { try connection.store(backupKey, Array(String(now.milliseconds).utf8)) }
    }

    /// Whether a file is a database of Bramley, of any version.
    package static func isDatabase(_ path: String) -> Bool {
        guard let connection = try? DatabaseCopy.open(path, isReadOnly: true) else { return false }
        defer { connection.close() }
        return (try? connection.isOurs()) == true
    }

    private static func checkWhole(_ connection: SQLiteConnection, _ path: String) throws {
        let found = try connection.value("PRAGMA integrity_check(1)").text ?? "nothing"
        guard found == "ok" else { throw StorageOpenError.corrupt(path, detail: found) }
        if let row = try connection.firstRow("PRAGMA foreign_key_check") {
            let table = try row.value("table").text ?? "a table"
            throw StorageOpenError.corrupt(path, detail: "a row of \(table) refers to a row that is missing")
        }
    }
}

extension Store {
    /// The first step that the database in `options.directory` lacks, and its size; nil without one. Changes nothing.
    package static func pendingStep(
        _ options: StoreOptions, steps: [SchemaStep], keyring: SealingKeyring
    ) throws(StorageOpenError) -> (name: String, bytes: Int)? {
        let files = DatabaseFiles(directory: options.directory)
        guard files.holdsDatabase else { return nil }
        try files.prepare()
        let path = files.databasePath
        do {
            // Opened for writing, though nothing is written: a read-only connection would leave an empty log behind.
            let connection = try DatabaseCopy.open(path)
            defer { connection.close() }
            let migrations = Migrations(location: path, steps: steps, origin: options.origin, keyring: keyring)
            // Only a header: the server was killed while creating it.
            guard try migrations.inspect(connection), let step = try migrations.schema.pendingSteps(connection).first
            else { return nil }
            return (step.name, try connection.size())
        } catch {
            throw StorageOpenError(error, location: path)
        }
    }
}

extension SQLiteConnection {
    static let sizeStatement = "SELECT page_size * page_count FROM pragma_page_size, pragma_page_count"

    fileprivate func size() throws -> Int { Int(try value(Self.sizeStatement).integer ?? 0) }
}
