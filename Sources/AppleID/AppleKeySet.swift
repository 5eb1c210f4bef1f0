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
/// After a failed fetch there is a pause, and callers that need a key wait for its end, for some seconds: a server that
/// starts before its network signs people in as soon as Apple can be reached.
package final class AppleKeySet: Sendable {
    private let archive: any KeySetArchive
    private let runtime: Runtime
    private let pause: KeySetPause
    private let fetchBytes: @Sendable () async throws(Failure) -> [UInt8]
    private let state = Mutex(KeySetState())

    /// - Parameter fetch: the content of one answer, already bounded and declared as JSON.
    package init(
        archive: any KeySetArchive, runtime: Runtime, pause: @escaping KeySetPause = { _ in false },
        fetch: @escaping @Sendable () async throws(Failure) -> [UInt8]
    ) {
        self.archive = archive
        self.runtime = runtime
        self.pause = pause
        fetchBytes = fetch
    }

    private var clock: any WallClock { runtime.clock }
    private var logger: Logger { runtime.logger }

    /// The key with this `kid`. A held key is returned at once, even during a fetch; for another, at most one fetch
    /// that Apple answers is made.
    /// - Parameter known: a key with this kid that did not verify: looks for another one, within the same bounds.
    package func key(for kid: String, otherThan known: RSAPublicKey? = nil) async throws(Failure) -> RSAPublicKey {
        var visit = state.withLock { $0.beginVisit(at: clock.now()) }
        while true {
            let step = state.withLock { $0.step(toward: kid, otherThan: known, visit, at: clock.now()) }
            switch step {
            case .found(let key): return key
            case .refused(let failure): throw failure
            default: guard await perform(step, &visit) else { throw .withoutKeys("the key set cannot be fetched") }
            }
            if Task.isCancelled { throw .withoutKeys("the request was cancelled") }
        }
    }

    func heldKey(for kid: String) -> RSAPublicKey? {
        state.withLock { $0.heldKey(for: kid, at: clock.now()) }
    }

    /// Fetches when the set is due for renewal and nobody is fetching; otherwise returns at once. Runs alongside other
    /// work that waits for Apple, so that no visitor waits only for it. Failures are only logged.
    package func renewIfDue() async {
        if beginRenewal() { await renew() }
    }

    /// The first of two steps, for callers that would start a task: whether they must call `renew` now, once.
    func beginRenewal() -> Bool { state.withLock { $0.beginRenewal(at: clock.now()) } }

    /// Loads the archive, so that the first sign-in after a restart need not; without a usable one, fetches until Apple
    /// answers. Returns when there is a set, or when a pause says that the process ends.
    package func prepare() async {
        var visit = state.withLock { $0.beginVisit(at: clock.now()) }
        while !Task.isCancelled, let step = state.withLock({ $0.firstStep(visit, at: clock.now()) }),
            await perform(step, &visit)
        {}
    }

    private func perform(_ step: KeySetState.Step, _ visit: inout KeySetState.Visit) async -> Bool {
        switch step {
        case .found, .refused: return false
        case .loadArchive: await loadArchive()
        case .lead: await renew()
        case .wait: if await wait() { await renew() }
        case .pause(let milliseconds, let failure):
            guard await pause(milliseconds) else { return false }
            visit.paused += milliseconds
            visit.pausedAfter = failure
        }
        return true
    }

    /// Callers that now wait for a fetch that another one leads.
    package var waitingCallers: Int { state.withLock { $0.waiterCount } }

    /// Leads a fetch that has begun, and ends it whatever happens.
    func renew() async {
        do throws(Failure) {
            let fetched = try await fetchBytes()
            let now = clock.now()
            let keys = try Self.parse(fetched)
            state.withLock { $0.endFetch(keys: keys, at: now) }.resume()
            let isRecovery = state.withLock { $0.endsLoggedFailures() }
            logger.log(
                level: isRecovery ? .notice : .debug, "Apple's keys fetched",
                metadata: ["keys": .stringConvertible(keys.rs256Keys.count)])
            do {
                try await archive.saveKeySet(StoredKeySet(document: fetched, fetchedAt: now))
            } catch {
                // Keys in memory continue to work.
                logger.warning("Apple's keys not stored", metadata: ["cause": "\(error)"])
            }
        } catch {
            let wasCancelled = Task.isCancelled
            // Logged first, so that the cause comes before the sign-ins that failed because of it.
            let isNews = state.withLock { $0.shouldLogFailure(at: clock.now()) }
            logger.log(level: isNews ? .warning : .debug, "Apple's keys unavailable", metadata: ["cause": "\(error)"])
            state.withLock { $0.endFetch(wasCancelled: wasCancelled, at: clock.now()) }.resume()
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
        state.withLock { $0.endLoading(loaded, wasCancelled: Task.isCancelled) }.resume()
    }

    /// Refuses a set without a usable key, so that it never replaces a good one.
    static func parse(_ bytes: [UInt8]) throws(Failure) -> JWKSet {
        let keys = try translating(try JWKSet.parse(bytes)) { (error: JOSEError) in
            Failure.withoutKeys("the key set is unusable: \(error)")
        }
        guard !keys.rs256Keys.isEmpty else { throw .withoutKeys("the key set has no usable RSA key") }
        return keys
    }

    /// Waits for the fetch in progress, if there is one. Returns whether it is now ours to lead.
    private func wait() async -> Bool {
        let ticket = state.withLock { $0.nextTicket() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: KeySetState.Waiter) in
                // The flag is set before the handler below runs, and the handler needs this lock: either it is seen
                // here, or the handler finds the waiter. No continuation is lost between the two.
                let isRegistered = state.withLock { state in
                    !Task.isCancelled && state.register(waiter, ticket: ticket)
                }
                if !isRegistered { waiter.resume(returning: false) }
            }
        } onCancel: {
            state.withLock { $0.remove(ticket: ticket) }?.resume(returning: false)
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
