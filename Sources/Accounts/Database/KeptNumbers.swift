import Storage
import Synchronization

/// Numbers whose counting takes long are kept for a hundred times as long as it took: counting takes at most a hundredth
/// of one processor, however often somebody asks. What is counted in no time is counted each time.
final class KeptNumbers<Numbers: Sendable>: Sendable {
    private struct State {
        var numbers: Numbers?
        var isSlow = false
        var dueAt = ContinuousClock.now
        var isCounting = false
    }

    private enum Turn {
        case kept(Numbers)
        /// The same, and they are old.
        case old(Numbers)
        case count
    }

    private let quick: Duration
    private let rest: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - quick: what takes no longer is not kept.
    ///   - rest: how many times as long as it was counted a number is kept.
    init(quick: Duration = .milliseconds(20), rest: Int = 100) {
        self.quick = quick
        self.rest = rest
    }

    /// The numbers of now, or of a while ago; nobody but the very first waits for a slow count.
    func current(
        _ count: @escaping @Sendable () async throws(StoreError) -> Numbers
    ) async throws(StoreError) -> Numbers {
        let now = ContinuousClock.now
        let turn = state.withLock { state -> Turn in
            if let numbers = state.numbers, state.isCounting || now < state.dueAt { return .kept(numbers) }
            state.isCounting = true
            return state.isSlow ? state.numbers.map { .old($0) } ?? .count : .count
        }
        switch turn {
        case .kept(let numbers): return numbers
        case .old(let numbers):
            // Who asks next is told. An error leaves the old ones, and the next who asks counts again.
            Task { _ = try? await self.countAgain(count) }
            return numbers
        case .count: return try await countAgain(count)
        }
    }

    private func countAgain(
        _ count: @Sendable () async throws(StoreError) -> Numbers
    ) async throws(StoreError) -> Numbers {
        let start = ContinuousClock.now
        do throws(StoreError) {
            let numbers = try await count()
            let end = ContinuousClock.now
            let isSlow = end - start > quick
            state.withLock { state in
                state = State(
                    numbers: numbers, isSlow: isSlow, dueAt: isSlow ? end + (end - start) * rest : end)
            }
            return numbers
        } catch {
            state.withLock { $0.isCounting = false }
            throw error
        }
    }
}
