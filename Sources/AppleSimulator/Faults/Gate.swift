import Synchronization

/// Holds hanging requests until they are released or their connection's task is cancelled.
final class Gate: Sendable {
    private struct State {
        var next: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var cancelled: Set<UInt64> = []
    }

    private let state = Mutex(State())

    /// The number of requests that hang now.
    var count: Int { state.withLock { $0.waiting.count } }

    func wait() async {
        let ticket = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // If cancellation comes before the continuation exists, it does not wait at all.
                let goesOn = state.withLock { state in
                    if state.cancelled.remove(ticket) != nil { return true }
                    state.waiting[ticket] = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let continuation = state.waiting.removeValue(forKey: ticket)
                if continuation == nil { state.cancelled.insert(ticket) }
                return continuation
            }
            continuation?.resume()
        }
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume() }
    }
}
