internal import Coding
internal import Logging
internal import RelyingParty
internal import Sockets
internal import Synchronization

/// Notices that the machine's clock was set, by the one that only counts: tells the operator, and keeps what a clock that
/// went ahead calls over from being deleted until that has been so for a day. Whoever is signed in would otherwise be
/// signed out for good by a mistake of an hour.
///
/// What is over is refused by the wall clock all the same, at once: only its deletion waits. A machine that slept looks
/// like one whose clock was set.
final class ClockWatch: Sendable {
    /// A greater difference than this is no correction of a clock that runs, in milliseconds.
    static let tolerance: Int64 = 60_000
    /// How long a clock that went ahead is not believed for deletions, in milliseconds.
    static let patience: Int64 = 86_400_000

    private struct State {
        var now: Deadline
        var wall: Timestamp
        /// What deletions go by: the wall clock, or what it would show if it had not been set ahead.
        var believed: Timestamp
        var aheadSince: Deadline?
    }

    private let state: Mutex<State>
    private let logger: Logger

    init(wall: Timestamp, now: Deadline, logger: Logger) {
        state = Mutex(State(now: now, wall: wall, believed: wall))
        self.logger = logger
    }

    /// To be called every second or so.
    /// - Returns: the moment until which what is over may be deleted.
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
