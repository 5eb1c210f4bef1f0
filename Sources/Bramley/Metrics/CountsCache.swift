internal import Accounts
internal import Coding
internal import Storage
internal import Synchronization

/// Numbers from the database. Counting takes at most one percent of a processor, however often the page is fetched.
/// Only the fetch that finds them too old waits for new ones, for a while.
final class CountsCache: Sendable {
    struct Counted: Sendable {
        var counts: StoreCounts
        var at: Timestamp
    }

    static let lifetime = Duration.seconds(15)
    static let rest = 100

    /// Prometheus gives up after ten seconds; what is counted then is on the next page.
    private static let longestWait = Duration.seconds(3)

    private struct State {
        var counted: Counted?
        var dueAt: ContinuousClock.Instant?
        var isCounting = false
    }

    private let count: @Sendable () async -> Counted?
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    convenience init(of base: ServerBase) {
        let scope = base.configuration.database.checkScope
        self.init {
            let now = base.runtime.clock.now()
            guard let counts = try? await base.database.counts(scope, at: now) else { return nil }
            return Counted(counts: counts, at: now)
        }
    }

    /// - Parameter count: nil when the store does not answer: then the previous counts stay.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        count: @escaping @Sendable () async -> Counted?
    ) {
        self.count = count
        self.now = now
    }

    func current() async -> Counted? {
        let start = now()
        let isOurs = state.withLock { state in
            if state.isCounting || state.dueAt.map({ start < $0 }) ?? false { return false }
            state.isCounting = true
            return true
        }
        guard isOurs else { return state.withLock { $0.counted } }
        let counting = Task { finish(await count(), begunAt: start) }
        _ = await StorePatience.value(of: counting, within: Self.longestWait)
        return state.withLock { $0.counted }
    }

    private func finish(_ counted: Counted?, begunAt start: ContinuousClock.Instant) {
        let end = now()
        state.withLock { state in
            state.isCounting = false
            state.dueAt = end + max(Self.lifetime, (end - start) * Self.rest)
            if let counted { state.counted = counted }
        }
    }
}
