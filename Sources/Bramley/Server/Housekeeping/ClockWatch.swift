internal import Coding
internal import Logging
internal import Sockets
internal import Synchronization

/// Detects that the machine's clock was set, by comparison with the monotonic clock: logs it, and after a clock moved
/// ahead delays the deletion of what has expired by a day. Otherwise a mistake of an hour would permanently sign
/// everybody out.
///
/// What has expired by the wall clock is refused at once in any case: only its deletion waits. A machine that slept
/// looks like one whose clock was set.
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

    /// Called every second or so.
    /// - Returns: the time up to which expired data may be deleted.
    @discardableResult func check(wall: Timestamp, now: Deadline) -> Timestamp {
        let (jump, believed) = state.withLock { state -> (Int64, Timestamp) in
            let elapsed = (now.nanoseconds - state.now.nanoseconds) / 1_000_000
            let jump = wall.milliseconds - state.wall.milliseconds - elapsed
            let expected = state.believed.adding(milliseconds: elapsed)
            if wall.milliseconds - expected.milliseconds <= Self.tolerance {
                state.aheadSince = nil
                state.believed = wall
            } else if let since = state.aheadSince, now >= since.adding(milliseconds: Self.patience) {
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
                    "seconds": "\(jump / 1000)",
                    "do": "if the clock is wrong now, let NTP set it: until then sign-ins fail with reason clock",
                ])
        }
        return believed
    }
}
