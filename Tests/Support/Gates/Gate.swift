import Synchronization

/// Holds its callers until it is opened, and counts them.
package final class Gate: Sendable {
    private struct State {
        var isOpen = true
        var held: [CheckedContinuation<Void, Never>] = []
        var arrivals = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func shut() { state.withLock { $0.isOpen = false } }

    package func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    package func pass() async {
        let watchers = state.withLock { state in
            state.arrivals += 1
            let ready = state.watchers.filter { $0.count <= state.arrivals }
            state.watchers.removeAll { $0.count <= state.arrivals }
            return ready
        }
        for watcher in watchers { watcher.continuation.resume() }
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                if !state.isOpen { state.held.append(continuation) }
                return state.isOpen
            }
            if passes { continuation.resume() }
        }
    }

    /// Returns once `count` have come, ever.
    package func arrived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.arrivals < count { state.watchers.append((count, continuation)) }
                return state.arrivals >= count
            }
            if isReady { continuation.resume() }
        }
    }
}
