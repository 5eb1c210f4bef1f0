package import Crypto

/// The result of reading a database file, to which nobody writes, from its first page to its last.
package struct FileExamination: Hashable, Sendable {
    package var bytes: Int
    /// The newest step of its schema.
    package var schema: String
    /// Whether this version's server would change its schema.
    package var isOlder: Bool
    /// The key that its server was last started with; nil before one was.
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
            throw StorageOpenError(error, place: path)
        }
    }

    /// The same on the calling thread, for a caller that may cancel.
    /// - Throws: `CancellationError` soon after the task is cancelled; otherwise `StorageOpenError`.
    package static func examineUntilCancelled(
        _ path: String, steps: [SchemaStep], keyring: SealingKeyring?, origin: DatabaseOrigin?,
        count: (any EngineConnection) throws -> Void
    ) async throws -> FileExamination {
        do {
            let connection = try DatabaseCopy.open(path, isReadOnly: true)
            // After the handler, which is not called once the body has returned.
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
            throw StorageOpenError(error, place: path)
        }
    }

    private static func examine(
        _ connection: SQLiteConnection, _ path: String, _ steps: [SchemaStep], keyring: SealingKeyring?,
        origin: DatabaseOrigin?, count: (any EngineConnection) throws -> Void
    ) throws -> FileExamination {
        let schema = SchemaCheck(place: path, steps: steps)
        guard try connection.isOurs() else { throw StorageOpenError.foreign(path) }
        if let keyring, let origin {
            try Migrations(place: path, steps: steps, origin: origin, keyring: keyring).inspect(connection)
        }
        let pending = try schema.pendingSteps(connection)
        try checkWhole(connection, path)
        try count(connection)
        return FileExamination(
            bytes: try connection.size(), schema: try connection.value("SELECT max(name) FROM migration").text ?? "",
            isOlder: !pending.isEmpty,
            sealingKeyID: try connection.stored(Migrations.sealingKeyID).map { String(decoding: $0, as: UTF8.self) })
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
            let migrations = Migrations(place: path, steps: steps, origin: options.origin, keyring: keyring)
            // Nothing but a header: the server was killed while creating it.
            guard try migrations.inspect(connection), let step = try migrations.schema.pendingSteps(connection).first
            else { return nil }
            return (step.name, try connection.size())
        } catch {
            throw StorageOpenError(error, place: path)
        }
    }
}

extension SQLiteConnection {
    fileprivate func size() throws -> Int {
        Int(try value("SELECT page_size * page_count FROM pragma_page_size, pragma_page_count").integer ?? 0)
    }
}
