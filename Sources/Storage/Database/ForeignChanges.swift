import Coding
import Logging
import RelyingParty
import Synchronization

/// Watches for writes of other processes.
///
/// `PRAGMA data_version` on a dedicated connection changes with every commit of any other connection. Then the
/// journal's entries after the last one seen tell whose sessions to forget: every ended session and changed user has
/// one, in the transaction of the change.
final class ForeignChanges: Sendable {
    private struct State {
        var version: Int64
        var sequence: Int64
        var isFailing = false
    }

    private let connection: SQLiteQueue
    private let context: StoreContext
    private let invalidations: SessionInvalidations
    private let logger: Logger
    private let state: Mutex<State>

    init(
        connection: SQLiteQueue, context: StoreContext, invalidations: SessionInvalidations, logger: Logger
    ) throws {
        self.connection = connection
        self.context = context
        self.invalidations = invalidations
        self.logger = logger
        // Read the version first: a commit between the two reads is then seen again.
        let start = try connection.sync { connection in
            let version = try Self.version(connection)
            let snapshot = Snapshot(connection, context, at: Timestamp(milliseconds: 0))
            return State(version: version, sequence: try snapshot.lastEventSequence())
        }
        state = Mutex(start)
        // Nothing has been read for a running clock yet; the first check begins the trust.
        invalidations.trust(at: Timestamp(milliseconds: 0))
    }

    /// What was written since the last check, by any process.
    fileprivate struct Changes {
        var entries: [SessionInvalidations.Entry] = []
        var erased = false
    }

    /// Tells the caches what changed and renews their trust; on failure leaves both as they are.
    /// - Returns: whether somebody was, or may have been, erased.
    func check(at now: Timestamp) -> Bool {
        state.withLock { state in
            do {
                let (next, changes) = try changes(since: state, at: now)
                invalidations.append(changes.entries)
                invalidations.trust(at: now)
                state = next
                return changes.erased
            } catch {
                if !state.isFailing {
                    logger.error(
                        "database change detection failed; session caches bypassed",
                        metadata: ["detail": "\(StoreError(error).text)"])
                }
                state.isFailing = true
                return false
            }
        }
    }

    private func changes(since state: State, at now: Timestamp) throws -> (State, Changes) {
        let known = state.version
        let seen = state.sequence
        return try connection.sync { connection -> (State, Changes) in
            let version = try Self.version(connection)
            guard version != known else { return (State(version: version, sequence: seen), Changes()) }
            let (sequence, changes) = try Snapshot(connection, context, at: now).changes(after: seen)
            return (State(version: version, sequence: sequence), changes)
        }
    }

    func close() {
        connection.close()
    }

    private static func version(_ connection: SQLiteConnection) throws -> Int64 {
        try connection.first("PRAGMA data_version") ?? 0
    }
}

extension Snapshot {
    /// Changes from the entries after `sequence`. Includes our own; evicting twice costs little.
    fileprivate func changes(after sequence: Int64) throws -> (Int64, ForeignChanges.Changes) {
        let last = try lastEventSequence()
        guard last != sequence else { return (sequence, ForeignChanges.Changes()) }
        let first = try value("SELECT min(sequence) FROM event") ?? last + 1
        // Entries were deleted before they were seen, or a backup was restored: what changed is unknown.
        guard last > sequence, first <= sequence + 1 else {
            return (last, ForeignChanges.Changes(entries: [.all], erased: true))
        }
        var changes = ForeignChanges.Changes()
        for row in try rows(
            """
            SELECT user, max(type = 'account.deleted' OR fields LIKE '%"identities"%') AS erases FROM event
            WHERE sequence > ? AND sequence <= ? AND type NOT IN ('user.created', 'session.created') GROUP BY user
            """, [sequence, last])
        {
            changes.entries.append(.user(try row["user"]))
            if try row["erases"] { changes.erased = true }
        }
        return (last, changes)
    }
}
