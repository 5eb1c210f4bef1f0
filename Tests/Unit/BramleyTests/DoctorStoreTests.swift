import Testing

@testable import Bramley

struct DoctorStoreTests {
    @Test(
        arguments: [
            (0, nil), (999, nil), (-999, nil), (1_000, "this machine's clock is 1.0 s behind the database's"),
            (-61_250, "this machine's clock is 61.2 s ahead of the database's"),
        ] as [(Int64, String?)])
    func namesTheClockThatIsAhead(difference: Int64, problem: String?) {
        #expect(Doctor.clockProblem(difference) == problem)
    }

    @Test(
        arguments: [
            ([:], nil), (["standbys": "0", "synchronous_standby_names": ""], nil),
            (["standbys": "1", "synchronous_standby_names": ""], .unsure),
            (["standbys": "2", "synchronous_standby_names": "*", "synchronous_commit": "on"], .good),
            (["standbys": "2", "synchronous_standby_names": "*", "synchronous_commit": "local"], .unsure),
        ] as [([String: String], Diagnosis.State?)])
    func judgesReplication(settings: [String: String], state: Diagnosis.State?) {
        #expect(Doctor.replication(settings)?.state == state)
    }

    @Test(
        arguments: [
            (["fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"], nil),
            (["fsync": "on", "full_page_writes": "on", "synchronous_commit": "remote_apply"], nil),
            (["fsync": "off", "full_page_writes": "on", "synchronous_commit": "on"], "set fsync = on."),
            (["fsync": "on", "full_page_writes": "off", "synchronous_commit": "off"], "synchronous_commit = on."),
        ] as [([String: String], String?)])
    func namesWhatACrashMayUndo(settings: [String: String], next: String?) {
        let diagnosis = Doctor.durability(settings)
        #expect((diagnosis == nil) == (next == nil))
        #expect(diagnosis?.nextStep?.contains(next ?? "") != false)
    }
}
