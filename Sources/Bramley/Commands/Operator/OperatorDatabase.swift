internal import Accounts
internal import Coding
internal import Crypto
internal import Sockets
internal import Storage

protocol DatabaseCommand: ReportingCommand {
    associatedtype Options: InputOptions
    var options: Options { get }

    func run(on context: OperatorDatabase) async throws
}

extension DatabaseCommand {
    func perform() async throws {
        let context = try OperatorDatabase.open(options.input)
        defer { context.database.close() }
        try await run(on: context)
    }
}

/// The database for a command. A running server notices writes within a quarter of a second, through the journal.
struct OperatorDatabase: Sendable {
    let configuration: DatabaseConfiguration
    let database: Database
    let keyring: SealingKeyring
    let runtime: Runtime
    private let lock: RestoreLock?

    var random: any RandomSource { runtime.random }
    var clock: any WallClock { runtime.clock }
    var now: Timestamp { clock.now() }
    var identifiers: RandomIdentifier { RandomIdentifier(random: random) }
    var team: TeamID { configuration.checkScope.team }
    var clients: Clients { Clients(database, audiences: configuration.audiences.map(\.name), random: random) }

    var services: Services { Services(database, isLocal: configuration.isLocal, random: random) }

    /// Adds an audit line for a command whose writes do not add one themselves.
    func record(_ command: String) async throws(Failure) {
        try await database.record(.command, user: nil, object: command, at: now)
    }

    /// Creates nothing: neither a database, nor a sealing key, nor a step of the schema.
    static func open(
        _ input: ConfigurationInput, isExclusive: Bool = false, admitsMoved: Bool = false
    ) throws -> OperatorDatabase {
        Files.keepNewFilesPrivate()
        let configuration = try ConfigurationLoader.loadDatabase(input)
        let directory = configuration.storage.directory
        guard configuration.storage.mayHoldDatabase else {
            throw CommandFailure("There is no database in \(directory) yet. Start bramley serve once.")
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
