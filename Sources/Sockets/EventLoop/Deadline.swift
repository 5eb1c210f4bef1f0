/// A time on the monotonic clock, only for timers; never stored, never compared with the wall clock.
package struct Deadline: Hashable, Comparable, Sendable {
    /// Nanoseconds of CLOCK_MONOTONIC.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var never: Deadline { Deadline(nanoseconds: .max) }

    package static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Reads the clock. On a loop's thread `EventLoop.now` is cheaper.
    package static var now: Deadline { Deadline(nanoseconds: SystemCalls.monotonicNow()) }

    /// `milliseconds` later; saturates at `.never`.
    package func adding(milliseconds: Int64) -> Deadline {
        let (span, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, second) = nanoseconds.addingReportingOverflow(span)
        return overflow || second ? .never : Deadline(nanoseconds: sum)
    }
}
