internal import HTTPTypes
import Synchronization

/// Notices that the client of a request has closed its side of the connection, or reset the stream, before it was answered.
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

extension ServerRequest {
    /// For a request that changes nothing: its handler may give up once the client has left.
    mutating func noticeDeparture() -> Departure? {
        guard method == .get, body.isEmpty else { return nil }
        let departure = Departure()
        self.departure = departure
        return departure
    }
}
