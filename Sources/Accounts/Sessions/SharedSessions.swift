import Coding
import Crypto
import Synchronization

/// The sessions that requests read recently, for all loops of the process.
///
/// A loop must not wait for the network: on a miss of its own cache it looks here. On a miss here, the request reads the
/// session off the loop, and it is kept here and for the loops that missed it.
final class SharedSessions: Sendable {
    private struct State {
        /// From a token to the slot of its session.
        let cache: SessionCache
        var sessions: [SignedIn] = []
        var next = 0
        /// The loops that asked for a session that is being read. Most tokens that are not cached are invalid.
        var missing: [Digest256: Set<Int>] = [:]
        /// For each loop, the sessions it has not consumed yet.
        var found: [[SessionReader.Found]] = []
    }

    /// More are dropped, and read again.
    private static let waiting = 4_096

    private let limits: SessionLimits
    private let capacity: Int
    private let state: Mutex<State>

    init(invalidations: SessionInvalidations, limits: SessionLimits, capacity: Int = 16_384) {
        let cache = SessionCache(
            reader: SessionReader { _, _ in nil }, invalidations: invalidations, limits: limits, memory: capacity * 100,
            valueSize: MemoryLayout<UInt32>.size)
        self.limits = limits
        self.capacity = capacity
        state = Mutex(State(cache: cache))
    }

    /// A session that may be answered without asking the database: not one whose `lastSeenAt` is due to be written.
    func kept(_ token: Digest256, at now: Timestamp) -> SignedIn? {
        state.withLock { state in
            var found: SignedIn?
            _ = state.cache.kept(token, at: now) { place, _ in
                found = state.sessions[place.indices.reduce(0) { $0 << 8 | Int(place[$1]) }]
                return true
            }
            // Another may be in its slot by now.
            guard let session = found?.session, session.tokenHash == token,
                now < session.lastSeenAt.adding(milliseconds: limits.touchInterval)
            else { return nil }
            return found
        }
    }

    /// One more loop's view of them.
    func makeReader() -> SessionReader {
        let loop = state.withLock { state in
            state.found.append([])
            return state.found.count - 1
        }
        return SessionReader(takeFound: { self.takeFound(loop) }) { token, now in self.kept(token, for: loop, at: now) }
    }

    /// The same for a loop, which receives the session once it is read.
    private func kept(_ token: Digest256, for loop: Int, at now: Timestamp) -> SignedIn? {
        if let found = kept(token, at: now) { return found }
        state.withLock { state in
            if state.missing.count >= Self.waiting { state.missing.removeAll() }
            state.missing[token, default: []].insert(loop)
        }
        return nil
    }

    private func takeFound(_ loop: Int) -> [SessionReader.Found] {
        state.withLock { state in
            var found: [SessionReader.Found] = []
            swap(&found, &state.found[loop])
            return found
        }
    }

    /// Keeps the result of reading `token`, unless something was invalidated since `generation`, from before the read.
    func keep(_ token: Digest256, _ found: SignedIn?, readAt generation: UInt64) {
        state.withLock { state in
            let loops = state.missing.removeValue(forKey: token)
            guard let found else { return }
            for loop in loops ?? [] where state.found[loop].count < Self.waiting {
                state.found[loop].append((found, generation))
            }
            let place = state.next
            state.next = (place + 1) % capacity
            if place == state.sessions.count { state.sessions.append(found) } else { state.sessions[place] = found }
            let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: place >> $0) }
            state.cache.keep(bytes, of: found, readAt: generation)
        }
    }
}
