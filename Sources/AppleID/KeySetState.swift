import Coding
import Crypto

/// What a waiter is woken with.
enum KeySetSignal: Hashable, Sendable {
    /// The flight is over, well or badly: look again.
    case ended
    /// The leader was cancelled: the fetch is yours now.
    case lead
}

/// The state behind `AppleKeySet`: decides, does no I/O, and returns what to do. Guarded by one lock.
struct KeySetState {
    /// What a caller in need of a key does next.
    enum Step {
        case found(RSAPublicKey)
        case refused(KeySetFailure)
        case loadArchive, waitForArchive
        case lead, wait
    }

    /// Continuations to resume, outside the lock.
    struct Resumption {
        var continuations: [CheckedContinuation<KeySetSignal, Never>] = []
        var signal = KeySetSignal.ended

        func resume() {
            for continuation in continuations { continuation.resume(returning: signal) }
        }
    }

    private enum Work {
        case loading, fetching
    }

    /// One piece of work in progress, and who waits for it.
    private struct Flight {
        var work: Work
        var handovers = 0
        var waiters: [UInt64: CheckedContinuation<KeySetSignal, Never>] = [:]
    }

    /// A cancelled leader passes its fetch on at most this often, so that a flight ends.
    static let maximumHandovers = 3

    private var keys: JWKSet?
    private var fetchedAt = Timestamp(milliseconds: 0)
    private var isArchiveLoaded = false
    private var flight: Flight?
    /// When an unknown kid last caused a fetch.
    private var unknownKeyFetchAt: Timestamp?
    private var failedAt: Timestamp?
    private var failures: Int64 = 0
    private var tickets: UInt64 = 0

    // MARK: Deciding

    mutating func step(toward kid: String, hasFetched: Bool, policy: KeySetPolicy, at now: Timestamp) -> Step {
        dropExpired(policy: policy, at: now)
        if let key = keys?.key(for: kid) { return .found(key) }
        guard isArchiveLoaded else {
            if flight != nil { return .waitForArchive }
            flight = Flight(work: .loading)
            return .loadArchive
        }
        if hasFetched {
            // One fetch was had, by us or by the one we joined; a set older than that says nothing about this kid.
            guard keys != nil else { return .refused(.unavailable("the key set could not be fetched")) }
            return .refused(failures == 0 ? .unknownKey : .coolingDown)
        }
        if flight != nil { return .wait }
        if keys == nil {
            guard mayRetry(policy: policy, at: now) else {
                return .refused(.unavailable("the key set could not be fetched a moment ago"))
            }
        } else {
            if let last = unknownKeyFetchAt, !hasElapsed(policy.unknownKeyCoolDown, since: last, at: now) {
                return .refused(.coolingDown)
            }
            unknownKeyFetchAt = now
        }
        flight = Flight(work: .fetching)
        return .lead
    }

    mutating func heldKey(for kid: String, policy: KeySetPolicy, at now: Timestamp) -> RSAPublicKey? {
        dropExpired(policy: policy, at: now)
        return keys?.key(for: kid)
    }

    /// Whether the caller is to fetch, because the set is old enough.
    mutating func beginRenewal(policy: KeySetPolicy, at now: Timestamp) -> Bool {
        guard isArchiveLoaded, keys != nil, flight == nil, hasElapsed(policy.renewalAge, since: fetchedAt, at: now),
            failedAt.map({ hasElapsed(policy.unknownKeyCoolDown, since: $0, at: now) }) ?? true
        else { return false }
        flight = Flight(work: .fetching)
        return true
    }

    /// Whether the caller is to load the archive.
    mutating func beginLoading() -> Bool {
        guard !isArchiveLoaded, flight == nil else { return false }
        flight = Flight(work: .loading)
        return true
    }

    /// Whether the caller is to fetch, because there is nothing.
    mutating func beginFirstFetch(policy: KeySetPolicy, at now: Timestamp) -> Bool {
        dropExpired(policy: policy, at: now)
        guard isArchiveLoaded, keys == nil, flight == nil, mayRetry(policy: policy, at: now) else { return false }
        flight = Flight(work: .fetching)
        return true
    }

    // MARK: Ending work

    /// A fetch succeeded with at least one usable key.
    mutating func endFetch(keys: JWKSet, at now: Timestamp) -> Resumption {
        self.keys = keys
        fetchedAt = now
        failures = 0
        failedAt = nil
        return endFlight()
    }

    /// A fetch failed. When only its leader was cancelled, one of the waiters goes on.
    mutating func endFetch(wasCancelled: Bool, at now: Timestamp) -> Resumption {
        if wasCancelled, var current = flight, current.handovers < Self.maximumHandovers,
            let next = current.waiters.keys.min(), let heir = current.waiters.removeValue(forKey: next)
        {
            current.handovers += 1
            flight = current
            return Resumption(continuations: [heir], signal: .lead)
        }
        // A cancelled fetch with nobody waiting says nothing about Apple.
        if !wasCancelled || waiterCount > 0 {
            failures = min(failures + 1, 16)
            failedAt = now
        }
        return endFlight()
    }

    /// The archive was read. Its age counts from when Apple answered; a set dated ahead of our clock is due for
    /// renewal at once. Whoever was cancelled may have read nothing for that reason: the next caller tries again.
    mutating func endLoading(_ loaded: (keys: JWKSet, fetchedAt: Timestamp)?, wasCancelled: Bool) -> Resumption {
        isArchiveLoaded = loaded != nil || !wasCancelled
        if keys == nil, let loaded {
            keys = loaded.keys
            fetchedAt = loaded.fetchedAt
        }
        return endFlight()
    }

    private mutating func endFlight() -> Resumption {
        defer { flight = nil }
        return Resumption(continuations: flight.map { Array($0.waiters.values) } ?? [])
    }

    // MARK: Waiting

    var waiterCount: Int { flight?.waiters.count ?? 0 }

    mutating func nextTicket() -> UInt64 {
        tickets += 1
        return tickets
    }

    /// False when the flight has ended meanwhile.
    mutating func register(_ continuation: CheckedContinuation<KeySetSignal, Never>, ticket: UInt64) -> Bool {
        guard flight != nil else { return false }
        flight?.waiters[ticket] = continuation
        return true
    }

    mutating func remove(ticket: UInt64) -> CheckedContinuation<KeySetSignal, Never>? {
        flight?.waiters.removeValue(forKey: ticket)
    }

    // MARK: Times

    private mutating func dropExpired(policy: KeySetPolicy, at now: Timestamp) {
        // A clock that went backwards makes no set expire; it makes it due for renewal.
        if keys != nil, now >= fetchedAt.adding(seconds: policy.maximumAge) { keys = nil }
    }

    private func mayRetry(policy: KeySetPolicy, at now: Timestamp) -> Bool {
        guard let failedAt, failures > 0 else { return true }
        let pause = min(policy.firstRetryPause << (failures - 1), policy.unknownKeyCoolDown)
        return hasElapsed(pause, since: failedAt, at: now)
    }

    /// A moment in the future counts as long past: the clock was set back, and waiting for it could take for ever.
    private func hasElapsed(_ seconds: Int64, since moment: Timestamp, at now: Timestamp) -> Bool {
        now < moment || now >= moment.adding(seconds: seconds)
    }
}
