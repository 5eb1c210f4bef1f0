import Coding
import Logging
import Synchronization

/// Watches what other processes write, and for how long sessions may be answered without asking the database.
///
/// Every poll notes the time, commits a write of its own and reads the events after the last one it knows. The caches
/// are trusted for `trust` from that time. Events are in the order of their commits, so a poll that did not see a
/// revocation read, and noted its time, before the revocation was committed: the trust ends at most `trust` after it,
/// whatever the network does, and no clocks are compared. That it commits matters when a standby was promoted while
/// this process still reaches the old primary, which answers reads but, without its synchronous standby, commits nothing.
/// Other connections may reach another server than the poll: what they read counts only where they see the last poll
/// that was committed (`PostgresProof`).
final class PostgresWatch: Sendable {
    private struct State {
        var position: ChangePosition?
        var pollBegunAt: ContinuousClock.Instant?
        var failure: (error: StoreError, at: ContinuousClock.Instant)?
        /// By the monotonic clock: that of the system may be set.
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

    /// While nobody has looked up a session for a while, polls are a tenth: the first who does waits for one.
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
        let (begunAt, isAsked) = (ContinuousClock.now, trust.takeAsked())
        if let obstacle { tell(obstacle) }
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

    /// Since when nothing is heard from the database; nil while it answers.
    var silentSince: ContinuousClock.Instant? {
        state.withLock { state in state.isSilent(longest: Self.longestPoll) ? state.lastPoll : nil }
    }

    /// Why nothing can be read or written: what the last poll failed with, or that one takes too long.
    var obstacle: StoreError? {
        state.withLock { state in
            if let failure = state.failure { return failure.error }
            return state.isSilent(longest: Self.longestPoll) ? .unavailable("PostgreSQL does not answer") : nil
        }
    }

    /// Returns once the caches may be trusted at `now`; polls when they may not. Whoever asks while a poll fails gets
    /// that answer: while the database hangs, each waits for one poll and not for those of everybody before.
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
            tell(failure)
            throw failure
        }
    }

    /// Once, until it is reachable again.
    private func tell(_ failure: StoreError) {
        let wasTold = state.withLock { state in
            defer { state.isTold = true }
            return state.isTold
        }
        guard !wasTold else { return }
        logger.error("database not reachable; sessions cannot be checked", metadata: ["detail": "\(failure.text)"])
    }

    private func poll(at now: Timestamp, begunAt: ContinuousClock.Instant) throws {
        let known = state.withLock { $0.position }
        let number = proof.begin()
        try connection.beginAlone()
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
        // From now on nobody believes a server that has not seen it.
        proof.commit(number)
        changes.forget()
        trust.renew(at: now)
        let wasTold = state.withLock { state in
            defer { (state.failure, state.isTold) = (nil, false) }
            state.position = changes.position
            state.lastPoll = max(state.lastPoll, begunAt)
            if let difference { state.clockDifference = difference }
            return state.isTold
        }
        if wasTold { logger.notice("database reachable again") }
    }
}

/// That a server has this process's last poll: it is the one on which the poll was committed, or has taken over from it.
/// Reads of any other are of a primary that another one has replaced.
final class PostgresProof: Sendable {
    /// The process, in `store_poll`.
    let node: String
    private let begun = Atomic<Int64>(0)
    private let number = Atomic<Int64>(0)

    init(node: String) { self.node = node }

    /// The last poll that was committed; 0 before the first.
    var committed: Int64 { number.load(ordering: .acquiring) }

    /// The number of the next attempt at a poll. None is given twice: a primary that waits for a standby it has lost may
    /// commit an attempt that failed, and must not be taken for the one that has the next.
    func begin() -> Int64 { begun.wrappingAdd(1, ordering: .relaxed).newValue }
    func commit(_ poll: Int64) { number.store(poll, ordering: .releasing) }

    /// The number of the last poll a server has. It counts if not below what was `committed` before asking.
    static let sql = "SELECT number FROM store_poll WHERE id = ?"
}
