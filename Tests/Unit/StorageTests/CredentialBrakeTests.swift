import Coding
import Crypto
import Gates
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// What stops the daily checks, in the database: the brake and the pauses, and what the operator does about them.
@Suite struct CredentialBrakeTests {
    private static let app = ClientID("com.example.app")
    private static let scope = CheckScope(team: Bench.team, clients: [Bench.web, app])
    private static let day: Int64 = 86_400

    private let bench: Bench
    private let database: Accounts.Database
    private let schedule = CheckSchedule(random: SystemRandom())
    private var now: Timestamp { bench.clock.now() }

    init() throws {
        (bench, database) = try Bench().opened()
    }

    /// People signed in two days ago, `p0` and on.
    private func people(_ count: Int, client: ClientID = Bench.web) async throws {
        for person in 0..<count {
            var new = record("p\(person)", at: now)
            new.claims.clientID = client
            _ = try await database.completeSignIn(new)
        }
        bench.clock.advance(seconds: 2 * Self.day)
    }

    private func begin(_ limit: Int = 1_000) async throws -> [DueCheck] {
        try await database.beginChecks(Self.scope, limit: limit, schedule: schedule, at: now)
    }

    private func status(_ other: Accounts.Database? = nil) async throws -> CheckStatus {
        try await (other ?? database).checkStatus(Self.scope, at: now)
    }

    private func dead(_ checks: some Sequence<DueCheck>) async throws -> [CheckOutcome] {
        var outcomes: [CheckOutcome] = []
        for check in checks { outcomes.append(try await database.recordCheck(.dead, of: check, at: now)) }
        return outcomes
    }

    private func alive(_ checks: some Sequence<DueCheck>) async throws {
        for check in checks { _ = try await database.recordCheck(.alive, of: check, at: now) }
    }

    private func deadCount() throws -> Int {
        try bench.stranger().read {
            try $0.integer("SELECT count(*) FROM apple_credential WHERE cause = 'token_dead'") ?? -1
        }
    }

    @Test("dead answers up to a twentieth of the hour's checks are applied; one more stops the checks")
    func share() async throws {
        try await people(421)
        let checks = try await begin()
        try await alive(checks.prefix(380))
        // 20 of 400 are 5 percent.
        #expect(try await dead(checks[380..<400]).allSatisfy { $0 != .heldBack })
        #expect(try await status().gate.brake == nil)
        // 21 of 401 are more.
        #expect(try await dead(checks[400..<401]) == [.heldBack])
        #expect(try await status().gate.brake?.dead == 21)
        #expect(try await status().gate.brake?.checks == 401)
    }

    @Test("an hour later the count begins anew; nineteen an hour are never a wave")
    func window() async throws {
        try await people(57)
        let checks = try await begin()
        for hour in 0..<3 {
            #expect(try await dead(checks[hour * 19..<hour * 19 + 19]).allSatisfy { $0 != .heldBack })
            bench.clock.advance(seconds: 3_600)
        }
        #expect(try await status().gate.brake == nil)
        #expect(try deadCount() == 57)
    }

    @Test("within the hour the count survives a restart and a clock set back by minutes", arguments: [59 * 60, -600])
    func windowHolds(seconds: Int64) async throws {
        try await people(20)
        let checks = try await begin()
        _ = try await dead(checks.prefix(19))
        bench.clock.advance(seconds: seconds)
        database.close()
        let reopened = try bench.open()
        #expect(try await reopened.recordCheck(.dead, of: checks[19], at: now) == .heldBack)
    }

    @Test("resume: held-back answers are discarded, and checked again after a day")
    func resume() async throws {
        try await people(25)
        _ = try await dead(try await begin())
        let resumed = try await database.resumeChecks(accepting: false, at: now)
        #expect(resumed.gate.brake?.dead == 20)
        #expect(resumed.forgotten == 6)
        #expect(resumed.died == 0)
        #expect(try deadCount() == 19)
        var status = try await status()
        #expect(status.gate == CheckGate())
        #expect(status.heldBack == 0 && status.dead == 0)
        // Not before a day has passed.
        #expect(try await begin().isEmpty)
        bench.clock.advance(seconds: Self.day + 3_600)
        let again = try await begin()
        #expect(again.count == 6)
        _ = try await dead(again)
        #expect(try deadCount() == 25)
        status = try await self.status()
        #expect(status.gate.brake == nil)
    }

    @Test("resume, accepting: held-back answers are applied, and for a day none is held back")
    func accept() async throws {
        try await people(80)
        let checks = try await begin(60)
        _ = try await dead(checks.prefix(40))
        let resumed = try await database.resumeChecks(accepting: true, at: now)
        #expect(resumed.died == 21)
        #expect(try deadCount() == 40)
        #expect(try await status().acceptsUntil == now.adding(seconds: Self.day))
        #expect(try await dead(checks.suffix(20)).allSatisfy { $0 != .heldBack })
        bench.clock.advance(seconds: Self.day)
        #expect(try await status().acceptsUntil == nil)
        let late = try await begin()
        #expect(try await dead(late).filter { $0 == .heldBack }.count == 1)
    }

    @Test("a sign-in cancels a held-back answer: accepting the wave later does not affect it")
    func signInWhileHeldBack() async throws {
        try await people(20)
        let checks = try await begin()
        _ = try await dead(checks)
        let held = try #require(checks.last)
        let session = try #require(
            try await database.completeSignIn(record(held.subject.rawValue, at: now)).session)
        #expect(try await status().heldBack == 0)
        #expect(try await database.resumeChecks(accepting: true, at: now).died == 0)
        #expect(try await database.signedIn(token: session.tokenHash, at: now) != nil)
    }

    @Test("superseded answers do not count towards a wave")
    func supersededIsNotCounted() async throws {
        try await people(30)
        let checks = try await begin()
        for check in checks.prefix(25) {
            bench.clock.advance(seconds: 1)
            _ = try await database.completeSignIn(record(check.subject.rawValue, at: now))
        }
        #expect(try await dead(checks.prefix(25)).allSatisfy { $0 == .superseded })
        #expect(try await status().dead == 0)
    }

    private func refuse(_ check: DueCheck) async throws {
        let answer = CheckAnswer.clientRefused(detail: "invalid_client", retryAt: now.adding(seconds: 3_600))
        _ = try await database.recordCheck(answer, of: check, at: now)
    }

    @Test("Apple refuses us: concurrent refusals count once, then single checks with growing pauses")
    func pauses() async throws {
        try await people(50)
        for check in try await begin(10) { try await refuse(check) }
        var pause = try #require(try await status().gate.pauses.first)
        #expect(pause.attempts == 1 && pause.clientID == Bench.web && pause.detail == "invalid_client")
        var waits: [Int64] = []
        for _ in 0..<6 {
            let wait = pause.nextTryAt.milliseconds - now.milliseconds
            waits.append(wait / 1_000)
            bench.clock.advance(milliseconds: wait - 1)
            #expect(try await !database.checkWork(Self.scope, at: now).hasDue)
            #expect(try await begin().isEmpty)
            bench.clock.advance(milliseconds: 1)
            let one = try await begin()
            #expect(one.count == 1)
            // Marked: nobody tries beside it, nor after a kill.
            #expect(try await begin().isEmpty)
            bench.clock.advance(milliseconds: 1)
            try await refuse(one[0])
            pause = try #require(try await status().gate.pauses.first)
        }
        #expect(waits == [900, 1_800, 3_600, 7_200, 21_600, 21_600])
        #expect(try deadCount() == 0)
        // All fifty are as they were.
        #expect(try await status().live == 50)
    }

    @Test("one accepted check ends the pause, and the others resume")
    func ends() async throws {
        try await people(20)
        try await refuse(try #require(try await begin(1).first))
        bench.clock.advance(seconds: 900)
        try await alive(try await begin())
        #expect(try await status().gate.pauses.isEmpty)
        #expect(try await begin().count == 18)
    }

    @Test("an answer to a check from before the refusal does not end the pause")
    func earlierAnswer() async throws {
        try await people(2)
        let checks = try await begin()
        bench.clock.advance(milliseconds: 5)
        try await refuse(checks[0])
        bench.clock.advance(milliseconds: 5)
        try await alive(checks.suffix(1))
        #expect(try await status().gate.pauses.count == 1)
    }

    @Test("a sign-in that began after the refusal and succeeded ends the pause")
    func signInEnds() async throws {
        try await people(1)
        let earlier = now
        bench.clock.advance(seconds: 60)
        try await refuse(try #require(try await begin().first))
        _ = try await database.completeSignIn(record("x", attemptIssuedAt: earlier, at: now))
        #expect(try await status().gate.pauses.count == 1)
        bench.clock.advance(seconds: 60)
        var other = record("y", at: now)
        other.claims.clientID = Self.app
        _ = try await database.completeSignIn(other)
        #expect(try await status().gate.pauses.count == 1)
        _ = try await database.completeSignIn(record("z", at: now))
        #expect(try await status().gate.pauses.isEmpty)
    }

    @Test("one client's pause does not affect others, and no credential dies during it")
    func perClient() async throws {
        try await people(5, client: Self.app)
        try await people(5)
        let checks = try await begin()
        #expect(checks.count == 10)
        let (app, web) = (checks.filter { $0.clientID == Self.app }, checks.filter { $0.clientID == Bench.web })
        try await refuse(app[0])
        #expect(try await dead(app.suffix(1)) == [.heldBack])
        #expect(try await dead(web.suffix(1)).allSatisfy { $0 != .heldBack })
        let resumed = try await database.resumeChecks(accepting: false, at: now)
        #expect(resumed.gate.pauses.map(\.clientID) == [Self.app])
        #expect(resumed.forgotten == 1)
        #expect(try await status().gate.pauses.isEmpty)
    }
}
