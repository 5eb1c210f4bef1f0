import Coding
import Crypto
import Synchronization

/// A database of PostgreSQL (14 or later), shared by any number of processes on any number of machines.
final class PostgresEngine: Engine {
    let location = "of storage.postgres.url"
    let writer: ConnectionQueue
    /// For pages of lists, so that a slow one does not delay the others.
    private let pages: [ConnectionQueue]
    /// Several, since each look-up is a round trip.
    private let lookUps: [ConnectionQueue]
    private let lookUpCount = Atomic(0)
    private let counter: ConnectionQueue
    private let watch: PostgresWatch
    private let waits = Waits()
    private let node: String

    /// Connects, checks the server, updates the schema, compares stamps.
    init(
        _ postgres: PostgresOptions, options: StoreOptions, schema: StoreSchema, keyring: SealingKeyring,
        trust: CacheTrust, runtime: Runtime
    ) throws(StorageOpenError) {
        let library = try LibPQ()
        guard library.canParse(postgres.url.reveal()) else {
            throw .unusable(location, detail: "libpq does not understand the connection string")
        }
        let (random, now) = (runtime.random, runtime.clock.now())
        let node = Hexadecimal.encode(random.bytes(16))
        self.node = node
        let (losses, proof) = (PostgresLosses(), PostgresProof(node: node))
        func connection(
            writes: Bool = false, proves: Bool = true, patience: PostgresConnection.Patience? = nil
        ) -> PostgresConnection {
            PostgresConnection(
                library, url: postgres.url, node: writes ? node : nil, proof: proves && !writes ? proof : nil,
                patience: patience ?? (options.use == .command ? .command : .init()),
                referenced: writes ? schema.referenced : [], random: random, losses: losses)
        }
        let first = connection(writes: true)
        let location = location
        let migrations = Migrations(
            location: location, steps: schema.steps, origin: options.origin, keyring: keyring,
            admitsMoved: options.admitsMoved)
        writer = ConnectionQueue(first, label: "writer")
        watch = PostgresWatch(
            connection(proves: false, patience: .poll), waits: waits, proof: proof, schema: schema, trust: trust,
            logger: runtime.logger)
        do {
            try writer.sync { connection in
                try first.requireServer(location)
                if options.use == .server {
                    try first.prepareSchema(location, tables: schema.tables)
                } else {
                    try first.requireOwnSchema(location)
                }
                try migrations.inspect(connection)
                if options.use == .server {
                    try migrations.run(connection, for: schema, at: now)
                } else {
                    try migrations.requireCurrent(connection)
                }
            }
            try watch.begin(at: now)
        } catch {
            throw StorageOpenError(error, location: location)
        }
        let waits = waits
        pages = (0..<3).map { _ in
            ConnectionQueue(
                connection(patience: options.use == .command ? .init(recovery: 3_000, replans: true) : .page),
                label: "reader", waits: waits, patience: options.readPatience)
        }
        lookUps = (0..<3).map { _ in ConnectionQueue(connection(), label: "look-ups", waits: waits) }
        counter = ConnectionQueue(connection(), label: "counts", waits: waits)
    }

    var reader: ConnectionQueue { pages.idlest ?? counter }

    func counting() -> ConnectionQueue { counter }

    func lookUp(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError) {
        let turn = lookUpCount.wrappingAdd(1, ordering: .relaxed).newValue
        try await lookUps[abs(turn % lookUps.count)].read(body)
    }

    func loopConnection() -> (any EngineConnection)? { nil }
    func ensureTrust(at now: Timestamp) async throws(StoreError) { try await watch.ensureTrust(at: now) }

    func watch(at now: Timestamp) {
        watch.tick(at: now)
        waits.sweep(silentSince: watch.silentSince)
    }

    var obstacle: StoreError? { watch.obstacle }
    var clockDifference: Int64 { watch.clockDifference }

    /// Removes records of processes that ended a day ago or more. Traces of people's deleted rows in PostgreSQL's log
    /// and in standbys are for the operator to erase.
    func eraseRemains(isCertain: Bool) async throws(StoreError) {
        try await writer.perform { connection in
            try connection.inTransaction {
                let ended = try connection.rows(
                    """
                    DELETE FROM store_poll
                    WHERE polled_at < CAST(1000 * extract(epoch FROM clock_timestamp()) AS BIGINT) - 86400000 RETURNING id
                    """
                ).map { try $0.text("id") }
                for id in ended { try connection.run("DELETE FROM store_node WHERE id = ?", [.text(id)]) }
            }
        }
    }

    func settings() throws -> [String: String] {
        try writer.sync { connection in
            var values: [String: String] = [:]
            for name in ["synchronous_commit", "fsync", "full_page_writes", "synchronous_standby_names"] {
                values[name] = try connection.value("SELECT current_setting(?) AS value", [.text(name)]).text
            }
            values["standbys"] = try connection.value(
                "SELECT CAST(count(*) AS TEXT) AS value FROM pg_stat_replication"
            ).text
            return values
        }
    }

    /// When another process polled last, in milliseconds of PostgreSQL's clock.
    func lastOtherPoll() async throws(StoreError) -> Int64 {
        try await reader.perform { [node] connection in
            try connection.value("SELECT max(polled_at) AS last FROM store_poll WHERE id <> ?", [.text(node)]).integer
                ?? 0
        }
    }

    func close() {
        watch.close()
        for queue in lookUps + pages + [counter, writer] { queue.close() }
    }
}

/// How often a connection of one engine was lost. Another server may have become the primary: the engine's other
/// connections are then reopened too, or they would continue to read from the old one.
final class PostgresLosses: Sendable {
    private let losses = Atomic(0)

    var count: Int { losses.load(ordering: .acquiring) }

    /// - Parameter known: the count when the lost connection was opened. Connections lost together count once.
    func add(since known: Int) {
        _ = losses.compareExchange(expected: known, desired: known + 1, ordering: .acquiringAndReleasing)
    }
}
