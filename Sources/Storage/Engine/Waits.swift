import Synchronization

/// Those who wait for what an engine reads, each until a deadline.
///
/// While PostgreSQL hangs, a statement holds its connection for seconds, and those behind it would wait for all before
/// them. At its deadline a wait fails instead, and its work is not started.
package final class Waits: Sendable {
    /// As long as another server may need to become the primary.
    static let patience = Duration.seconds(10)
    /// Even when the database has been silent for that long already.
    static let least = Duration.seconds(1)

    private struct State {
        var next: UInt64 = 0
        var waiting: [UInt64: (end: ContinuousClock.Instant, giveUp: @Sendable () -> Void)] = [:]
        var silentSince: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// Until when the present task waits for what it asks now.
    func deadline() -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        let silentSince = state.withLock { $0.silentSince }
        let end = silentSince.map { max(now + Self.least, $0 + Self.patience) } ?? now + Self.patience
        return min(end, StorePatience.end ?? end)
    }

    /// - Returns: for `remove`.
    func add(until end: ContinuousClock.Instant, giveUp: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.next += 1
            state.waiting[state.next] = (end, giveUp)
            return state.next
        }
    }

    func remove(_ number: UInt64) {
        state.withLock { _ = $0.waiting.removeValue(forKey: number) }
    }

    /// Called a few times a second by a server; a command waits for its connection.
    /// - Parameter silentSince: since when nothing is heard from the database.
    func sweep(silentSince: ContinuousClock.Instant?) {
        let now = ContinuousClock.now
        let late = state.withLock { state in
            state.silentSince = silentSince
            return state.waiting.values.filter { $0.end <= now }
        }
        for waiter in late { waiter.giveUp() }
    }
}
