import LogRecording
import Sockets
import Storage
import Testing

@testable import Accounts
@testable import Bramley

@Suite struct StoreReportTests {
    private let log = LogRecorder()
    private let start = Deadline(nanoseconds: 1_000_000_000_000)
    private let began = ContinuousClock.now

    private func trouble(_ error: StoreError = .unavailable("13 (full) full"), failures: Int = 1) -> StoreTrouble {
        StoreTrouble(error: error, failures: failures, since: began)
    }

    @Test func logsNothingWhileWritesSucceed() {
        var report = StoreReport(isShared: false, logger: log.logger)
        for second in 0..<120 {
            report.check(at: nil, instant: began, now: start.adding(milliseconds: Int64(second) * 1000))
        }
        #expect(log.lines.isEmpty)
    }

    @Test func logsTheFirstAtOnceThenOnceAMinuteAndTheEndOnce() {
        var report = StoreReport(isShared: false, logger: log.logger)
        for second in 0..<60 {
            report.check(
                at: trouble(failures: 1 + second), instant: began,
                now: start.adding(milliseconds: Int64(second) * 1000))
        }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error database write failed"))
        report.check(at: trouble(failures: 99), instant: began, now: start.adding(milliseconds: StoreReport.pause))
        #expect(log.lines.count == 2)
        #expect(log.lines[1].contains("failed=99"), "\(log.lines)")
        let end = began.advanced(by: .seconds(75))
        report.check(at: nil, instant: end, now: start.adding(milliseconds: 75_000))
        report.check(at: nil, instant: end, now: start.adding(milliseconds: 76_000))
        #expect(log.lines.count == 3)
        #expect(log.lines[2].hasPrefix("notice database writes resumed"))
        #expect(log.lines[2].contains("seconds=75"), "\(log.lines)")
        // The next one is logged at once, though the minute is not over.
        report.check(at: trouble(), instant: end, now: start.adding(milliseconds: 77_000))
        #expect(log.lines.count == 4)
    }

    @Test(
        "each cause has its advice",
        arguments: [
            (StoreError.unavailable("13 (database or disk is full)"), "free space"),
            (.unavailable("778 (disk I/O error)"), "read-only"), (.busy("5 (database is locked)"), "fuser"),
            (.corrupt("11 (malformed)"), "backup"),
        ])
    func advises(error: StoreError, words: String) {
        var report = StoreReport(isShared: false, logger: log.logger)
        report.check(at: trouble(error), instant: began, now: start)
        #expect(log.lines.first?.contains(words) == true, "\(log.lines)")
    }
}
