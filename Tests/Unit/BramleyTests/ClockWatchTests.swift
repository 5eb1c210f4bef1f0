import Coding
import LogRecording
import Sockets
import Testing

@testable import Bramley

@Suite struct ClockWatchTests {
    private let bench = Bench()
    private static let hours: Int64 = 3_600_000

    /// A watch, and its two clocks in milliseconds since the test's begin.
    private struct Bench {
        let log = LogRecorder()
        let watch: ClockWatch

        init() {
            watch = ClockWatch(wall: Bench.wall(0), now: Bench.now(0), logger: log.logger)
        }

        static func wall(_ milliseconds: Int64) -> Timestamp {
            Timestamp(seconds: 1_800_000_000).adding(milliseconds: milliseconds)
        }

        static func now(_ milliseconds: Int64) -> Deadline {
            Deadline(nanoseconds: 5_000_000_000_000).adding(milliseconds: milliseconds)
        }

        /// Deletions go by which moment?
        func look(wall: Int64, now: Int64) -> Int64 {
            watch.check(wall: Self.wall(wall), now: Self.now(now)).milliseconds - Self.wall(0).milliseconds
        }
    }

    @Test func steadyClockIsTrustedAndNotLogged() {
        for second in 1...300 as ClosedRange<Int64> {
            // A fast one, corrected by half a minute now and then.
            let wall = second * 1_100 - (second % 100 == 0 ? 30_000 : 0)
            #expect(bench.look(wall: wall, now: second * 1_000) == wall)
        }
        #expect(bench.log.lines.isEmpty)
    }

    @Test func clockAheadDeletesNothingUntilItReturns() {
        let jump = 2 * Self.hours
        #expect(bench.look(wall: 1_000 + jump, now: 1_000) == 1_000)
        #expect(bench.log.lines.count == 1)
        #expect(bench.log.lines[0].contains("seconds=7200"), "\(bench.log.lines)")
        #expect(bench.look(wall: 60_000 + jump, now: 60_000) == 60_000)
        #expect(bench.log.lines.count == 1)
        #expect(bench.look(wall: 61_000, now: 61_000) == 61_000)
        #expect(bench.log.lines.count == 2)
        #expect(bench.log.lines[1].contains("seconds=-7200"), "\(bench.log.lines)")
        // The next time it is as new.
        #expect(bench.look(wall: 62_000 + jump, now: 62_000) == 62_000)
    }

    @Test func clockThatStaysAheadIsTrustedAfterADay() {
        let jump = 2 * Self.hours
        _ = bench.look(wall: 1_000 + jump, now: 1_000)
        let day = ClockWatch.patience
        #expect(bench.look(wall: day + jump, now: day) == day)
        #expect(bench.look(wall: day + 1_000 + jump, now: day + 1_000) == day + 1_000 + jump)
        #expect(bench.look(wall: day + 2_000 + jump, now: day + 2_000) == day + 2_000 + jump)
    }

    @Test func clockSetBackIsTrustedAtOnce() {
        let jump = -2 * Self.hours
        #expect(bench.look(wall: 1_000 + jump, now: 1_000) == 1_000 + jump)
        #expect(bench.log.lines.count == 1)
    }
}
