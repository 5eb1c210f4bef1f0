import Coding
import Crypto
import Logging
import RelyingParty
import Synchronization

/// A database of PostgreSQL (14 or later), shared by any number of processes on any number of machines.
final class PostgresEngine: Engine {
    let place = "of storage.postgres.url"
    let writer: ConnectionQueue
    /// For pages of lists: one that takes long does not keep the others waiting.
    private let pages: [ConnectionQueue]
    /// Several, since each look-up is a trip; used in turn.
    private let lookUps: [ConnectionQueue]
    private let lookUpCount = Atomic(0)
    private let counter: ConnectionQueue
    private let watch: PostgresWatch
    private let waits = Waits()
    private let sessions: PostgresSessions
    private let invalidations: SessionInvalidations
    private let context: StoreContext
    private let node: String

    /// Connects, checks the server, updates the schema, compares stamps.
    init(
        _ postgres: PostgresOptions, options: DatabaseOptions, context: StoreContext, steps: [SchemaStep],
        invalidations: SessionInvalidations, random: any RandomSource, at now: Timestamp, logger: Logger
    ) throws(StorageOpenError) {
        let library = try LibPQ()
        guard library.canParse(postgres.url.reveal()) else {
            throw .unsuitable(place, detail: "it is not a connection string that libpq understands")
        }
        let node = Hexadecimal.encode(random.bytes(16))
        self.node = node
        let (losses, proof) = (PostgresLosses(), PostgresProof(node: node))
        func connection(
            writes: Bool = false, proves: Bool = true, patience: PostgresConnection.Patience? = nil
        ) -> PostgresConnection {
            PostgresConnection(
                library, url: postgres.url, node: writes ? node : nil, proof: proves && !writes ? proof : nil,
                patience: patience ?? (options.use == .command ? .command : .init()), random: random, losses: losses)
        }
        let first = connection(writes: true)
        let place = place
        let migrations = Migrations(
            place: place, steps: steps, origin: options.origin, keyring: context.keyring,
            admitsMoved: options.admitsMoved)
        writer = ConnectionQueue(first, label: "writer")
        watch = PostgresWatch(
            connection(proves: false, patience: .poll), waits: waits, proof: proof, context: context,
            invalidations: invalidations,
            trust: postgres.trust, logger: logger)
        do {
            try writer.sync { connection in
                try first.requireServer(place)
                if options.use == .server {
                    try first.prepareSchema(place)
                } else {
                    try first.requireOwnSchema(place)
                }
                try migrations.inspect(connection)
                if options.use == .server {
                    try migrations.run(connection, context, at: now)
                } else {
                    try migrations.requireCurrent(connection)
                }
            }
            try watch.begin(at: now)
        } catch {
            throw StorageOpenError(error, place: place)
        }
        let waits = waits
        pages = (0..<3).map { _ in
            ConnectionQueue(
                connection(patience: options.use == .command ? .init(recovery: 3_000, plansAnew: true) : .page),
                label: "reader", waits: waits, patience: options.readPatience)
        }
        lookUps = (0..<3).map { _ in ConnectionQueue(connection(), label: "look-ups", waits: waits) }
        counter = ConnectionQueue(connection(), label: "counts", waits: waits)
        sessions = PostgresSessions(invalidations: invalidations, limits: options.sessionLimits)
        self.invalidations = invalidations
        self.context = context
    }

    var reader: ConnectionQueue { pages.idlest ?? counter }

    func counting() -> ConnectionQueue { counter }

    func lookUp<Value: Sendable>(
        _ body: @escaping @Sendable (any EngineConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let turn = lookUpCount.wrappingAdd(1, ordering: .relaxed).newValue
        return try await lookUps[abs(turn % lookUps.count)].read(body)
    }

    func sessionReader() -> any SessionReader { PostgresSessionReader(sessions) }

    /// From the cache while it is trusted; otherwise asks. Whoever hears nothing from the database is told so, and
    /// nobody is signed in or out by what was true a while ago.
    func signedIn(_ token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn? {
        if invalidations.isTrusted(at: now), let kept = sessions.kept(token, at: now) { return kept }
        return try await StorePatience.within(Self.longestLookUp) { () async throws(StoreError) -> SignedIn? in
            try await ask(token, at: now)
        }
    }

    /// Of a session. With what else a check does, the answer is there within two seconds.
    private static let longestLookUp = Duration.milliseconds(1_250)

    private func ask(_ token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn? {
        try await watch.ensureTrust(at: now)
        if let kept = sessions.kept(token, at: now) { return kept }
        let (context, generation) = (context, invalidations.generation)
        let found = try await lookUp { connection in try Snapshot(connection, context, at: now).signedIn(token) }
        try await watch.ensureTrust(at: now)
        sessions.keep(token, found, readAt: generation)
        return found
    }

    func watch(at now: Timestamp) {
        watch.tick(at: now)
        waits.sweep(silentSince: watch.silentSince)
    }

    var obstacle: StoreError? { watch.obstacle }

    var clockDifference: Int64 { watch.clockDifference }

    /// Of processes that ended a day ago or more. What PostgreSQL keeps of people's deleted rows, in its log and in
    /// standbys, is the operator's to erase.
    func eraseRemains(isCertain: Bool) async throws(StoreError) {
        try await writer.perform { connection in
            try connection.inTransaction {
                let ended = try connection.rows(
                    """
                    DELETE FROM store_poll
                    WHERE polled_at < CAST(1000 * extract(epoch FROM clock_timestamp()) AS BIGINT) - 86400000 RETURNING id
                    """
                ).map { row -> String in try row["id"] }
                for id in ended { try connection.run("DELETE FROM store_node WHERE id = ?", [id]) }
            }
        }
    }

    func settings() throws -> [String: String] {
        try writer.sync { connection in
            var values: [String: String] = [:]
            for name in ["synchronous_commit", "fsync", "full_page_writes", "synchronous_standby_names"] {
                values[name] = try connection.first("SELECT current_setting(?) AS value", [name])
            }
            values["standbys"] = try connection.first("SELECT CAST(count(*) AS TEXT) AS value FROM pg_stat_replication")
            return values
        }
    }

    /// When another process polled last, in milliseconds of PostgreSQL's clock.
    func lastOtherPoll() async throws(StoreError) -> Int64 {
        let node = node
        return try await reader.perform { connection in
            try connection.first("SELECT max(polled_at) AS last FROM store_poll WHERE id <> ?", [node]) ?? 0
        }
    }

    func close() {
        watch.close()
        for queue in lookUps + pages + [counter, writer] { queue.close() }
    }
}
