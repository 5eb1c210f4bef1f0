import Coding
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// When retention looks at a session, which writes no index while it is used.
@Suite struct SessionExaminationTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func examined() throws -> [Int] { try bench.stranger().integers("SELECT examine_at FROM session") }

    @Test("a session in use is examined at its former end, and ends once it is idle")
    func postponed() async throws {
        let database = try bench.open()
        let start = bench.clock.now()
        let session = try #require(try await database.completeSignIn(record(at: start)).session)
        let idle = Bench.limits.idleTimeout
        #expect(try examined() == [Int(start.adding(seconds: idle).milliseconds)])
        let used = start.adding(seconds: idle - 1)
        try await database.touch(session.id, at: used)
        #expect(try examined() == [Int(start.adding(seconds: idle).milliseconds)], "touching it writes no index")

        #expect(try await database.maintain(at: start.adding(seconds: idle)).sessions == 0)
        let end = used.adding(seconds: idle)
        #expect(try examined() == [Int(end.milliseconds)])
        #expect(try await database.maintain(at: end.adding(milliseconds: -1)).sessions == 0)
        #expect(try await database.maintain(at: end).sessions == 1)
        #expect(try await database.events(after: nil, limit: 10).last?.kind == .sessionEnded)
    }

    @Test("a shorter idle timeout applies to existing sessions within a day")
    func shorterTimeout() async throws {
        var options = bench.options()
        options.sessionLimits = SessionLimits(lifetime: 30 * 86_400, idleTimeout: 14 * 86_400)
        let start = bench.clock.now()
        let before = try bench.open(options)
        var long = record(at: start)
        long.sessionExpiresAt = start.adding(seconds: 30 * 86_400)
        #expect(try await before.completeSignIn(long).session != nil)
        before.close()

        options.sessionLimits.idleTimeout = 3_600
        let after = try bench.open(options)
        defer { after.close() }
        let day = start.adding(seconds: 86_400)
        #expect(try await after.maintain(at: day.adding(milliseconds: -1)).sessions == 0)
        #expect(try await after.maintain(at: day).sessions == 1)
    }

    @Test("many that are due and in use are each examined once")
    func manyInUse() async throws {
        let database = try bench.open()
        let start = bench.clock.now()
        let idle = Bench.limits.idleTimeout
        for number in 0..<450 {
            let session = try #require(try await database.completeSignIn(record("p\(number)", at: start)).session)
            if number % 3 > 0 { try await database.touch(session.id, at: start.adding(seconds: 60)) }
        }
        let due = start.adding(seconds: idle)
        #expect(try await database.maintain(at: due).sessions == 150)
        #expect(try Set(examined()) == [Int(due.adding(seconds: 60).milliseconds)])
    }
}
