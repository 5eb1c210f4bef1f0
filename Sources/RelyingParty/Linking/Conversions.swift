package import Coding
package import Crypto
package import Logging
import Synchronization

/// Repeats conversions that the application has not answered, because of a crash, a timeout or an outage. Until it
/// answers, both the password and Apple work.
package final class Conversions: LeasedQueue {
    /// Pauses between attempts, in seconds; the last one repeats.
    package static let pauses: [Int64] = [5, 20, 80, 320, 1_280, 5_120, 21_600]
    /// How long the lease lasts without being extended, in seconds.
    static let leaseTime: Int64 = 60
    /// The most conversions in one round.
    static let batch = 50

    private let linking: Linking
    private let lease: LeaseHold
    private let rest = StoreRest()
    private let clock: any WallClock
    private let logger: Logger
    private let hasWarned = Mutex(false)

    package init(
        linking: Linking, leases: any LeaseStore, clock: any WallClock, random: any RandomSource, logger: Logger
    ) {
        self.linking = linking
        self.clock = clock
        self.logger = logger
        lease = LeaseHold(.conversions, in: leases, seconds: Self.leaseTime, random: random)
    }

    package func round(while goesOn: () -> Bool = { true }) async {
        guard rest.isOver(at: clock.now()) else { return }
        do throws(StoreError) {
            guard linking.passwords != nil else { return try await warn() }
            let due = try await linking.links.dueConversions(at: clock.now(), limit: Self.batch)
            _ = rest.end()
            if due.isEmpty { return }
            for link in due where goesOn() {
                guard try await lease.acquire(at: clock.now()) else { return }
                _ = try await linking.convert(link.key, onlyIfDue: true)
            }
        } catch {
            // Logged once, not every second.
            if rest.begin(at: clock.now()) {
                logger.error("conversion queue not readable", metadata: ["cause": "\(error.text)"])
            }
        }
    }

    /// Warns once: without a verifier no more are added.
    private func warn() async throws(StoreError) {
        guard !hasWarned.withLock({ $0 }) else { return }
        let waiting = try await linking.links.dueConversions(at: Timestamp(milliseconds: .max), limit: 1)
        hasWarned.withLock { $0 = true }
        if waiting.isEmpty { return }
        logger.warning("conversions waiting, but upgrade.verifierURL is not set")
    }

    package func stop() async { await lease.release() }

    static func pause(after attempts: Int) -> Int64 { pauses[min(max(0, attempts), pauses.count - 1)] }

    /// When an unanswered conversion is due again. Only the job's attempts lengthen the pause. A request may repeat as
    /// often as its client likes: it does not delay the job, and is told to come back soon.
    /// - Parameters:
    ///   - link: as it was before the attempt.
    ///   - counts: whether the job made the attempt.
    package static func next(
        for link: Link, at now: Timestamp, counts: Bool
    ) -> (due: Timestamp, retryAfter: Int64) {
        let pause = pause(after: link.attempts)
        let due = now.adding(seconds: pause)
        return counts ? (due, pause) : (min(link.nextAttemptAt ?? due, due), pauses[0])
    }
}
