import Synchronization

/// A value that one thread hands to another that waits for it.
///
/// It passes under a lock and not with the continuation: the thread sanitizer does not see that a task which is resumed
/// early has been waited for.
final class Handover<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Whether there is no value yet.
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

    /// Waits for the value.
    /// - Parameter begin: what will settle it, begun once somebody waits.
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
