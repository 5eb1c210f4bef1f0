import Accounts
import Coding
import Crypto

/// The state behind `AppleKeySet`: decides without I/O, and returns what to do. Guarded by one lock.
struct KeySetState {
    enum Step {
        case found(RSAPublicKey)
        case refused(Failure)
        case loadArchive, lead, wait
        /// Nothing may be fetched for this many milliseconds; then ask again, with the number of the failure before.
        case pause(milliseconds: Int64, after: UInt64)
    }

    struct Visit {
        fileprivate let began: Timestamp
        /// The number of fetches Apple had answered by then.
        fileprivate let answers: UInt64
        /// Milliseconds spent in pauses: a clock that stops or goes back does not prolong a visit.
        var paused: Int64 = 0
        /// The failure whose pause it has waited out.
        var pausedAfter: UInt64?

        /// Whether it may wait for this long and cause one more fetch. A caller that waited for a fetch that hung may.
        fileprivate func allows(pause: Int64, at now: Timestamp) -> Bool {
            paused + pause <= KeySetState.patience
                && now.milliseconds - began.milliseconds + pause <= KeySetState.patience + KeySetState.longestFetch
        }
    }

    /// A caller that waits. It is resumed with whether the fetch is now its own, because the leader was cancelled;
    /// otherwise the fetch has ended, successfully or not, and it checks again.
    typealias Waiter = CheckedContinuation<Bool, Never>

    struct Resumption {
        var waiters: [Waiter]
        var leads = false

        func resume() {
            for waiter in waiters { waiter.resume(returning: leads) }
        }
    }

    /// One read of the archive or one fetch in progress, and its waiters.
    private struct Flight {
        var isForUnknownKey = false
        var handovers = 0
        var waiters: [UInt64: Waiter] = [:]
    }

    /// A cancelled leader hands its fetch over at most this often, so that it ends.
    static let maximumHandovers = 3

    private var keys: JWKSet?
    private var fetchedAt = Timestamp(milliseconds: 0)
    private var isArchiveLoaded = false
    private var flight: Flight?
    /// When Apple last answered a fetch for an unknown kid.
    private var unknownKeyFetchAt: Timestamp?
    /// Fetches that Apple answered, since the start.
    private var answers: UInt64 = 0
    private var failedAt: Timestamp?
    /// In a row.
    private var failures: Int64 = 0
    /// Failures since the start: identifies a pause that is over, whatever the clock says.
    private var failureNumber: UInt64 = 0
    /// When this series of failures was last logged.
    private var loggedAt: Timestamp?
    private var tickets: UInt64 = 0

    // MARK: Deciding

    func beginVisit(at now: Timestamp) -> Visit { Visit(began: now, answers: answers) }

    /// - Parameter known: a key with this kid that did not verify; looks for another.
    mutating func step(toward kid: String, otherThan known: RSAPublicKey?, _ visit: Visit, at now: Timestamp) -> Step {
        dropExpired(at: now)
        if let key = keys?.key(for: kid), key != known { return .found(key) }
        guard isArchiveLoaded else {
            if flight != nil { return .wait }
            flight = Flight()
            return .loadArchive
        }
        // A fetch was answered in the meantime, for us or the caller we joined: what that set lacks is not Apple's.
        if visit.answers != answers, keys != nil { return .refused(.unknownKey) }
        if flight != nil { return .wait }
        if keys != nil, let last = unknownKeyFetchAt,
            !hasElapsed(milliseconds: Self.unknownKeyCoolDown, since: last, at: now)
        {
            return .refused(.coolingDown)
        }
        if let pause = pause(after: visit, at: now) {
            guard visit.allows(pause: pause, at: now) else {
                return .refused(keys == nil ? .withoutKeys("the key set cannot be fetched") : .coolingDown)
            }
            return .pause(milliseconds: pause, after: failureNumber)
        }
        flight = Flight(isForUnknownKey: keys != nil)
        return .lead
    }

    mutating func heldKey(for kid: String, at now: Timestamp) -> RSAPublicKey? {
        dropExpired(at: now)
        return keys?.key(for: kid)
    }

    /// Whether the caller should fetch, because the set is old enough.
    mutating func beginRenewal(at now: Timestamp) -> Bool {
        guard isArchiveLoaded, keys != nil, flight == nil,
            hasElapsed(milliseconds: Self.renewalAge, since: fetchedAt, at: now),
            failedAt.map({ hasElapsed(milliseconds: Self.unknownKeyCoolDown, since: $0, at: now) }) ?? true
        else { return false }
        flight = Flight()
        return true
    }

    mutating func firstStep(_ visit: Visit, at now: Timestamp) -> Step? {
        dropExpired(at: now)
        guard keys == nil else { return nil }
        guard flight == nil else { return .wait }
        guard isArchiveLoaded else {
            flight = Flight()
            return .loadArchive
        }
        // Nobody waits for this one, so the longer pause applies.
        if let pause = pause(after: visit, longest: Self.unknownKeyCoolDown, at: now) {
            return .pause(milliseconds: pause, after: failureNumber)
        }
        flight = Flight()
        return .lead
    }

    // MARK: Ending work

    /// Whether to log a failure: the first in a row, then once a minute.
    mutating func shouldLogFailure(at now: Timestamp) -> Bool {
        if let loggedAt, !hasElapsed(milliseconds: 60_000, since: loggedAt, at: now) { return false }
        loggedAt = now
        return true
    }

    /// Whether to log the recovery: failures were logged, and their end was not.
    mutating func endsLoggedFailures() -> Bool {
        defer { loggedAt = nil }
        return loggedAt != nil
    }

    /// A fetch succeeded with at least one usable key.
    mutating func endFetch(keys: JWKSet, at now: Timestamp) -> Resumption {
        self.keys = keys
        fetchedAt = now
        if flight?.isForUnknownKey == true { unknownKeyFetchAt = now }
        answers &+= 1
        failures = 0
        failedAt = nil
        return endFlight()
    }

    /// A fetch failed. If only its leader was cancelled, one of the waiters continues.
    mutating func endFetch(wasCancelled: Bool, at now: Timestamp) -> Resumption {
        if wasCancelled, var current = flight, current.handovers < Self.maximumHandovers,
            let next = current.waiters.keys.min(), let heir = current.waiters.removeValue(forKey: next)
        {
            current.handovers += 1
            flight = current
            return Resumption(waiters: [heir], leads: true)
        }
        // A cancelled fetch that nobody waits for says nothing about Apple.
        if !wasCancelled || waiterCount > 0 {
            failures = min(failures + 1, 16)
            failureNumber &+= 1
            failedAt = now
        }
        return endFlight()
    }

    /// The archive was read. Its age counts from when Apple answered; a set dated ahead of our clock is due for renewal
    /// at once. A cancelled caller may have read nothing because of that, so the next caller tries again.
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
        return Resumption(waiters: flight.map { Array($0.waiters.values) } ?? [])
    }

    // MARK: Waiting

    var waiterCount: Int { flight?.waiters.count ?? 0 }

    mutating func nextTicket() -> UInt64 {
        tickets += 1
        return tickets
    }

    /// False when the fetch has ended in the meantime.
    mutating func register(_ waiter: Waiter, ticket: UInt64) -> Bool {
        flight?.waiters[ticket] = waiter
        return flight != nil
    }

    mutating func remove(ticket: UInt64) -> Waiter? { flight?.waiters.removeValue(forKey: ticket) }

    // MARK: Times

    private mutating func dropExpired(at now: Timestamp) {
        // A clock that went back makes no set expire; it makes it due for renewal.
        if keys != nil, now >= fetchedAt.adding(milliseconds: Self.maximumAge) { keys = nil }
    }

    /// Milliseconds until the next fetch may begin; nil when it may at once.
    private func pause(after visit: Visit, at now: Timestamp) -> Int64? {
        // With a set, only callers that need what it lacks wait; without one, all do.
        pause(after: visit, longest: keys == nil ? Self.longestPause : Self.unknownKeyCoolDown, at: now)
    }

    private func pause(after visit: Visit, longest: Int64, at now: Timestamp) -> Int64? {
        guard let failedAt, failures > 0, visit.pausedAfter != failureNumber else { return nil }
        let pause = min(Self.firstPause << (failures - 1), longest)
        if hasElapsed(milliseconds: pause, since: failedAt, at: now) { return nil }
        return pause - (now.milliseconds - failedAt.milliseconds)
    }

    /// A time in the future counts as long past: the clock was set back, and waiting for it could take for ever.
    private func hasElapsed(milliseconds: Int64, since moment: Timestamp, at now: Timestamp) -> Bool {
        now < moment || now >= moment.adding(milliseconds: milliseconds)
    }
}

// The times of the key set, in milliseconds.
//
// Unknown kids, and signatures that a held key does not verify, cost at most one answered fetch a minute. While fetches
// fail and a set is held, that is eleven in the first two minutes (pauses of 0.1, 0.2, 0.4 … 51.2 s) and then one a
// minute. While none is held nobody can sign in; then a waiting caller causes at most one fetch in five seconds.
extension KeySetState {
    private static let renewalAge: Int64 = 3_600_000
    private static let maximumAge: Int64 = 7 * 86_400_000
    /// Unknown kids cause at most one answered fetch in this time; also the longest pause when nobody waits.
    private static let unknownKeyCoolDown: Int64 = 60_000
    /// The first pause after a failure, doubled with each further one.
    private static let firstPause: Int64 = 100
    /// The longest pause while no set is held and a caller waits.
    private static let longestPause: Int64 = 5_000
    /// How long a caller waits in pauses: at least `longestPause`, so that each that needs a key causes a fetch.
    private static let patience: Int64 = 6_000
    /// How long a fetch may take before it is abandoned.
    private static let longestFetch: Int64 = 10_000
}
