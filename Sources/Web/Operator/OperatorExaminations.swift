import Coding
import Synchronization

/// What doctor found last. One examination at a time, and at most one a minute: each asks Apple.
final class OperatorExaminations: Sendable {
    struct Result: Sendable {
        var findings: [OperatorConsole.Finding]
        var time: Timestamp
    }

    private static let lifetime: Int64 = 60

    private struct State {
        var last: Result?
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Nil before the first.
    var last: Result? { state.withLock { $0.last } }

    /// - Returns: nil while the first is under way for somebody else.
    func current(
        at now: Timestamp, examine: @Sendable () async -> [OperatorConsole.Finding]
    ) async -> Result? {
        let isOurs = state.withLock { state in
            if let last = state.last, last.time <= now, now < last.time.adding(seconds: Self.lifetime) { return false }
            if state.isRunning { return false }
            state.isRunning = true
            return true
        }
        guard isOurs else { return last }
        let findings = await examine()
        return state.withLock { state in
            state.isRunning = false
            state.last = Result(findings: findings, time: now)
            return state.last
        }
    }
}
