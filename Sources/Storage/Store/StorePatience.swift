import Synchronization

/// How long a caller waits for the store. What was begun goes on; only the waiting ends.
package enum StorePatience {
    /// When the present task has waited long enough; nil: as long as the store itself has patience.
    @TaskLocal package static var end: ContinuousClock.Instant?

    /// Runs `body`; whatever it reads from the store, all of it is answered within `limit`, or with `.unavailable`.
    package static func within<Value: Sendable, Failure: Error>(
        _ limit: Duration, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let end = ContinuousClock.now + limit
        let result = await $end.withValue(min(end, Self.end ?? end)) { () -> Result<Value, Failure> in
            do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// The value of a task; nil when it takes longer. The task goes on.
    package static func value<Value: Sendable>(of task: Task<Value, Never>, within limit: Duration) async -> Value? {
        let race = Race<Value>()
        let timer = Task {
            try? await Task.sleep(for: limit)
            race.end(with: nil)
        }
        Task {
            race.end(with: await task.value)
            timer.cancel()
        }
        return await race.value()
    }
}

/// Of a value and a deadline, whichever comes first.
private final class Race<Value: Sendable>: Sendable {
    private struct State {
        var isOver = false
        var value: Value?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func end(with value: Value?) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isOver else { return nil }
            state.isOver = true
            state.value = value
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func value() async -> Value? {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiter = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
        return state.withLock { $0.value }
    }
}
