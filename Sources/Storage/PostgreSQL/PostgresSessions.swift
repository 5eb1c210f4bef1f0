import Coding
import Crypto
import RelyingParty
import Synchronization

/// The sessions that requests have read lately, for all loops of the process.
///
/// A loop must not wait for the network: on a miss of its own cache it looks here, and what is not here either is read
/// by the request, off the loop, and kept.
final class PostgresSessions: Sendable {
    private struct State {
        /// From a token to the place of its session.
        let cache: SessionCache
        var sessions: [SignedIn] = []
        var next = 0
    }

    private let limits: SessionLimits
    private let capacity: Int
    private let state: Mutex<State>

    init(invalidations: SessionInvalidations, limits: SessionLimits, capacity: Int = 16_384) {
        let cache = SessionCache(
            reader: NoReader(), invalidations: invalidations, limits: limits, memory: capacity * 100,
            valueSize: MemoryLayout<UInt32>.size)
        self.limits = limits
        self.capacity = capacity
        state = Mutex(State(cache: cache))
    }

    /// A session that may be answered without asking the database. Not one whose `lastSeenAt` is due to be written: then
    /// it is read again, so that what is shown of it stays true to a minute.
    func kept(_ token: Digest256, at now: Timestamp) -> SignedIn? {
        state.withLock { state in
            var found: SignedIn?
            _ = state.cache.kept(token, at: now) { place, _ in
                found = state.sessions[place.indices.reduce(0) { $0 << 8 | Int(place[$1]) }]
                return true
            }
            // Another may be in its place by now.
            guard let session = found?.session, session.tokenHash == token,
                now < session.lastSeenAt.adding(milliseconds: limits.touchInterval)
            else { return nil }
            return found
        }
    }

    /// Keeps what was read, unless something was invalidated since before the read.
    /// - Parameter generation: of the invalidations, taken before the read.
    func keep(_ found: SignedIn, readAt generation: UInt64) {
        state.withLock { state in
            let place = state.next
            state.next = (place + 1) % capacity
            if place == state.sessions.count { state.sessions.append(found) } else { state.sessions[place] = found }
            let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: place >> $0) }
            state.cache.keep(bytes, of: found, readAt: generation)
        }
    }

    private final class NoReader: SessionReader {
        func signedIn(token: Digest256, at now: Timestamp) -> SignedIn? { nil }
    }
}

/// A loop's view of them.
final class PostgresSessionReader: SessionReader {
    private let sessions: PostgresSessions

    init(_ sessions: PostgresSessions) {
        self.sessions = sessions
    }

    func signedIn(token: Digest256, at now: Timestamp) -> SignedIn? { sessions.kept(token, at: now) }
}
