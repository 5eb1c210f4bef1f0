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
            marked as moved, and Bramley no longer opens it. No one is signed out. See docs/operate/several-machines.md.
            """)

    @OptionGroup var options: CommandOptions
    @OptionGroup var confirmation: ConfirmationOptions

    /// Other users can read a command's arguments.
    static let variable = "BRAMLEY_MOVE_TO"

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL connection string for an empty database, without a password; or a directory for SQLite.",
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
            try await confirmation.confirm(
                "Everything in \(storage.place) will move to \(target.place). Bramley will no longer open the old "
                    + "database."
            )
        }
        try show(moved, target, milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1)))
    }

    private func show(_ tables: [MovedTable], _ target: MoveTarget, milliseconds: Int) throws {
        let rows = tables.reduce(0) { $0 + $1.rows }
        func count(_ table: String) -> String {
            Quantity.count(tables.first { $0.name == table }?.rows ?? 0, table)
        }
        let objects = tables.map { table -> [FieldValue.Member] in
            [
                ("name", .text(table.name)), ("rows", .number(table.rows)),
                ("sha256", .code(Hexadecimal.encode(table.digest.bytes))),
            ]
        }
        try options.show(
            tables.isEmpty
                ? "The interrupted move to \(target.place) is now complete.\n\(target.advice)"
                : """
                The database has moved to \(target.place): \(count("user")), \(count("session")), \
                \(Quantity.count(rows, "row")) in all, copied and compared in \(Quantity.seconds(milliseconds)).
                \(target.advice)
                """,
            [
                ("place", .text(target.place)), ("rows", .number(rows)), ("milliseconds", .number(milliseconds)),
                ("tables", .objects(objects)),
            ])
    }

    private func targetText(_ input: ConfigurationInput) throws(CommandFailure) -> String {
        let variable = input.environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
        switch (to, toFile, variable) {
        case (let to?, nil, _):
            guard !PostgresOptions.holdsPassword(to) else {
                throw .usage(
                    "--to contains a password, which every user of this machine can read. Put the connection string in "
                        + "a file and pass --to-file, or set \(Self.variable).")
            }
            return to
        case (nil, let file?, _):
            let bytes = try translating(try GuardedFile.read(file, maximumBytes: 4_096).bytes(at: file)) {
                (error: InputFlaw) in CommandFailure("\(file) \(error.fault)")
            }
            return PastedText.trimmed(String(decoding: bytes, as: UTF8.self))
        case (nil, nil, let text?): return text
        case (_?, _?, _): throw .usage("Pass --to or --to-file, not both.")
        case (nil, nil, nil): throw .usage("Pass --to or --to-file, or set \(Self.variable).")
        }
    }

    private static func move(
        _ source: OperatorDatabase, to target: MoveTarget, confirm: () async throws -> Void
    ) async throws -> [MovedTable] {
        do {
            guard try await !DatabaseMove.isInUse(source.database.store) else {
                throw CommandFailure("A server is still using the database. Stop all servers first.")
            }
            let database = try Database(options: target.options, keyring: source.keyring, runtime: source.runtime)
            defer { database.close() }
            let move = DatabaseMove(from: source.database.store, to: database.store)
            if try await move.isUnfinished() {
                try await move.finish()
                return []
            }
            if let former = try await move.formerTarget() {
                throw CommandFailure(StorageOpenError.moved(source.configuration.storage.place, to: former).description)
            }
            guard try await move.isTargetEmpty() else {
                throw CommandFailure("\(target.place) already contains a Bramley database. Choose an empty one.")
            }
            try await confirm()
            let moved = try await ProgressLine.during("moving") {
                try move.run(to: target.place, id: source.random.bytes(16))
            }
            try await move.finish()
            try await database.record(.command, user: nil, object: "move", at: source.now)
            return moved
        } catch  where error is Failure || error is StoreError {
            throw CommandFailure(
                "The move was not completed: \(error). Run it again with the same target; until then, Bramley does "
                    + "not open the target."
            )
        }
    }
}

private struct MoveTarget {
    var options: DatabaseOptions
    /// Without secrets.
    var place: String
    var advice: String

    static func parse(_ text: String, from configuration: DatabaseConfiguration) throws(CommandFailure) -> MoveTarget {
        var options = configuration.databaseOptions(for: .server)
        let isPostgres = PostgresOptions.isConnectionString(text)
        guard isPostgres != (options.store.postgres != nil) else {
            throw .usage(
                isPostgres
                    ? "The database is in PostgreSQL, so --to must be a directory."
                    : "The database is in SQLite, so --to must be a connection string, such as "
                        + "postgresql://user@host/database."
            )
        }
        guard isPostgres else {
            options.store.postgres = nil
            options.store.directory = text
            options.store.admitsMoved = true
            return MoveTarget(
                options: options, place: text,
                advice: "Before you start bramley serve, set storage.directory to \(text) and remove storage.postgres."
            )
        }
        if let fault = PostgresOptions.fault(in: text) { throw .usage("--to \(fault)") }
        options.store.postgres = PostgresOptions(url: Secret(text))
        options.store.admitsMoved = true
        return MoveTarget(
            options: options, place: "PostgreSQL",
            advice: "Before you start bramley serve, set storage.postgres.url or .urlFile on each machine.")
    }
}
