package import Accounts
import Coding
package import Crypto
import Logging
package import Storage
import Synchronization

/// Apple's public keys as last fetched, shared by all verifications.
///
/// One fetch at a time: the first caller that needs it leads and runs it in its own task; the others wait for it. A
/// cancelled leader hands the fetch over to one of them. A failed, empty or invalid answer leaves the last good set in
/// place; a success is archived, so that it survives a restart.
///
/// After a failed fetch there is a pause, and callers that need a key wait for its end as long as `KeySetPolicy`
/// allows: a server that starts before its network signs people in as soon as Apple can be reached.
package final class AppleKeySet: Sendable {
    private let archive: any KeySetArchive
    private let policy: KeySetPolicy
    private let runtime: Runtime
    private let pause: KeySetPause
    private let fetchBytes: @Sendable () async throws(Failure) -> [UInt8]
    private let state = Mutex(KeySetState())

    /// - Parameter fetch: the content of one answer, already bounded and declared as JSON.
    package init(
        archive: any KeySetArchive, policy: KeySetPolicy = KeySetPolicy(), runtime: Runtime,
        pause: @escaping KeySetPause = { _ in false },
        fetch: @escaping @Sendable () async throws(Failure) -> [UInt8]
    ) {
        self.archive = archive
        self.policy = policy
        self.runtime = runtime
        self.pause = pause
        fetchBytes = fetch
    }

    private var clock: any WallClock { runtime.clock }
    private var logger: Logger { runtime.logger }

    /// The key with this `kid`. A held key is returned at once, even during a fetch; for another, at most one fetch
    /// that Apple answers is made.
    /// - Parameter known: a key with this kid that did not verify: looks for another one, within the same bounds.
    package func key(
        for kid: String, otherThan known: RSAPublicKey? = nil
    ) async throws(Failure) -> RSAPublicKey {
        var visit = state.withLock { $0.beginVisit(at: clock.now()) }
        while true {
            let step = state.withLock {
                $0.step(toward: kid, otherThan: known, visit, policy: policy, at: clock.now())
            }
            switch step {
            case .found(let key): return key
            case .refused(let failure): throw failure
            case .loadArchive: await loadArchive()
            case .lead: await fetch()
            case .wait, .waitForArchive: if await wait() == .lead { await fetch() }
            case .pause(let milliseconds, let failure):
                guard await pause(milliseconds) else { throw .withoutKeys("the key set cannot be fetched") }
                visit.paused += milliseconds
                visit.pausedAfter = failure
            }
            if Task.isCancelled { throw .withoutKeys("the request was cancelled") }
        }
    }

    /// The key with this `kid` in the present set, if there is one.
    func heldKey(for kid: String) -> RSAPublicKey? {
        state.withLock { $0.heldKey(for: kid, policy: policy, at: clock.now()) }
    }

    /// Fetches when the set is due for renewal and nobody is fetching; otherwise returns at once. Runs alongside other
    /// work that waits for Apple, so that no visitor waits for it alone. Failures are only logged.
    package func renewIfDue() async {
        if beginRenewal() { await fetch() }
    }

    /// The same in two steps, for callers that would start a task for it.
    /// - Returns: whether `renew` must be called now, once.
    func beginRenewal() -> Bool { state.withLock { $0.beginRenewal(policy: policy, at: clock.now()) } }

    func renew() async { await fetch() }

    /// Loads the archive, so that the first sign-in after a restart need not; without a usable one, fetches until Apple
    /// answers. Returns when there is a set, or when a pause says that the process ends.
    package func prepare() async {
        var visit = state.withLock { $0.beginVisit(at: clock.now()) }
        while !Task.isCancelled,
            let step = state.withLock({ $0.firstStep(visit, policy: policy, at: clock.now()) })
        {
            switch step {
            case .loadArchive: await loadArchive()
            case .lead: await fetch()
            case .pause(let milliseconds, let failure):
                guard await pause(milliseconds) else { return }
                visit.pausedAfter = failure
            case .wait, .waitForArchive:
                if await wait() == .lead { await fetch() }
            case .found, .refused: return
            }
        }
    }

    /// Callers that now wait for a fetch that another one leads.
    package var waitingCallers: Int { state.withLock { $0.waiterCount } }

    /// Leads: the fetch has begun and is ours to end, whatever happens.
    private func fetch() async {
        do throws(Failure) {
            let fetched = try await fetchBytes()
            let now = clock.now()
            let keys = try Self.parse(fetched)
            let resumption = state.withLock { $0.endFetch(keys: keys, at: now) }
            resumption.resume()
            let isRecovery = state.withLock { $0.isRecoveryToTell() }
            logger.log(
                level: isRecovery ? .notice : .debug, "Apple's keys fetched",
                metadata: ["keys": "\(keys.rs256Keys.count)"])
            await save(StoredKeySet(document: fetched, fetchedAt: now))
        } catch {
            let wasCancelled = Task.isCancelled
            // Logged first, so that the cause comes before the sign-ins that failed because of it.
            let isTold = state.withLock { $0.isFailureToTell(at: clock.now()) }
            logger.log(
                level: isTold ? .warning : .debug, "Apple's keys unavailable", metadata: ["cause": "\(error)"]
            )
            let resumption = state.withLock { $0.endFetch(wasCancelled: wasCancelled, at: clock.now()) }
            resumption.resume()
        }
    }

    /// A failure is only logged: keys in memory continue to work.
    private func save(_ keySet: StoredKeySet) async {
        do {
            try await archive.saveKeySet(keySet)
        } catch {
            logger.warning("Apple's keys not stored", metadata: ["cause": "\(error)"])
        }
    }

    private func loadArchive() async {
        var loaded: (keys: JWKSet, fetchedAt: Timestamp)?
        do {
            let archived = try await archive.loadKeySet()
            do throws(Failure) {
                if let archived { loaded = (try Self.parse(archived.document), archived.fetchedAt) }
            } catch {
                logger.warning("Apple's stored keys not usable", metadata: ["cause": "\(error)"])
            }
        } catch {
            logger.warning("Apple's stored keys not readable", metadata: ["cause": "\(error)"])
        }
        let resumption = state.withLock { $0.endLoading(loaded, wasCancelled: Task.isCancelled) }
        resumption.resume()
    }

    /// A set without a usable key is no key set: it never replaces a good one.
    static func parse(_ bytes: [UInt8]) throws(Failure) -> JWKSet {
        let keys = try translating(try JWKSet.parse(bytes)) { (error: JOSEError) in
            Failure.withoutKeys("the key set is unusable: \(error)")
        }
        guard !keys.rs256Keys.isEmpty else { throw .withoutKeys("the key set holds no usable RSA key") }
        return keys
    }

    /// Waits for the fetch in progress; returns at once when it has ended.
    private func wait() async -> KeySetSignal {
        let ticket = state.withLock { $0.nextTicket() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<KeySetSignal, Never>) in
                // The flag is set before the handler below runs, and the handler needs this lock: either it is seen
                // here, or the handler finds the waiter. No continuation is lost between the two.
                let isRegistered = state.withLock { state in
                    !Task.isCancelled && state.register(continuation, ticket: ticket)
                }
                if !isRegistered { continuation.resume(returning: .ended) }
            }
        } onCancel: {
            state.withLock { $0.remove(ticket: ticket) }?.resume(returning: .ended)
        }
    }
}

/// Stores the last good key set across restarts: the database.
package protocol KeySetArchive: Sendable {
    func loadKeySet() async throws -> StoredKeySet?
    func saveKeySet(_ keySet: StoredKeySet) async throws
}

extension Database: KeySetArchive {}

/// Waits for this many milliseconds; false when the process ends first, or waiting is not allowed here.
package typealias KeySetPause = @Sendable (_ milliseconds: Int64) async -> Bool

/// The times of the key set.
///
/// Unknown kids, and signatures that a held key does not verify, cost at most one answered fetch a minute. While
/// fetches fail and a set is held, that is eleven in the first two minutes (pauses of 0.1, 0.2, 0.4 … 51.2 s) and then
/// one a minute. While none is held nobody can sign in; then a waiting caller causes at most one fetch in five seconds.
package struct KeySetPolicy: Hashable, Sendable {
    /// The age at which a set is renewed alongside other work, in seconds.
    package var renewalAge: Int64 = 3_600
    /// The age from which a set is no longer trusted, in seconds.
    package var maximumAge: Int64 = 7 * 86_400
    /// Unknown kids cause at most one answered fetch in this time, in seconds; also the longest pause when nobody
    /// waits.
    package var unknownKeyCoolDown: Int64 = 60
    /// The first pause after a failure, doubled with each further one, in milliseconds.
    package var firstPause: Int64 = 100
    /// The longest pause while no set is held and a caller waits, in milliseconds.
    package var longestPause: Int64 = 5_000
    /// How long a caller waits in pauses, in milliseconds: at least `longestPause`, so that every caller that needs a
    /// key causes one more fetch.
    package var patience: Int64 = 6_000
    /// How long a fetch may take before the client gives it up, in milliseconds.
    package var longestFetch: Int64 = 10_000
}
