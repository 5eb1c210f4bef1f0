package import Coding
import Synchronization

/// The database accepts no writes: a full or read-only disk, another process's lock, or damage. Known from the last
/// failed write, and over when a write shows that there is room again.
package struct StoreTrouble: Hashable, Sendable {
    package internal(set) var error: StoreError
    package internal(set) var failures: Int
    package let since: ContinuousClock.Instant

    package init(error: StoreError, failures: Int = 1, since: ContinuousClock.Instant) {
        self.error = error
        self.failures = failures
        self.since = since
    }

    /// Another process holds the lock: any successful write shows that it is over.
    package var isLock: Bool { if case .busy = error { true } else { false } }

    /// Whether a failure concerns the machine, not only the write.
    static func concernsMachine(_ error: StoreError) -> Bool {
        switch error {
        case .unavailable, .busy, .corrupt: true
        case .inconsistent: false
        }
    }
}

extension GroupCommit {
    /// Bytes that the probe writes during trouble: as many as a sign-in. Fewer might fit into what failed writes have
    /// left on a full disk, and declare a server ready at which nobody can sign in.
    static let probeSize = 65_536
}

/// Tests whether a write succeeds, once for all concurrent callers. Each waits no longer than its own limit, and a
/// probe that hangs is not started again.
final class WriteProbe: Sendable {
    private let running = Mutex<Task<Result<Void, StoreError>, Never>?>(nil)

    /// - Parameters:
    ///   - limit: how long the caller waits; nil for no limit.
    ///   - write: only called when no probe is running.
    func run(
        within limit: Duration?, _ write: @escaping @Sendable () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let task = running.withLock { running in
            if let running { return running }
            let task = Task {
                let result = await Result(write)
                self.running.withLock { $0 = nil }
                return result
            }
            running = task
            return task
        }
        guard let limit else { return try await task.value.get() }
        guard let result = await StorePatience.value(of: task, within: limit) else { throw .late }
        try result.get()
    }
}

package final class StoreMetrics: Sendable {
    /// From BEGIN to the end of COMMIT, for committed transactions.
    package let commits = Histogram(.seconds, bounds: HistogramBounds.work)
    package let batches = Histogram(.count, bounds: HistogramBounds.batches)
    /// Transactions that failed: a full disk, an I/O error, another process's lock.
    package let failures = Counter()
}
