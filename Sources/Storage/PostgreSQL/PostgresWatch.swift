import Coding
import Logging
import Synchronization

/// Watches the writes of other processes, and limits how long sessions may be answered without asking the database.
///
/// Every poll records the time, commits a write of its own and reads the events after the last one it knows. The caches
/// are trusted for `trust` from that time. Events are in the order of their commits, so a poll that did not see a
/// revocation recorded its time before the revocation was committed: the trust ends at most `trust` after it, whatever
/// the network does, and no clocks are compared. The commit matters when a standby was promoted while this process
/// still reaches the old primary, which answers reads but, without its synchronous standby, commits nothing. Other
/// connections may reach another server than the poll: their reads count only if they see the last committed poll
/// (`PostgresProof`).
final class PostgresWatch: Sendable {
    private struct State {
        var position: ChangePosition?
        var pollBegunAt: ContinuousClock.Instant?
        var failure: (error: StoreError, at: ContinuousClock.Instant)?
        /// By the monotonic clock: the wall clock may be set.
        var lastPoll: ContinuousClock.Instant
        /// When a session was last looked up, to a quarter of a second.
        var lastAsked: ContinuousClock.Instant
        var isTold = false
        var clockDifference: Int64 = 0

        func isSilent(longest: Duration) -> Bool {
            failure != nil || pollBegunAt.map { ContinuousClock.now - $0 > longest } ?? false
        }
    }

    private let proof: PostgresProof
    private let connection: PostgresConnection
    private let queue: ConnectionQueue
    private let schema: StoreSchema
    private let trust: CacheTrust
    private let logger: Logger
    private let state = Mutex(State(lastPoll: .now, lastAsked: .now))

    /// After this long without a look-up of a session, polls are ten times rarer; the next look-up waits for one.
    private static let idleAfter = Duration.seconds(10)
    static let idlePause = Duration.milliseconds(2_500)

    init(
        _ connection: PostgresConnection, waits: Waits, proof: PostgresProof, schema: StoreSchema, trust: CacheTrust,
        logger: Logger
    ) {
        self.connection = connection
        self.proof = proof
        queue = ConnectionQueue(connection, label: "watch", waits: waits)
        self.schema = schema
        self.trust = trust
        self.logger = logger
    }

    /// The first poll; blocks.
    func begin(at now: Timestamp) throws { try queue.sync { _ in try self.poll(at: now, begunAt: .now) } }

    /// Begins a poll unless one is under way, and ends the trust when the last one is too old.
    func tick(at now: Timestamp) {
        let (begunAt, isAsked) = (ContinuousClock.now, trust.consumeAsked())
        if let obstacle { report(obstacle) }
        let (isDue, isTooOld) = state.withLock { state in
            if isAsked { state.lastAsked = begunAt }
            let isIdle = begunAt - state.lastAsked > Self.idleAfter && state.failure == nil
            let isDue = state.pollBegunAt == nil && !(isIdle && begunAt - state.lastPoll < Self.idlePause)
            if isDue { state.pollBegunAt = begunAt }
            return (isDue, begunAt - state.lastPoll > .milliseconds(trust.length))
        }
        if isTooOld { trust.end() }
        guard isDue else { return }
        queue.async { _ in
            try? self.attempt(at: now, begunAt: begunAt)
            self.state.withLock { $0.pollBegunAt = nil }
        }
    }

    private static let longestPoll = Duration.milliseconds(1_000)

    /// When the database last answered; nil while it answers.
    var silentSince: ContinuousClock.Instant? {
        state.withLock { state in state.isSilent(longest: Self.longestPoll) ? state.lastPoll : nil }
    }

    /// Why nothing can be read or written: the error of the last poll, or that a poll takes too long.
    var obstacle: StoreError? {
        state.withLock { state in
            if let failure = state.failure { return failure.error }
            return state.isSilent(longest: Self.longestPoll) ? .unavailable("PostgreSQL does not answer") : nil
        }
    }

    /// Returns once the caches may be trusted at `now`; polls when they may not. All callers that wait for a poll share
    /// its failure: while the database hangs, each waits for one poll, not for those of all callers before.
    func ensureTrust(at now: Timestamp) async throws(StoreError) {
        if trust.holds(at: now) { return }
        let begunAt = ContinuousClock.now
        try await queue.perform { _ in
            if self.trust.holds(at: now) { return }
            if let failure = self.state.withLock(\.failure), failure.at > begunAt { throw failure.error }
            try self.attempt(at: now, begunAt: begunAt)
        }
    }

    var clockDifference: Int64 { state.withLock { $0.clockDifference } }

    func close() { queue.close() }

    // MARK: On the queue

    private func attempt(at now: Timestamp, begunAt: ContinuousClock.Instant) throws {
        do {
            try poll(at: now, begunAt: begunAt)
        } catch {
            let failure = StoreError(error)
            state.withLock { $0.failure = (failure, .now) }
            report(failure)
            throw failure
        }
    }

    /// Logs an outage once, until the database is reachable again.
    private func report(_ failure: StoreError) {
        let wasReported = state.withLock { state in
            defer { state.isTold = true }
            return state.isTold
        }
        guard !wasReported else { return }
        logger.error("database not reachable; sessions cannot be checked", metadata: ["detail": "\(failure.text)"])
    }

    private func poll(at now: Timestamp, begunAt: ContinuousClock.Instant) throws {
        let known = state.withLock { $0.position }
        let number = proof.begin()
        try connection.beginWithoutLock()
        let changes: Changes
        let difference: Int64?
        do {
            let asked = ContinuousClock.now
            let theirs = try connection.value(
                """
                INSERT INTO store_poll (id, polled_at, number)
                VALUES (?, CAST(1000 * extract(epoch FROM clock_timestamp()) AS BIGINT), ?)
                ON CONFLICT (id) DO UPDATE SET polled_at = excluded.polled_at, number = excluded.number
                RETURNING polled_at
                """, [.text(proof.node), .integer(number)]
            ).integer
            let halfway = asked - begunAt + (ContinuousClock.now - asked) / 2
            difference = theirs.map { $0 - now.milliseconds - Int64(halfway / .milliseconds(1)) }
            changes = try schema.changes(connection, known)
            try connection.commit()
        } catch {
            connection.rollBack()
            throw error
        }
        // From now on a server that has not seen it is not trusted.
        proof.commit(number)
        changes.forget()
        trust.renew(at: now)
        let wasReported = state.withLock { state in
            defer { (state.failure, state.isTold) = (nil, false) }
            state.position = changes.position
            state.lastPoll = max(state.lastPoll, begunAt)
            if let difference { state.clockDifference = difference }
            return state.isTold
        }
        if wasReported { logger.notice("database reachable again") }
    }
}

/// Proves that a server has this process's last poll: the poll was committed on it, or it has taken over from that one.
/// Reads from any other server are from a primary that was replaced.
final class PostgresProof: Sendable {
    /// The process, in `store_poll`.
    let node: String
    private let begun = Atomic<Int64>(0)
    private let number = Atomic<Int64>(0)

    init(node: String) { self.node = node }

    /// The last poll that was committed; 0 before the first.
    var committed: Int64 { number.load(ordering: .acquiring) }

    /// The number of the next attempt at a poll. None is used twice: a primary that waits for a lost standby may commit
    /// an attempt that failed, and must not pass for the one with the next.
    func begin() -> Int64 { begun.wrappingAdd(1, ordering: .relaxed).newValue }
    func commit(_ poll: Int64) { number.store(poll, ordering: .releasing) }

    /// The number of the last poll a server has. Sufficient if not below `committed` before the query.
    static let sql = "SELECT number FROM store_poll WHERE id = ?"
}
