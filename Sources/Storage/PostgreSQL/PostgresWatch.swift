import Coding
import Logging
import RelyingParty
import Synchronization

/// Watches what other processes write, and for how long sessions may be answered without asking the database.
///
/// Every poll notes the time, commits a write of its own and reads the events after the last one it knows. The caches
/// are trusted for `trust` from that time. Events are in the order of their commits, so a poll that did not see a
/// revocation read, and noted its time, before the revocation was committed: the trust ends at most `trust` after it,
/// whatever the network does, and no clocks are compared. That it commits matters when a standby was promoted while
/// this process still reaches the old primary, which answers reads but, without its synchronous standby, commits nothing.
final class PostgresWatch: Sendable {
    private struct State {
        var sequence: Int64?
        var isPolling = false
        var isFailing = false
        /// By the monotonic clock: that of the system may be set.
        var lastPoll: ContinuousClock.Instant
    }

    private let node: String
    private let connection: PostgresConnection
    private let queue: ConnectionQueue
    private let context: StoreContext
    private let invalidations: SessionInvalidations
    private let trust: Duration
    private let logger: Logger
    private let state = Mutex(State(lastPoll: .now))

    init(
        _ connection: PostgresConnection, node: String, context: StoreContext, invalidations: SessionInvalidations,
        trust: Int64, logger: Logger
    ) {
        self.connection = connection
        self.node = node
        queue = ConnectionQueue(connection, label: "watch")
        self.context = context
        self.invalidations = invalidations
        self.trust = .milliseconds(trust)
        self.logger = logger
    }

    /// The first poll; blocks.
    func begin(at now: Timestamp) throws {
        try queue.sync { _ in try self.poll(at: now, begunAt: .now) }
    }

    /// Begins a poll unless one is under way, and ends the trust when the last one is too old.
    func tick(at now: Timestamp) {
        let (isDue, isTooOld) = state.withLock { state in
            defer { state.isPolling = true }
            return (!state.isPolling, ContinuousClock.now - state.lastPoll > trust)
        }
        if isTooOld { invalidations.distrust() }
        guard isDue else { return }
        let begunAt = ContinuousClock.now
        queue.async { _ in
            self.attempt(at: now, begunAt: begunAt)
            self.state.withLock { $0.isPolling = false }
        }
    }

    /// Returns once the caches may be trusted at `now`; polls when they may not.
    func ensureTrust(at now: Timestamp) async throws(StoreError) {
        if invalidations.isTrusted(at: now) { return }
        let begunAt = ContinuousClock.now
        try await queue.perform { _ in
            if !self.invalidations.isTrusted(at: now) { try self.poll(at: now, begunAt: begunAt) }
        }
    }

    func close() {
        queue.close()
    }

    // MARK: On the queue

    private func attempt(at now: Timestamp, begunAt: ContinuousClock.Instant) {
        do {
            try poll(at: now, begunAt: begunAt)
        } catch {
            let wasFailing = state.withLock { state in
                defer { state.isFailing = true }
                return state.isFailing
            }
            if wasFailing { return }
            logger.error(
                "database not reachable; sessions cannot be checked",
                metadata: ["detail": "\(StoreError(error).text)"])
        }
    }

    private func poll(at now: Timestamp, begunAt: ContinuousClock.Instant) throws {
        let known = state.withLock { $0.sequence }
        try connection.beginAlone()
        let (sequence, changes): (Int64, JournalChanges)
        do {
            try connection.run(
                """
                INSERT INTO store_poll (id, polls) VALUES (?, 1)
                ON CONFLICT (id) DO UPDATE SET polls = store_poll.polls + 1
                """, [node])
            let snapshot = Snapshot(connection, context, at: now)
            (sequence, changes) =
                if let known { try snapshot.changes(after: known) } else {
                    (try snapshot.lastEventSequence(), JournalChanges())
                }
            try connection.commit()
        } catch {
            connection.rollBack()
            throw error
        }
        invalidations.append(changes.entries)
        invalidations.trust(at: now)
        let wasFailing = state.withLock { state in
            defer { state.isFailing = false }
            state.sequence = sequence
            state.lastPoll = max(state.lastPoll, begunAt)
            return state.isFailing
        }
        if wasFailing { logger.notice("database reachable again") }
    }
}
