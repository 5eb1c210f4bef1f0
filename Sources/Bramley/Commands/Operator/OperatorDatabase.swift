package import Accounts
package import Coding
package import Crypto
internal import Sockets
package import Storage

/// The database for a command, opened with or without a running server.
///
/// A server notices a command's writes within a quarter of a second, through the journal.
package struct OperatorDatabase: Sendable {
    package let configuration: DatabaseConfiguration
    package let database: Database
    package let keyring: SealingKeyring
    package let runtime: Runtime
    /// Held for as long as the database is open.
    private let lock: RestoreLock?

    package var random: any RandomSource { runtime.random }
    package var clock: any WallClock { runtime.clock }
    package var now: Timestamp { clock.now() }
    package var identifiers: RandomIdentifier { RandomIdentifier(random: random) }
    package var team: TeamID { TeamID(configuration.teamID) }

    /// Adds an audit line for a command whose writes do not add one themselves.
    package func record(_ command: String) async throws(StoreError) {
        try await database.record(.command, user: nil, object: command, at: now)
    }

    /// Opens the database for `body` and closes it; every failure becomes one line on standard error and an exit code.
    package static func with(
        _ options: OperatorOptions, _ body: (OperatorDatabase) async throws -> Void
    ) async throws {
        try await CommandRun.reporting {
            let opened = try open(options.input)
            defer { opened.database.close() }
            try await body(opened)
        }
    }

    /// Creates nothing: neither a database, nor a sealing key, nor a step of the schema.
    /// - Parameters:
    ///   - isExclusive: whether other commands on this machine must wait.
    ///   - admitsMoved: for `bramley move`.
    /// - Throws: `ConfigurationFailure`, or `CommandFailure` with one line.
    package static func open(
        _ input: ConfigurationInput, isExclusive: Bool = false, admitsMoved: Bool = false
    ) throws -> OperatorDatabase {
        Files.keepNewFilesPrivate()
        let configuration = try ConfigurationLoader.loadDatabase(input)
        let directory = configuration.storage.directory
        guard configuration.storage.mayHoldDatabase else {
            throw CommandFailure("There is no database in \(directory) yet: start bramley serve once.")
        }
        let runtime = Runtime.command
        var lock: RestoreLock?
        if configuration.storage.postgres == nil {
            let held = isExclusive ? try RestoreLock.exclusive(directory) : try RestoreLock.shared(directory)
            if isExclusive, let held { try RestoreLock.finishPending(directory, held) }
            lock = held
        }
        do {
            let keyring = try SealingKeyFile.load(configuration, random: runtime.random)
            var options = configuration.databaseOptions(for: .command)
            options.store.admitsMoved = admitsMoved
            options.account = SystemAccount.current(sudoUser: input.environment["SUDO_USER"])
            let database = try Database(options: options, keyring: keyring, runtime: runtime)
            return OperatorDatabase(
                configuration: configuration, database: database, keyring: keyring, runtime: runtime, lock: lock)
        } catch let failure as StartFailure {
            throw CommandFailure(failure.description)
        } catch let error as StorageOpenError {
            throw CommandFailure(error.description)
        }
    }
}
