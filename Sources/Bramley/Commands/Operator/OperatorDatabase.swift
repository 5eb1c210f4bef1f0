internal import Accounts
internal import ArgumentParser
internal import Coding
internal import Crypto
internal import Sockets
internal import Storage

/// A command that uses the database.
protocol DatabaseCommand: ReportingCommand {
    associatedtype Options: InputOptions
    var options: Options { get }

    /// - Parameter place: closed when this returns.
    func run(on place: OperatorDatabase) async throws
}

extension DatabaseCommand {
    func perform() async throws {
        let place = try OperatorDatabase.open(options.input)
        defer { place.database.close() }
        try await run(on: place)
    }
}

/// The database for a command, opened with or without a running server.
///
/// A server notices a command's writes within a quarter of a second, through the journal.
struct OperatorDatabase: Sendable {
    let configuration: DatabaseConfiguration
    let database: Database
    let keyring: SealingKeyring
    let runtime: Runtime
    /// Held for as long as the database is open.
    private let lock: RestoreLock?

    var random: any RandomSource { runtime.random }
    var clock: any WallClock { runtime.clock }
    var now: Timestamp { clock.now() }
    var identifiers: RandomIdentifier { RandomIdentifier(random: random) }
    var team: TeamID { configuration.checkScope.team }

    /// Adds an audit line for a command whose writes do not add one themselves.
    func record(_ command: String) async throws(Failure) {
        try await database.record(.command, user: nil, object: command, at: now)
    }

    /// Creates nothing: neither a database, nor a sealing key, nor a step of the schema.
    /// - Parameters:
    ///   - isExclusive: whether other commands on this machine must wait.
    ///   - admitsMoved: for `bramley move`.
    /// - Throws: `ConfigurationFailure`, or `CommandFailure` with one line.
    static func open(
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
            if isExclusive, let held { try PendingRestore.finish(directory, held) }
            lock = held
        }
        let keyring = try SealingKeyFile.load(configuration, random: runtime.random)
        var options = configuration.databaseOptions(for: .command)
        options.store.admitsMoved = admitsMoved
        options.account = SystemAccount.current(sudoUser: input.environment["SUDO_USER"])
        let database = try Database(options: options, keyring: keyring, runtime: runtime)
        return OperatorDatabase(
            configuration: configuration, database: database, keyring: keyring, runtime: runtime, lock: lock)
    }
}
