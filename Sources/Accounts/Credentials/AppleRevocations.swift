import Coding
package import Crypto
import Logging
package import Storage

/// Revokes the tokens of deleted accounts at Apple, one after another, with growing pauses while Apple does not answer, and
/// gives up after seven days. The same with a token that no sealing key opens: the operator may restore its key.
///
/// The entry is marked as in flight before Apple is asked, which makes concurrent sign-ins of the person safe: one that
/// completes before the mark removes the entry, and nothing is sent; one that completes after the mark, even after Apple's
/// answer, is refused, because Apple may end it. An attempt that begins after Apple's answer is a first sign-in.
package final class AppleRevocations: Sendable {
    /// Seconds that a request may be in flight, more than the HTTP client allows; a crash refuses sign-ins this long.
    package static let flightTime: Int64 = 30
    /// How long the lease lasts without being extended, in seconds.
    static let leaseTime: Int64 = 60
    /// Pauses between attempts, in seconds; the last one repeats.
    package static let pauses: [Int64] = [5, 20, 80, 320, 1_280, 5_120, 21_600]
    /// The most tokens in one round.
    static let batch = 50

    private let database: Database
    private let lease: LeaseHold
    private let rest = StoreRest()
    private let provider: any IdentityProvider
    private let keyring: SealingKeyring
    private let runtime: Runtime

    package init(database: Database, provider: any IdentityProvider, keyring: SealingKeyring, runtime: Runtime) {
        self.database = database
        self.provider = provider
        self.keyring = keyring
        self.runtime = runtime
        lease = LeaseHold(.revocations, in: database, seconds: Self.leaseTime, random: runtime.random)
    }

    private var clock: any WallClock { runtime.clock }
    private var logger: Logger { runtime.logger }

    package func round(while goesOn: () -> Bool = { true }) async {
        guard rest.isOver(at: clock.now()) else { return }
        do throws(Failure) {
            let due = try await database.dueRevocations(at: clock.now(), limit: Self.batch)
            _ = rest.end()
            if due.isEmpty { return }
            for entry in due where goesOn() {
                guard try await lease.acquire(at: clock.now()) else { return }
                try await revoke(entry)
            }
            await stop()
        } catch {
            // Logged once, not every second.
            if rest.begin(at: clock.now()) {
                logger.error("revocation queue not readable", metadata: ["cause": "\(error)"])
            }
        }
    }

    package func stop() async { await lease.release() }

    private func revoke(_ entry: QueuedRevocation) async throws(Failure) {
        let now = clock.now()
        let deadline = now.adding(seconds: Self.flightTime)
        guard try await database.beginRevocation(entry.id, at: now, until: deadline) else { return }
        let token: RefreshToken
        do throws(SealingError) {
            token = try open(entry)
        } catch {
            return try await postpone(entry, reason: Self.unreadable, detail: detail(error, entry), level: .error)
        }
        do throws(TokenFailure) {
            try await provider.revoke(token, clientID: entry.clientID)
        } catch {
            var level = Logger.Level.warning
            if case .clientRefused = error { level = .error }
            return try await postpone(entry, reason: error.reason, detail: error.detail, level: level)
        }
        guard try await database.finishRevocation(entry.id, at: clock.now()) else { return }
        logger.info(
            "token revoked at Apple after deletion", metadata: ["attempts": .stringConvertible(entry.attempts + 1)])
    }

    private func postpone(
        _ entry: QueuedRevocation, reason: String, detail: String, level: Logger.Level
    ) async throws(Failure) {
        let now = clock.now()
        let end = entry.queuedAt.adding(seconds: QueuedRevocation.lifetime)
        guard now < end else { return try await abandon(entry, reason: reason, detail: detail) }
        let pause = Self.pauses[min(entry.attempts, Self.pauses.count - 1)]
        // Try once more when the time is over.
        try await database.postponeRevocation(entry.id, until: min(now.adding(seconds: pause), end), failure: reason)
        // Nothing changes until the operator acts, so log it once.
        if reason == Self.unreadable, entry.failure == Self.unreadable { return }
        logger.log(
            level: level, "token revocation at Apple failed",
            metadata: [
                "reason": "\(reason)", "detail": "\(detail)", "attempts": .stringConvertible(entry.attempts + 1),
            ])
    }

    private func abandon(_ entry: QueuedRevocation, reason: String, detail: String) async throws(Failure) {
        try await database.postponeRevocation(entry.id, until: nil, failure: reason)
        logger.error(
            "token revocation at Apple abandoned",
            metadata: [
                "reason": "\(reason)", "detail": "\(detail)", "attempts": .stringConvertible(entry.attempts + 1),
            ])
    }

    private static let unreadable = "unreadable"

    private func open(_ entry: QueuedRevocation) throws(SealingError) -> RefreshToken {
        let bytes = try QueuedToken.open(entry.sealedRefreshToken, context: entry.context, keyring: keyring)
        guard let token = RefreshToken(opened: bytes) else { throw .malformed }
        return token
    }

    private func detail(_ error: SealingError, _ entry: QueuedRevocation) -> String {
        switch error {
        case .unknownKey:
            let id = QueuedToken.keyID(of: entry.sealedRefreshToken, context: entry.context, keyring: keyring)
            return "sealed by the key \(id ?? "?"), which this server does not have"
        case .notAuthentic: return "this server has its sealing key, which does not open it: it was changed"
        case .malformed: return "in an unknown format"
        }
    }
}
