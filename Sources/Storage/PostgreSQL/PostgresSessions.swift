import Coding
import Crypto
import RelyingParty
import Synchronization

/// The sessions that requests have read lately, for all loops of the process.
///
/// A loop must not wait for the network: on a miss of its own cache it looks here, and what is not here either is read
/// by the request, off the loop, and kept.
final class PostgresSessions: Sendable {
    private let cache: Mutex<SessionCache<SignedIn>>
    private let invalidations: SessionInvalidations

    init(invalidations: SessionInvalidations, limits: SessionLimits, capacity: Int = 16_384) {
        self.invalidations = invalidations
        cache = Mutex(
            SessionCache(reader: NoReader(), invalidations: invalidations, limits: limits, capacity: capacity))
    }

    /// A session that may be answered without asking the database. Not one whose `lastSeenAt` is due to be written: then
    /// it is read again, so that what is shown of it stays true to a minute.
    func kept(_ token: Digest256, at now: Timestamp) -> SignedIn? {
        cache.withLock { $0.kept(token, at: now) }
    }

    /// Keeps what was read, unless something was invalidated since before the read.
    /// - Parameter generation: of the invalidations, taken before the read.
    func keep(_ found: SignedIn, readAt generation: UInt64) {
        cache.withLock { $0.keep(found, of: found, readAt: generation) }
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
