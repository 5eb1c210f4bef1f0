import RelyingParty
import Synchronization

/// Numbers whose counting takes long are kept for a hundred times as long as it took: counting takes at most a hundredth
/// of one processor, however often somebody asks. What is counted in no time is counted each time.
final class KeptNumbers<Numbers: Sendable>: Sendable {
    private struct State {
        var numbers: Numbers?
        var dueAt = ContinuousClock.now
        var isCounting = false
    }

    private static var quick: Duration { .milliseconds(20) }
    private static var rest: Int { 100 }

    private let state = Mutex(State())

    /// The numbers of now, or of a while ago; nobody but the first waits for a slow count.
    func current(_ count: @Sendable () async throws(StoreError) -> Numbers) async throws(StoreError) -> Numbers {
        let start = ContinuousClock.now
        let kept = state.withLock { state -> Numbers? in
            if let numbers = state.numbers, state.isCounting || start < state.dueAt { return numbers }
            state.isCounting = true
            return nil
        }
        if let kept { return kept }
        do throws(StoreError) {
            let numbers = try await count()
            let end = ContinuousClock.now
            state.withLock { state in
                state = State(numbers: numbers)
                state.dueAt = end - start > Self.quick ? end + (end - start) * Self.rest : end
            }
            return numbers
        } catch {
            state.withLock { $0.isCounting = false }
            throw error
        }
    }
}
