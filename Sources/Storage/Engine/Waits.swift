import Coding
import Synchronization

/// Callers that wait for an engine's reads, each until a deadline. Then a wait fails and its work is not started: while
/// PostgreSQL hangs, a statement holds its connection for seconds, and each caller would wait for all before it.
package final class Waits: Sendable {
    /// The time that another server may need to become the primary.
    static let patience = Duration.seconds(10)
    /// Even when the database has been silent for that long already.
    static let least = Duration.seconds(1)

    private struct State {
        var next: UInt64 = 0
        var waiting: [UInt64: (end: ContinuousClock.Instant, giveUp: @Sendable () -> Void)] = [:]
        var silentSince: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// When the current task stops waiting for a read that begins now.
    func deadline() -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        let silentSince = state.withLock { $0.silentSince }
        let end = silentSince.map { max(now + Self.least, $0 + Self.patience) } ?? now + Self.patience
        return min(end, StorePatience.end ?? end)
    }

    func add(until end: ContinuousClock.Instant, giveUp: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.next += 1
            state.waiting[state.next] = (end, giveUp)
            return state.next
        }
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.waiting.removeValue(forKey: number) } }

    /// Called a few times a second by a server; a command waits for its connection.
    /// - Parameter silentSince: when the database last answered.
    func sweep(silentSince: ContinuousClock.Instant?) {
        let now = ContinuousClock.now
        let late = state.withLock { state in
            state.silentSince = silentSince
            return state.waiting.values.filter { $0.end <= now }
        }
        for waiter in late { waiter.giveUp() }
    }
}

/// How long a caller waits for the store. Work that has begun continues; only the wait ends.
package enum StorePatience {
    /// When the current task stops waiting; nil for the store's own limit.
    @TaskLocal package static var end: ContinuousClock.Instant?

    /// Runs `body`: its reads of the store together take at most `limit`; then they fail with `.unavailable`.
    package static func within<Value: Sendable, Failure: Error>(
        _ limit: Duration, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let end = ContinuousClock.now + limit
        return try await $end.withValue(min(end, Self.end ?? end)) { await Result(body) }.get()
    }

    /// The value of a task; nil when it takes longer. The task continues.
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

/// The client that waits for a task. One that has closed its side may still read, but hardly for long.
package final class AwaitedClient: Sendable {
    @TaskLocal package static var current: AwaitedClient?

    private static let patience = Duration.seconds(1)

    private let leftAt = Mutex<ContinuousClock.Instant?>(nil)

    package init() {}

    package func leave() { leftAt.withLock { $0 = $0 ?? .now } }

    package var hasLeft: Bool { leftAt.withLock { $0.map { ContinuousClock.now - $0 > Self.patience } ?? false } }
}

/// Hands a value from one thread to another that waits for it, under a lock: the thread sanitizer does not see that a
/// task resumed early has been waited for.
final class Handover<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var isAwaited: Bool { state.withLock { $0.value == nil } }

    /// The first value counts.
    func settle(_ value: Value) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.value == nil else { return nil }
            state.value = value
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// - Parameter begin: starts the work that will settle it, once the wait has begun.
    func value(after begin: () -> Void = {}) async -> Value? {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                if state.value == nil { state.waiter = continuation }
                return state.value != nil
            }
            if isSettled { continuation.resume() }
            begin()
        }
        return state.withLock { $0.value }
    }
}
