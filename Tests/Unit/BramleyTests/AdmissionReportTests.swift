import LogRecording
import Sockets
import Testing

@testable import Bramley

@Suite struct AdmissionReportTests {
    private let log = LogRecorder()
    private let start = Deadline(nanoseconds: 1_000_000_000_000)

    private static func tally(
        refused: Int = 0, byAddress: Int = 0, shed: Int = 0, withoutDescriptor: Int = 0
    ) -> AdmissionTally {
        var tally = AdmissionTally()
        tally.refused = refused
        tally.refusedByAddress = byAddress
        tally.shed = shed
        tally.withoutDescriptor = withoutDescriptor
        return tally
    }

    @Test func logsNothingWhileEveryConnectionIsKept() {
        var watch = AdmissionWatch(wanted: 100, logger: log.logger)
        for second in 0..<120 {
            watch.report(AdmissionTally(), now: start.adding(milliseconds: Int64(second) * 1000))
        }
        #expect(log.lines.isEmpty)
    }

    @Test func logsTheFirstAtOnceThenCountsOnceAMinute() {
        var watch = AdmissionWatch(wanted: 100, logger: log.logger)
        watch.report(Self.tally(refused: 3), now: start)
        #expect(log.lines.count == 1)
        for second in 1..<60 {
            watch.report(
                Self.tally(refused: 3 + second, shed: 7), now: start.adding(milliseconds: Int64(second) * 1000))
        }
        #expect(log.lines.count == 1)
        watch.report(Self.tally(refused: 70, shed: 7), now: start.adding(milliseconds: AdmissionWatch.pause))
        #expect(log.lines.count == 2)
        #expect(log.lines.last?.contains("limits.connections=67") == true, "\(log.lines)")
        #expect(log.lines.last?.contains("idle=7") == true, "\(log.lines)")
        // Nothing new: nothing to say, whatever the time.
        watch.report(Self.tally(refused: 70, shed: 7), now: start.adding(milliseconds: 10 * AdmissionWatch.pause))
        #expect(log.lines.count == 2)
    }

    @Test(
        "each cause has its number",
        arguments: [
            (tally(refused: 5), "limits.connections"), (tally(byAddress: 5), "limits.connectionsPerAddress"),
            (tally(shed: 5), "idle"), (tally(withoutDescriptor: 5), "descriptors"),
        ])
    func namesTheCause(tally: AdmissionTally, name: String) {
        var watch = AdmissionWatch(wanted: 100, logger: log.logger)
        watch.report(tally, now: start)
        #expect(log.lines.first?.hasPrefix("warning connections closed: limit reached") == true)
        for other in ["limits.connections", "limits.connectionsPerAddress", "idle", "descriptors"] {
            let expected = other == name ? 5 : 0
            #expect(log.lines.first?.contains("\(other)=\(expected)") == true, "\(log.lines)")
        }
    }
}
