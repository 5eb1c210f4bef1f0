internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto
internal import Storage

struct MoveCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move the whole database from SQLite to PostgreSQL, or back.",
        discussion: """
            Stop all servers first. Every row is copied in one transaction and compared; then the old database is \
            marked as moved, and nothing opens it any more. Nobody is signed out. See docs/operate/several-machines.md.
            """)

    @OptionGroup var options: CommandOptions
    @OptionGroup var confirmation: ConfirmationOptions

    /// Other users can read a command's arguments.
    static let variable = "BRAMLEY_MOVE_TO"

    @Option(
        help: ArgumentHelp(
            "A connection string of PostgreSQL with an empty database, without a password; or a directory for SQLite.",
            valueName: "postgresql://… | directory"))
    var to: String?

    @Option(help: ArgumentHelp("A file with the connection string. (default: \(variable))", valueName: "file"))
    var toFile: String?

    func perform() async throws {
        let configuration = try ConfigurationLoader.loadDatabase(options.input)
        let target = try MoveTarget.parse(targetText(options.input), from: configuration)
        let storage = configuration.storage
        let lock = storage.postgres == nil ? try RestoreLock.ofServer(storage.directory) : nil
        defer { extendLifetime(lock) }
        let source = try OperatorDatabase.open(options.input, isExclusive: true, admitsMoved: true)
        defer { source.database.close() }
        let start = ContinuousClock.now
        let moved = try await Self.move(source, to: target) {
            try confirmation.confirm(
                "Everything in \(storage.place) moves to \(target.place). Afterwards, Bramley no longer opens the old database."
            )
        }
        try show(moved, target, milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1)))
    }

    private func show(_ tables: [MovedTable], _ target: MoveTarget, milliseconds: Int) throws {
        let rows = tables.reduce(0) { $0 + $1.rows }
        func count(_ table: String) -> String {
            Quantity.count(tables.first { $0.name == table }?.rows ?? 0, table)
        }
        try options.show(
            tables.isEmpty
                ? "The move to \(target.place) that was cut off is complete.\n\(target.advice)"
                : """
                The database has moved to \(target.place): \(count("user")), \(count("session")), \
                \(Quantity.count(rows, "row")) in all, compared, in \(Quantity.seconds(milliseconds)).
                \(target.advice)
                """,
            [
                ("place", .text(target.place)), ("rows", .number(rows)), ("milliseconds", .number(milliseconds)),
                (
                    "tables",
                    .objects(
                        tables.map { table in
                            [
                                ("name", .text(table.name)), ("rows", .number(table.rows)),
                                ("sha256", .code(Hexadecimal.encode(table.digest.bytes))),
                            ]
                        })
                ),
            ])
    }

    private func targetText(_ input: ConfigurationInput) throws(CommandFailure) -> String {
        let variable = input.environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
        switch (to, toFile, variable) {
        case (let to?, nil, _):
            guard !PostgresOptions.holdsPassword(to) else {
                throw .usage(
                    "--to holds a password, and every user of this machine can read it there: write the connection string "
                        + "into a file and name that with --to-file, or set \(Self.variable).")
            }
            return to
        case (nil, let file?, _): return PastedText.trimmed(try Self.read(file))
        case (nil, nil, let text?): return text
        case (_?, _?, _): throw .usage("Pass --to or --to-file, not both.")
        case (nil, nil, nil): throw .usage("Pass --to or --to-file, or set \(Self.variable).")
        }
    }

    private static func read(_ path: String) throws(CommandFailure) -> String {
        do throws(InputFlaw) {
            return String(
                decoding: try GuardedFile.read(path, maximumBytes: 4_096).bytes(at: path), as: UTF8.self)
        } catch {
            throw CommandFailure("\(path) \(error.fault)")
        }
    }

    private static func move(
        _ source: OperatorDatabase, to target: MoveTarget, confirm: () throws -> Void
    ) async throws -> [MovedTable] {
        do {
            guard try await !DatabaseMove.isInUse(source.database.store) else {
                throw CommandFailure("A server still uses the database: stop all of them first.")
            }
            let database = try Database(
                options: target.options, keyring: source.keyring, runtime: source.runtime)
            defer { database.close() }
            let move = DatabaseMove(from: source.database.store, to: database.store)
            if try await move.isToBeEnded() {
                try await move.end()
                return []
            }
            if let former = try await move.formerTarget() {
                throw CommandFailure(
                    StorageOpenError.moved(source.configuration.storage.place, to: former).description)
            }
            guard try await move.isTargetEmpty() else {
                throw CommandFailure("\(target.place) holds a database of Bramley already: name an empty one.")
            }
            try confirm()
            let moved = try await ProgressLine.during("moving") {
                try move.run(to: target.place, id: source.random.bytes(16))
            }
            try await move.end()
            try await database.record(.command, user: nil, object: "move", at: source.now)
            return moved
        } catch  where error is Failure || error is StoreError {
            throw CommandFailure(
                "The move was not completed: \(error). Run it again with the same target; until then, nothing opens it."
            )
        }
    }
}

/// Where a database moves to.
private struct MoveTarget {
    var options: DatabaseOptions
    /// Without secrets.
    var place: String
    /// What the configuration must say from then on.
    var advice: String

    static func parse(_ text: String, from configuration: DatabaseConfiguration) throws(CommandFailure) -> MoveTarget {
        var options = configuration.databaseOptions(for: .server)
        let isPostgres = PostgresOptions.isMeant(by: text)
        guard isPostgres != (options.store.postgres != nil) else {
            throw .usage(
                isPostgres
                    ? "The database is on PostgreSQL: --to must name a directory."
                    : "The database is SQLite's: --to must be a connection string, such as postgresql://user@host/database."
            )
        }
        guard isPostgres else {
            options.store.postgres = nil
            options.store.directory = text
            options.store.admitsMoved = true
            return MoveTarget(
                options: options, place: text,
                advice: "Set storage.directory to \(text), and remove storage.postgres, before you start bramley serve."
            )
        }
        if let fault = PostgresOptions.fault(in: text) { throw .usage("--to \(fault)") }
        options.store.postgres = PostgresOptions(url: Secret(text))
        options.store.admitsMoved = true
        return MoveTarget(
            options: options, place: "PostgreSQL",
            advice: "Set storage.postgres.url or .urlFile before you start bramley serve, on each machine.")
    }
}
