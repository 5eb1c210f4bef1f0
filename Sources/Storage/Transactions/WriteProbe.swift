import Coding
import Synchronization

/// Finds out whether a write succeeds, once for all who ask at the same time. Nobody waits longer than they want to, and
/// what hangs is not begun a second time.
final class WriteProbe: Sendable {
    private let running = Mutex<Task<Result<Void, StoreError>, Never>?>(nil)

    /// - Parameters:
    ///   - limit: how long the caller waits; nil: until it is known.
    ///   - write: the write; only called when none is under way.
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
