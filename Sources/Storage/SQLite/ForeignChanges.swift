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
        var mark: JournalMark
        var isFailing = false
    }

    private let connection: ConnectionQueue
    private let context: StoreContext
    private let invalidations: SessionInvalidations
    private let logger: Logger
    private let state: Mutex<State>

    init(
        connection: ConnectionQueue, context: StoreContext, invalidations: SessionInvalidations, logger: Logger
    ) throws {
        self.connection = connection
        self.context = context
        self.invalidations = invalidations
        self.logger = logger
        // Read the version first: a commit between the two reads is then seen again.
        let start = try connection.sync { connection in
            let version = try Self.version(connection)
            let snapshot = Snapshot(connection, context, at: Timestamp(milliseconds: 0))
            return State(version: version, mark: try snapshot.journalMark())
        }
        state = Mutex(start)
        // Nothing has been read for a running clock yet; the first check begins the trust.
        invalidations.trust(at: Timestamp(milliseconds: 0))
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

    private func changes(since state: State, at now: Timestamp) throws -> (State, JournalChanges) {
        let known = state.version
        let seen = state.mark
        return try connection.sync { connection -> (State, JournalChanges) in
            let version = try Self.version(connection)
            guard version != known else { return (State(version: version, mark: seen), JournalChanges()) }
            let (mark, changes) = try Snapshot(connection, context, at: now).changes(after: seen)
            return (State(version: version, mark: mark), changes)
        }
    }

    func close() {
        connection.close()
    }

    private static func version(_ connection: any EngineConnection) throws -> Int64 {
        try connection.first("PRAGMA data_version") ?? 0
    }
}
