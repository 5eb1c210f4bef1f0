internal import Accounts
internal import Crypto
internal import Logging
internal import Sockets
internal import Storage

// From a configuration to the parts of a server: the data directory is locked, and its database opened.
extension ServerParts {
    /// May take minutes. Until it returns, nothing has changed for a server that still runs.
    /// - Parameters:
    ///   - input: the sources of `configuration`, from which Apple's keys are read again.
    ///   - inherited: may have a previous server's lock.
    ///   - isSuccessor: whether that server still serves: nothing it uses is changed.
    ///   - lostLogLines: returns the number of log lines lost since the start.
    /// - Throws: `StartFailure` or an error with one line for the operator. Then nothing is left open.
    static func open(
        _ configuration: Configuration, readFrom input: ConfigurationInput,
        inherited: inout InheritedDescriptors, isSuccessor: Bool = false, runtime: Runtime,
        lostLogLines: @escaping @Sendable () -> Int = { 0 }
    ) throws -> ServerParts {
        // SQLite and Foundation create readable files and restrict them afterwards: prevent that window.
        Files.keepNewFilesPrivate()
        let directory = configuration.storage.directory
        // The lock comes first: a second server, which it refuses, must change neither the first one's schema nor its
        // webhook endpoints.
        try Store.prepareDirectory(directory)
        let path = directory + "/serve.lock"
        let lock = try inherited.consumeLock(Inheritance.lock, of: path) ?? Self.lock(path, of: directory)
        let isOnSQLite = configuration.storage.postgres == nil
        if isOnSQLite { try finishRestore(directory, runtime.logger) }
        let keyring = try SealingKeyFile.load(configuration.database, random: runtime.random)
        // A successor changes no schema: it refuses a database that lacks a step, and needs no backup. PostgreSQL has its
        // own.
        if !isSuccessor, isOnSQLite {
            try MigrationBackup.makeIfNeeded(
                configuration.database.databaseOptions(for: .server).store, keyring: keyring, runtime: runtime)
        }
        let base = ServerBase(
            configuration: configuration, runtime: runtime, keyring: keyring,
            group: try EventLoopGroup(count: configuration.server.threads),
            database: try Database(
                options: configuration.database.databaseOptions(for: isSuccessor ? .successor : .server),
                keyring: keyring, runtime: runtime))
        return try ServerParts(base, lock: lock, input: input, lostLogLines: lostLogLines)
    }

    /// One server at a time on one data directory: two would each cache sessions and silently share a port, and a
    /// second one is almost always a mistake.
    private static func lock(_ path: String, of directory: String) throws(StartFailure) -> FileLock {
        do {
            return try FileLock(path: path)
        } catch {
            if error.isHeldByAnother {
                throw StartFailure("Another bramley serve is running on the data directory \(directory).")
            }
            throw StartFailure("\(path) cannot be locked: \(error).")
        }
    }

    private static func finishRestore(_ directory: String, _ logger: Logger) throws(StartFailure) {
        let path = Store.path(in: directory)
        guard PendingRestore.isWaiting(for: path) else { return }
        do {
            try RestoreLock.finishPending(directory, RestoreLock.exclusive(directory))
        } catch {
            throw StartFailure(error.description)
        }
        logger.notice("interrupted restore completed", metadata: ["file": .string(path)])
    }
}
