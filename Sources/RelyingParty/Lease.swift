package import Coding
import Crypto
import Synchronization

/// Work that one process does for all that share a database.
package enum LeasedJob: String, Sendable, CaseIterable {
    /// Telling Apple of deleted accounts.
    case revocations
    /// Delivering events to applications.
    case webhooks
    /// Asking Apple whether credentials still stand.
    case credentialChecks
    /// Asking the application to drop passwords.
    case conversions
}

/// Who does a job, among overlapping processes: one holder at a time, until its lease ends.
package protocol LeaseStore: Sendable {
    /// Takes the lease when it is free or has ended, and prolongs it for who holds it already.
    /// - Parameters:
    ///   - holder: names one process; random.
    ///   - seconds: how long it is held unless prolonged. Longer than any one step of the job may take.
    /// - Returns: whether `holder` has it now.
    func holdLease(
        _ job: LeasedJob, holder: String, seconds: Int64, at now: Timestamp
    ) async throws(StoreError) -> Bool
    /// Gives the lease back early, so that another process need not wait. Nothing happens when it is another's.
    func releaseLease(_ job: LeasedJob, holder: String) async throws(StoreError)
}

/// One process's hold on a job that it does again and again: asks the store only when the lease must be prolonged.
final class LeaseHold: Sendable {
    private let job: LeasedJob
    private let leases: any LeaseStore
    private let seconds: Int64
    private let holder: String
    private let end = Mutex<Timestamp?>(nil)

    /// - Parameter seconds: how long others keep away when this process is killed.
    init(_ job: LeasedJob, in leases: any LeaseStore, seconds: Int64, random: any RandomSource) {
        self.job = job
        self.leases = leases
        self.seconds = seconds
        holder = Hexadecimal.encode(random.bytes(16))
    }

    /// Takes the lease or prolongs it; false when another process has it.
    func acquire(at now: Timestamp) async throws(StoreError) -> Bool {
        let length = seconds * 1_000
        // Prolonged when a third of it is gone, or when the clock was set back.
        if let end = end.withLock({ $0 }) {
            let rest = end.milliseconds - now.milliseconds
            if rest > length * 2 / 3, rest <= length { return true }
        }
        let isOurs = try await leases.holdLease(job, holder: holder, seconds: seconds, at: now)
        end.withLock { $0 = isOurs ? now.adding(milliseconds: length) : nil }
        return isOurs
    }

    /// Whether it was taken and has not ended since.
    func isHeld(at now: Timestamp) -> Bool {
        end.withLock { end in end.map { now < $0 } ?? false }
    }

    /// Lets others have it, if this process had it.
    func release() async {
        let had = end.withLock { end in
            defer { end = nil }
            return end != nil
        }
        guard had else { return }
        // Failing that, it ends by itself.
        try? await leases.releaseLease(job, holder: holder)
    }
}

extension LeaseHold {
    /// Does what `round` finds, each piece in a task of its own, until `pause` says that the process ends and what is
    /// under way is done. Then others may have the lease.
    /// - Parameters:
    ///   - pause: waits a moment; false ends the work.
    ///   - round: takes what may begin now, and says whether to ask again at once. Asked after each pause, and whenever a
    ///     piece is done: what waited behind it need not wait for the next pause.
    func work<Piece: Sendable>(
        pause: @escaping @Sendable () async -> Bool, round: () async -> ([Piece], hasMore: Bool),
        each: @escaping @Sendable (Piece) async -> Void
    ) async {
        let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask {
                repeat { waker.yield() } while await pause()
                waker.finish()
            }
            for await _ in wakes {
                let (pieces, hasMore) = await round()
                for piece in pieces {
                    group.addTask {
                        await each(piece)
                        waker.yield()
                    }
                }
                if hasMore { waker.yield() }
            }
        }
        await release()
    }
}

/// A queue that one process at a time works through, round by round.
package protocol LeasedQueue: Sendable {
    /// Does what is due, unless another process does; returns when it is done or the store does not answer.
    /// - Parameter goesOn: asked before each request; false ends the round.
    func round(while goesOn: () -> Bool) async
    /// Lets another process do it.
    func stop() async
}

/// Leaves a store alone that failed, for a while: what cannot be recorded would be done again at once, and again.
final class StoreRest: Sendable {
    /// In milliseconds.
    private static let length: Int64 = 5_000

    private let until = Mutex<Timestamp?>(nil)

    func isOver(at now: Timestamp) -> Bool {
        // An end farther away than any rest is of a clock that has been set back.
        until.withLock { until in until.map { now >= $0 || $0 > now.adding(milliseconds: Self.length) } ?? true }
    }

    /// - Returns: whether the store had worked until now.
    func begin(at now: Timestamp) -> Bool {
        until.withLock { until in
            defer { until = now.adding(milliseconds: Self.length) }
            return until == nil
        }
    }

    /// - Returns: whether the store had failed before.
    func end() -> Bool {
        until.withLock { until in
            defer { until = nil }
            return until != nil
        }
    }
}
