import Coding
import Logging
import Synchronization

/// Watches for writes of other processes.
///
/// `PRAGMA data_version` on a dedicated connection changes with every commit of any other connection. Then the
/// journal's entries after the last one seen say whose sessions to evict: every ended session and changed user has one,
/// in the transaction of the change.
final class ForeignChanges: Sendable {
    private struct State {
        var version: Int64
        var position: ChangePosition
        var isFailing = false
    }

    private let connection: ConnectionQueue
    private let schema: StoreSchema
    private let trust: CacheTrust
    private let logger: Logger
    private let state: Mutex<State>

    init(connection: ConnectionQueue, schema: StoreSchema, trust: CacheTrust, logger: Logger) throws {
        self.connection = connection
        self.schema = schema
        self.trust = trust
        self.logger = logger
        // Read the version first: a commit between the two reads is then seen again.
        let start = try connection.sync { connection in
            let version = try Self.version(connection)
            return State(version: version, position: try schema.changes(connection, nil).position)
        }
        state = Mutex(start)
        // Nothing has been read yet; the first check begins the trust.
        trust.renew(at: Timestamp(milliseconds: 0))
    }

    /// Evicts what changed from the caches and renews their trust; on failure does neither.
    /// - Returns: whether a person was, or may have been, erased.
    func check(at now: Timestamp) -> Bool {
        state.withLock { state in
            do {
                let (version, changes) = try changes(since: state)
                changes.forget()
                trust.renew(at: now)
                state = State(version: version, position: changes.position)
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

    private func changes(since state: State) throws -> (version: Int64, Changes) {
        let (known, seen) = (state.version, state.position)
        return try connection.sync { connection in
            let version = try Self.version(connection)
            return (version, version == known ? Changes(seen) : try schema.changes(connection, seen))
        }
    }

    func close() { connection.close() }

    private static func version(_ connection: any EngineConnection) throws -> Int64 {
        try connection.value("PRAGMA data_version").integer ?? 0
    }
}
