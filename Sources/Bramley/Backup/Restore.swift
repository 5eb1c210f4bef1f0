internal import Accounts
internal import Coding
internal import Crypto
internal import FoundationEssentials
internal import Sockets
internal import Storage

/// Puts a backup in place; each step leaves the old database or the new one. Holds the locks of `serve` and commands.
struct Restore {
    /// What will be put in place: copied, completely read, and known to open with the configured key.
    let contents: DatabaseExamination
    private let configuration: DatabaseConfiguration
    private let keyring: SealingKeyring
    private let clock: any WallClock
    private let locks: (serve: RestoreLock, commands: RestoreLock)
    private let staging: Staging

    private var path: String { Store.path(in: configuration.storage.directory) }

    /// Copies the backup next to the database and examines the copy. Changes nothing that exists.
    static func prepare(
        _ file: String, _ configuration: DatabaseConfiguration, clock: any WallClock
    ) async throws -> Restore {
        let directory = configuration.storage.directory
        try Store.prepareDirectory(directory)
        let locks = (serve: try RestoreLock.ofServer(directory), commands: try RestoreLock.exclusive(directory))
        try PendingRestore.finish(directory, locks.commands)
        let path = Store.path(in: directory)
        guard let backup = FileStamp(of: file) else {
            throw CommandFailure("\(file) does not exist or cannot be read.")
        }
        guard FileStamp(of: path).map({ !$0.isOfSameFile(as: backup) }) ?? true else {
            throw CommandFailure("\(file) is the database itself. Choose a backup.")
        }
        guard !Files.isSymbolicLink(path) else {
            throw CommandFailure("\(path) is a symbolic link. Set storage.directory to the directory it leads to.")
        }
        guard FileExamination.isDatabase(file) else {
            throw CommandFailure("\(file) is not a Bramley backup or is damaged.")
        }
        let keyring = try SealingKeyFile.loadExisting(configuration)
        let staging = try Staging(in: directory)
        try CheckedCopy.copy(file, to: staging.path)
        let contents = try await CheckedCopy.examine(
            staging.path, keyring: keyring, origin: configuration.databaseOptions(for: .command).store.origin,
            clock: clock, orSay: "\(file) was not restored. The check of its copy failed:")
        return Restore(
            contents: contents, configuration: configuration, keyring: keyring, clock: clock,
            locks: locks, staging: staging)
    }

    /// Ends all sessions in the copy, which also updates its schema. Returns the number of sessions.
    func endSessions() async throws -> Int {
        var options = configuration.databaseOptions(for: .server)
        options.store.directory = staging.directory
        options.account = SystemAccount.current(sudoUser: ProcessInfo.processInfo.environment["SUDO_USER"])
        let database = try Database(options: options, keyring: keyring, runtime: Runtime.command)
        defer { database.close() }
        return try await AuditActor.$current.withValue(.operator) {
            try await database.endAllSessions(cause: .revokedByOperator, at: clock.now())
        }
    }

    /// - Returns: the name under which the previous database is kept; nil when there was none.
    func commit() throws -> String? {
        try DatabaseCopy.settle(staging.path)
        let kept: String?
        let hasLog: Bool
        do {
            kept = try keepPresent()
            hasLog = StagedCopy.companions(of: path).contains { FileStamp(of: $0) != nil }
            try Files.publish(staging.path, at: hasLog ? PendingRestore.path(of: path) : path, replacing: true)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("The backup cannot be put in place: \(error). The database is unchanged.")
        }
        if hasLog { try PendingRestore.finish(configuration.storage.directory, locks.commands) }
        return kept
    }

    /// Removes what is left of the copy. Does not wait for `deinit`.
    func discard() { staging.discard() }

    private func keepPresent() throws -> String? {
        guard FileStamp(of: path) != nil else { return nil }
        var companions: [String] = []
        do throws(StorageOpenError) {
            // From here on it is one file, and so is the kept one.
            try DatabaseCopy.settle(path)
        } catch {
            if case .locked = error {
                throw CommandFailure("Another program, such as sqlite3 or litestream, has \(path) open. Stop it first.")
            }
            // A damaged database may be the reason for the restore: data may be recovered from it and its log.
            companions = ["-wal", "-journal"].filter { FileStamp(of: path + $0) != nil }
        }
        let stamp = clock.now().rfc3339.filter { $0 != "-" && $0 != ":" }.prefix { $0 != "." } + "Z"
        for number in 1... {
            let name = path + ".before-restore-\(stamp)" + (number == 1 ? "" : "-\(number)")
            do throws(SystemError) {
                try Files.addLink(path, as: name)
            } catch {
                if error.isAlreadyThere { continue }
                throw error
            }
            for suffix in companions { try Files.addLink(path + suffix, as: name + suffix) }
            return name
        }
        return nil
    }

    /// A directory for the copy, in which it can be opened like any database. Removed with the value.
    private final class Staging: Sendable {
        let directory: String
        var path: String { Store.path(in: directory) }

        init(in parent: String) throws(CommandFailure) {
            let directory = parent + "/restoring"
            // Before there is anything to be discarded.
            guard !Files.isSymbolicLink(directory) else {
                throw CommandFailure("\(directory) is a symbolic link, which is not followed. Remove it.")
            }
            self.directory = directory
            do {
                try Store.prepareDirectory(directory)
                try clear()
                try Files.create(path, mode: 0o600, bytes: [])
            } catch {
                throw CommandFailure("\(directory) cannot be used: \(error)")
            }
        }

        deinit { discard() }

        func discard() {
            try? clear()
            try? Files.removeDirectory(directory)
        }

        private func clear() throws(SystemError) {
            for file in [path] + StagedCopy.companions(of: path) { try Files.remove(file) }
        }
    }
}
