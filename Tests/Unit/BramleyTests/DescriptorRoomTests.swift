import LogRecording
import Sockets
import Testing

@testable import Bramley

@Suite struct DescriptorRoomTests {
    private let log = LogRecorder()

    private func admitted(_ admission: AdmissionControl) -> Int {
        var count = 0
        for number in 0..<200 as Range<UInt32> where admission.admit(.v4(0xC000_0200 + number)) { count += 1 }
        return count
    }

    @Test(
        "connections get the descriptors that the server's own files leave, less a reserve",
        arguments: [(64, 34, 18), (1024, 34, 926), (65_536, 40, 65_432), (40, 34, 1), (10, 34, 1)])
    func counts(limit: Int, own: Int, room: Int) {
        #expect(AdmissionWatch.room(limit: limit, own: own) == room)
    }

    @Test func lowLimitAndItsEndAreReportedOnce() {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 1_000)
        var room = AdmissionWatch(wanted: 100, logger: log.logger)
        room.check(limit: 100_000, own: 34, admission)
        #expect(log.lines.isEmpty)
        for _ in 0..<10 { room.check(limit: 64, own: 34, admission) }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("warning file descriptor limit too low"))
        #expect(log.lines[0].contains("connections=18"), "\(log.lines)")
        #expect(admitted(admission) == 18)
        #expect(admission.tally.withoutDescriptor == 182)
        #expect(admission.tally.refused == 0)
        // Lowered while it runs: logged again.
        room.check(limit: 60, own: 34, admission)
        #expect(log.lines.count == 2)
        room.check(limit: 100_000, own: 34, admission)
        #expect(log.lines.count == 3)
        #expect(log.lines[2].hasPrefix("notice full connection limit restored"))
        #expect(admitted(admission) == 82)
        #expect(admission.tally.refused == 118)
    }

    @Test func configuredLimitIsNotReportedAsAShortageOfDescriptors() {
        let admission = AdmissionControl(maximum: 10, maximumPerAddress: 1_000)
        var room = AdmissionWatch(wanted: 10, logger: log.logger)
        room.check(limit: 200, own: 34, admission)
        #expect(log.lines.isEmpty)
        #expect(admitted(admission) == 10)
        #expect(admission.tally.refused == 190)
    }
}
