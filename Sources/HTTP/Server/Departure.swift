import Synchronization

/// Notices that the client of a request has closed its side of the connection before it was answered.
package final class Departure: Sendable {
    private struct State {
        var hasLeft = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls `action` once: when the client leaves, or now if it has.
    package func whenLeft(_ action: @escaping @Sendable () -> Void) {
        let hasLeft = state.withLock { state in
            if !state.hasLeft { state.action = action }
            return state.hasLeft
        }
        if hasLeft { action() }
    }

    func leave() {
        let action = state.withLock { state in
            state.hasLeft = true
            defer { state.action = nil }
            return state.action
        }
        action?()
    }
}
