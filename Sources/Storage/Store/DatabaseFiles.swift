import FoundationEssentials

/// The directory and file of a database: created with modes that keep others out, and checked before use. SQLite gives
/// `-wal` and `-shm` the mode of the database file.
struct DatabaseFiles: Sendable {
    static let databaseName = "bramley.db"
    static let fileMode = 0o600
    static let directoryMode = 0o700

    let directory: String

    var databasePath: String {
        directory.hasSuffix("/") ? directory + Self.databaseName : directory + "/" + Self.databaseName
    }

    var holdsDatabase: Bool {
        // A file whose size cannot be read may contain one.
        type(of: databasePath) != nil && size(of: databasePath) != 0
    }

    /// Creates what is missing, and refuses what others could read or change.
    func prepare() throws(StorageOpenError) {
        try prepareDirectory()
        try prepareDatabaseFile()
    }

    func prepareDirectory() throws(StorageOpenError) {
        let files = FileManager.default
        var isDirectory = false
        if files.fileExists(atPath: directory, isDirectory: &isDirectory) {
            guard isDirectory else { throw .notADirectory(directory) }
            guard let mode = mode(of: directory) else {
                throw .unreadable(directory, detail: "its mode cannot be read")
            }
            // Others may list it, as in many containers; they cannot open the files.
            guard mode & 0o022 == 0 else { throw .directoryMode(directory, mode: mode) }
            return
        }
        do {
            try files.createDirectory(
                atPath: directory, withIntermediateDirectories: false,
                attributes: [.posixPermissions: Self.directoryMode])
        } catch {
            throw .directoryMissing(directory)
        }
    }

    private func prepareDatabaseFile() throws(StorageOpenError) {
        let path = databasePath
        if let type = type(of: path) {
            guard type == .typeRegular || type == .typeSymbolicLink else {
                throw .unreadable(path, detail: "it is not a file")
            }
            // A process that died before it wrote anything leaves an empty file.
            if size(of: path) == 0 { try restrict(path) }
            guard let mode = mode(of: path) else { throw .unreadable(path, detail: "its mode cannot be read") }
            guard mode & 0o077 == 0 else { throw .fileMode(path, mode: mode) }
            let files = FileManager.default
            guard files.isReadableFile(atPath: path), files.isWritableFile(atPath: path) else {
                throw .unreadable(path, detail: "permission denied")
            }
            return
        }
        do {
            // Never truncates what another process created in between.
            try Data().write(to: URL(filePath: path), options: .withoutOverwriting)
        } catch {
            guard type(of: path) != nil else { throw .unreadable(path, detail: "it cannot be created") }
        }
        try restrict(path)
    }

    private func restrict(_ path: String) throws(StorageOpenError) {
        do {
            try FileManager.default.setAttributes([.posixPermissions: Self.fileMode], ofItemAtPath: path)
        } catch {
            throw .unreadable(path, detail: "its mode cannot be set")
        }
    }

    private func type(of path: String) -> FileAttributeType? {
        try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    }

    private func mode(of path: String) -> Int? { integer(.posixPermissions, of: path).map { $0 & 0o7777 } }
    private func size(of path: String) -> Int? { integer(.size, of: path) }

    private func integer(_ key: FileAttributeKey, of path: String) -> Int? {
        let value = try? FileManager.default.attributesOfItem(atPath: path)[key]
        // With all of Foundation in the process this is an NSNumber, which is not a BinaryInteger; without it, a UInt.
        if let value = value as? Int { return value }
        if let value = value as? UInt { return Int(exactly: value) }
        if let value = value as? UInt64 { return Int(exactly: value) }
        return (value as? any BinaryInteger).flatMap { Int(exactly: $0) }
    }
}
