package import Coding
import Crypto
import Storage
import Synchronization

/// Work that one of the processes sharing a database does for all of them.
package enum LeasedJob: String, Sendable, CaseIterable {
    case revocations
    case webhooks
    /// Asking Apple whether credentials are still valid.
    case credentialChecks
    case transfer
}

/// One process's hold on a recurring job. Asks the store only when the lease must be extended.
final class LeaseHold: Sendable {
    private let job: LeasedJob
    private let database: Database
    private let seconds: Int64
    private let holder: String
    private let end = Mutex<Timestamp?>(nil)

    /// - Parameter seconds: how long other processes wait if this one is killed.
    init(_ job: LeasedJob, in database: Database, seconds: Int64, random: any RandomSource) {
        self.job = job
        self.database = database
        self.seconds = seconds
        holder = Hexadecimal.encode(random.bytes(16))
    }

    /// Acquires or extends the lease; false when another process holds it.
    func acquire(at now: Timestamp) async throws(Failure) -> Bool {
        let length = seconds * 1_000
        // Extend when a third has passed, or when the clock was set back.
        if let end = end.withLock({ $0 }) {
            let rest = end.milliseconds - now.milliseconds
            if rest > length * 2 / 3, rest <= length { return true }
        }
        let isOurs = try await database.holdLease(job, holder: holder, seconds: seconds, at: now)
        end.withLock { $0 = isOurs ? now.adding(milliseconds: length) : nil }
        return isOurs
    }

    /// Whether the lease was acquired and has not ended.
    func isHeld(at now: Timestamp) -> Bool { end.withLock { end in end.map { now < $0 } ?? false } }

    /// Releases the lease, if this process holds it.
    func release() async {
        let had = end.withLock { end in
            defer { end = nil }
            return end != nil
        }
        guard had else { return }
        // If that fails, the lease expires.
        try? await database.releaseLease(job, holder: holder)
    }

    /// Runs the pieces that `round` returns, each in its own task, until `pause` returns false and all have ended.
    /// Then releases the lease.
    /// - Parameter round: returns what may begin now, and whether to ask again at once. Called after each pause and
    ///   whenever a piece finishes, so that work queued behind it does not wait.
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

/// Pauses work after the store failed: work that cannot be recorded would otherwise be repeated at once.
final class StoreRest: Sendable {
    /// Milliseconds.
    private static let length: Int64 = 5_000

    private let until = Mutex<Timestamp?>(nil)

    func isOver(at now: Timestamp) -> Bool {
        // An end farther away than the longest pause was set before the clock was set back.
        until.withLock { until in until.map { now >= $0 || $0 > now.adding(milliseconds: Self.length) } ?? true }
    }

    /// - Returns: whether this is the first failure.
    func begin(at now: Timestamp) -> Bool {
        until.withLock { until in
            defer { until = now.adding(milliseconds: Self.length) }
            return until == nil
        }
    }

    /// - Returns: whether the store had failed.
    func end() -> Bool {
        until.withLock { until in
            defer { until = nil }
            return until != nil
        }
    }
}

extension Database {
    /// Acquires a lease that is free or has ended, or extends it for its holder, a process by a random name; false when
    /// another has it. It must last longer than any single step of the job.
    package func holdLease(
        _ job: LeasedJob, holder: String, seconds: Int64, at now: Timestamp
    ) async throws(Failure) -> Bool {
        // Machines compare one clock: each measures how far its own is from the database's.
        let now = now.adding(milliseconds: store.clockDifference)
        return try await write(at: now) { transaction in
            // A lease that ends twice as late as one begun now is from before the clock was set back, and is void.
            try transaction.change(
                """
                INSERT INTO lease (job, holder, expires_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (job) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
                WHERE lease.holder = excluded.holder OR lease.expires_at <= ?4
                OR lease.expires_at > 2 * CAST(?3 AS BIGINT) - ?4
                """, [job, holder, now.adding(seconds: seconds), now]) > 0
        }
    }

    /// Releases the lease early, so that another process need not wait. Does nothing if another process holds it.
    package func releaseLease(_ job: LeasedJob, holder: String) async throws(Failure) {
        try await write { transaction in
            try transaction.run("DELETE FROM lease WHERE job = ? AND holder = ?", [job, holder])
        }
    }
}
