internal import Coding
internal import Logging
internal import Sockets
internal import Synchronization

/// Detects that the machine's clock was set, or that it slept: logs it, and after a clock moved ahead waits a day
/// before it deletes what has expired. Otherwise, an hour with a wrong clock would sign everyone out for good.
final class ClockWatch: Sendable {
    /// A larger difference is not a correction of a running clock, in milliseconds.
    static let tolerance: Int64 = 60_000
    /// How long a clock that moved ahead is not trusted for deletions, in milliseconds.
    static let patience: Int64 = 86_400_000

    private struct State {
        var now: Deadline
        var wall: Timestamp
        /// The time for deletions: the wall clock, or what it would show had it not been set ahead.
        var believed: Timestamp
        var aheadSince: Deadline?
    }

    private let state: Mutex<State>
    private let logger: Logger

    init(wall: Timestamp, now: Deadline, logger: Logger) {
        state = Mutex(State(now: now, wall: wall, believed: wall))
        self.logger = logger
    }

    /// - Returns: the time up to which expired data may be deleted.
    @discardableResult func check(wall: Timestamp, now: Deadline) -> Timestamp {
        let (jump, believed) = state.withLock { state -> (Int64, Timestamp) in
            let elapsed = (now.nanoseconds - state.now.nanoseconds) / 1_000_000
            let jump = wall.milliseconds - state.wall.milliseconds - elapsed
            let expected = state.believed.adding(milliseconds: elapsed)
            let isPast = state.aheadSince.map { now >= $0.adding(milliseconds: Self.patience) } ?? false
            if isPast || wall.milliseconds - expected.milliseconds <= Self.tolerance {
                state.aheadSince = nil
                state.believed = wall
            } else {
                state.aheadSince = state.aheadSince ?? now
                state.believed = expected
            }
            (state.now, state.wall) = (now, wall)
            return (jump, state.believed)
        }
        if abs(jump) > Self.tolerance {
            logger.warning(
                "clock jump detected",
                metadata: [
                    "seconds": .stringConvertible(jump / 1000),
                    "do": "if the clock is wrong now, let NTP set it: until then sign-ins fail with reason clock",
                ])
        }
        return believed
    }
}
