import Coding

/// How long a caller waits for the store. What was begun goes on; only the waiting ends.
package enum StorePatience {
    /// When the present task has waited long enough; nil: as long as the store itself has patience.
    @TaskLocal package static var end: ContinuousClock.Instant?

    /// Runs `body`; whatever it reads from the store, all of it is answered within `limit`, or with `.unavailable`.
    package static func within<Value: Sendable, Failure: Error>(
        _ limit: Duration, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let end = ContinuousClock.now + limit
        return try await $end.withValue(min(end, Self.end ?? end)) { await Result(body) }.get()
    }

    /// The value of a task; nil when it takes longer. The task goes on.
    package static func value<Value: Sendable>(of task: Task<Value, Never>, within limit: Duration) async -> Value? {
        let race = Handover<Value?>()
        let timer = Task {
            try? await Task.sleep(for: limit)
            race.settle(nil)
        }
        Task {
            race.settle(await task.value)
            timer.cancel()
        }
        return await race.value() ?? nil
    }
}
