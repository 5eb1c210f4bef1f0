import Coding
import Crypto
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

@Suite struct CredentialCheckTests {
    private static let scope = CheckScope(team: Bench.team, clients: [Bench.web, ClientID("com.example.app")])
    private static let day: Int64 = 86_400

    private let bench: Bench
    private let database: Accounts.Database
    private let schedule = CheckSchedule(random: SystemRandom())
    private var now: Timestamp { bench.clock.now() }

    init() throws {
        (bench, database) = try Bench().opened()
    }

    @discardableResult
    private func signIn(_ subject: String = "ann", client: ClientID = Bench.web) async throws -> Session {
        var new = StorageTests.record(subject, at: now)
        new.claims.clientID = client
        new.firstCheckAt = schedule.afterSignIn(at: now)
        return try #require(try await database.completeSignIn(new).session)
    }

    private func begin(_ limit: Int = 100, _ other: Accounts.Database? = nil) async throws -> [DueCheck] {
        try await (other ?? database).beginChecks(Self.scope, limit: limit, schedule: schedule, at: now)
    }

    /// One credential, asked about: two days after its sign-in.
    private func begun(_ subject: String = "ann") async throws -> DueCheck {
        try await signIn(subject)
        bench.clock.advance(seconds: 2 * Self.day)
        return try #require(try await begin().first)
    }

    private func record(_ answer: CheckAnswer, _ check: DueCheck) async throws -> CheckOutcome {
        try await database.recordCheck(answer, of: check, at: now)
    }

    private func plans() throws -> [Int64] {
        try bench.stranger().read { try $0.integers("SELECT next_check_at FROM apple_credential").map { Int64($0) } }
    }

    /// A write of another program's.
    private func execute(_ sql: String) throws {
        try bench.stranger().write { try $0.execute(sql) }
    }

    private func isLive(_ session: Session) async throws -> Bool {
        try await database.signedIn(token: session.tokenHash, at: now) != nil
    }

    private func hasDue() async throws -> Bool {
        try await database.checkWork(Self.scope, at: now).hasDue
    }

    @Test("a sign-in counts as a check: the next is due after one day and within two")
    func afterSignIn() async throws {
        try await signIn()
        bench.clock.advance(milliseconds: Self.day * 1_000 - 1)
        #expect(try await !hasDue())
        #expect(try await begin().isEmpty)
        bench.clock.advance(milliseconds: Self.day * 1_000)
        #expect(try await hasDue())
        #expect(try await begin().count == 1)
    }

    @Test("during ten days with hourly restarts there is at most one check in 24 hours, and one in every 25")
    func tenDays() async throws {
        for person in 0..<20 { try await signIn("p\(person)") }
        var moments: [String: [Int64]] = [:]
        var current = database
        for _ in 0..<240 {
            bench.clock.advance(seconds: 3_600)
            current.close()
            current = try bench.open()
            for check in try await begin(100, current) {
                moments[check.subject.rawValue, default: []].append(now.milliseconds)
                // Half of the answers are lost with the process.
                if check.subject.rawValue.utf8.last.map({ $0 % 2 == 0 }) == true {
                    _ = try await current.recordCheck(.alive, of: check, at: now)
                }
            }
        }
        #expect(moments.count == 20)
        for (subject, times) in moments {
            let gaps = zip(times, times.dropFirst()).map { ($1 - $0) / 1_000 }
            #expect(gaps.allSatisfy { $0 >= Self.day }, "\(subject)")
            // The clock moves by hours here: up to one more than the jitter.
            #expect(gaps.allSatisfy { $0 <= Self.day + 2 * 3_600 }, "\(subject)")
            #expect(times.count >= 8, "\(subject)")
        }
    }

    @Test("two processes check each credential once")
    func twoProcesses() async throws {
        for person in 0..<40 { try await signIn("p\(person)") }
        bench.clock.advance(seconds: 2 * Self.day)
        let other = try bench.open()
        async let here = begin(30)
        async let there = begin(30, other)
        let taken = try await here + there
        let rest = try await begin() + begin(100, other)
        #expect((taken + rest).count == 40)
        #expect(Set((taken + rest).map(\.subject)).count == 40)
    }

    @Test("the longest waiting are first, of all clients, up to the limit")
    func order() async throws {
        for person in 0..<6 {
            try await signIn("p\(person)", client: Self.scope.clients[person % 2])
            bench.clock.advance(seconds: 2 * Self.day)
        }
        var seen: [String] = []
        for _ in 0..<3 { seen += try await begin(2).map(\.subject.rawValue) }
        #expect(seen == (0..<6).map { "p\($0)" })
    }

    @Test("an early plan does not cause two checks in a day")
    func guarded() async throws {
        _ = try await begun()
        try execute("UPDATE apple_credential SET next_check_at = 1")
        bench.clock.advance(seconds: 3_600)
        #expect(try await begin().isEmpty)
        bench.clock.advance(seconds: 23 * 3_600 + 3_600)
        #expect(try await begin().count == 1)
    }

    @Test("credentials without a plan get one within a day, and only once")
    func unplanned() async throws {
        for person in 0..<50 { try await signIn("p\(person)") }
        try execute("UPDATE apple_credential SET next_check_at = NULL")
        #expect(try await hasDue())
        #expect(try await begin().isEmpty)
        let plans = try plans()
        #expect(plans.count == 50)
        #expect(plans.allSatisfy { $0 >= now.milliseconds && $0 < now.adding(seconds: Self.day).milliseconds })
        // Fifty of a day in one hour would be a strange chance.
        #expect(Set(plans.map { $0 / 3_600_000 }).count > 8)
        bench.clock.advance(seconds: Self.day)
        #expect(try await begin().count == 50)
    }

    @Test("after the clock is set back by a month the next check is in a day")
    func clockSetBack() async throws {
        _ = try await begun()
        bench.clock.advance(seconds: -30 * Self.day)
        #expect(try await begin().isEmpty)
        bench.clock.advance(milliseconds: Self.day * 1_000 - 1)
        #expect(try await begin().isEmpty)
        bench.clock.advance(seconds: Self.day)
        #expect(try await begin().count == 1)
    }

    @Test("a clock set ahead and back causes no second check in a day")
    func clockSetAhead() async throws {
        _ = try await begun()
        bench.clock.advance(seconds: 365 * Self.day)
        #expect(try await begin().count == 1)
        #expect(try await begin().isEmpty)
        bench.clock.advance(seconds: -365 * Self.day)
        #expect(try await begin().isEmpty)
        bench.clock.advance(seconds: Self.day - 1)
        #expect(try await begin().isEmpty)
    }

    @Test("credentials of other teams and clients are not checked and delay no check")
    func others() async throws {
        try await signIn("stranger", client: ClientID("com.example.gone"))
        var other = StorageTests.record("ann", at: now)
        other.team = TeamID("OTHERTEAM1")
        _ = try await database.completeSignIn(other)
        try await signIn("ann")
        bench.clock.advance(seconds: 2 * Self.day)
        var found: [DueCheck] = []
        for _ in 0..<3 { found += try await begin(1) }
        #expect(found.map(\.subject.rawValue) == ["ann"])
        #expect(try await !hasDue())
    }

    /// Marks a credential as asked about now, whatever its plan; sessions of the bench live for an hour.
    private func forceDue(_ subject: String) async throws -> DueCheck {
        try execute("UPDATE apple_credential SET next_check_at = 1, checked_at = NULL")
        return try #require(try await begin().first { $0.subject == AppleSubject(subject) })
    }

    @Test("one client's dead credential ends that client's sessions and leaves the other's")
    func twoClients() async throws {
        let web = try await signIn()
        let app = try await signIn(client: Self.scope.clients[1])
        try execute("UPDATE apple_credential SET next_check_at = 1")
        let check = try #require(try await begin().first { $0.clientID == Bench.web })
        #expect(try await record(.dead, check) == .died(web.user, sessions: 1))
        #expect(try await !isLive(web))
        #expect(try await isLive(app))
        #expect(try await database.user(web.user)?.credentialState == .authorized)
    }

    @Test("a check that was not made is due at the given time, and attempts are counted until an answer")
    func notMade() async throws {
        try await signIn()
        var check = try await forceDue("ann")
        for failures in 0..<3 {
            #expect(check.failures == failures)
            let retryAt = now.adding(seconds: 3_600)
            #expect(try await record(.notMade(retryAt: retryAt), check) == .recorded)
            bench.clock.advance(milliseconds: 3_599_999)
            #expect(try await begin().isEmpty)
            bench.clock.advance(milliseconds: 1)
            check = try #require(try await begin().first)
        }
        _ = try await record(.alive, check)
        bench.clock.advance(seconds: 2 * Self.day)
        #expect(try await begin().first?.failures == 0)
    }

    @Test(
        "after a sign-in in the same second of Apple's clock, a dead answer concerns the older token", .onSQLite)
    func signInMeanwhile() async throws {
        let old = try await signIn()
        let check = try await forceDue("ann")
        var again = StorageTests.record("ann", issuedAt: check.issuedAt, at: now)
        again.sealedRefreshToken = [9, 9, 9]
        let new = try #require(try await database.completeSignIn(again).session)
        #expect(try await record(.dead, check) == .superseded)
        #expect(try await isLive(new))
        #expect(try await isLive(old))
        #expect(try bench.text("SELECT hex(sealed_refresh_token) FROM apple_credential") == "090909")
        #expect(try await database.checkStatus(Self.scope, at: now).dead == 0)
    }

    @Test("after a sign-in that is older by Apple's clock, the answer counts")
    func olderSignIn() async throws {
        try await signIn()
        let check = try await forceDue("ann")
        let late = StorageTests.record("ann", issuedAt: check.issuedAt.adding(seconds: -60), at: now)
        _ = try await database.completeSignIn(late)
        guard case .died(_, sessions: 2) = try await record(.dead, check) else {
            throw Unexpected("the token that was asked about is still the one that is kept")
        }
    }

    /// One client's token is found dead while another's seems to live, and then Apple's late word of an end before the
    /// last sign-in takes that one: nothing carries the consent any more.
    @Test("a late notification ends the last token: the dead one was of the latest sign-in")
    func lateNotificationAboutTheOtherToken() async throws {
        let app = try await signIn(client: Self.scope.clients[1])
        bench.clock.advance(seconds: 2)
        let end = now
        bench.clock.advance(seconds: 2)
        let web = try await signIn()
        try execute("UPDATE apple_credential SET next_check_at = 1 WHERE client_id = 'com.example.web'")
        let check = try #require(try await begin().first)
        #expect(try await record(.dead, check) == .died(web.user, sessions: 1))
        #expect(try await database.user(web.user)?.credentialState == .authorized)
        #expect(
            try await database.apply(notification(.consentRevoked, time: end), team: Bench.team, at: now) == .applied)
        #expect(try await !isLive(app))
        #expect(
            try bench.text("SELECT credential_state || credential_cause FROM apple_identity") == "revokedtoken_dead")
    }

    /// The same word of Apple's, and the sign-in it is older than still stands.
    @Test("a late notification that leaves a live token keeps the person authorized")
    func lateNotificationBesideALiveToken() async throws {
        try await signIn(client: Self.scope.clients[1])
        bench.clock.advance(seconds: 2)
        let end = now
        bench.clock.advance(seconds: 2)
        let web = try await signIn()
        #expect(
            try await database.apply(notification(.consentRevoked, time: end), team: Bench.team, at: now) == .applied)
        #expect(try await isLive(web))
        #expect(try await database.user(web.user)?.credentialState == .authorized)
    }

    @Test("an answer after a deletion does not affect the same person's new row")
    func deletionMeanwhile() async throws {
        let session = try await signIn()
        let check = try await forceDue("ann")
        #expect(try await database.deleteUser(session.user, at: now) != .unknown)
        #expect(try await record(.dead, check) == .superseded)
        try await signIn("bob")
        let fresh = try #require(
            try await database.completeSignIn(StorageTests.record("ann", issuedAt: check.issuedAt, at: now)).session)
        #expect(try await record(.dead, check) == .superseded)
        #expect(try await isLive(fresh))
    }

    @Test("an answer after the next check has begun is ignored")
    func lateAnswer() async throws {
        let late = try await begun()
        bench.clock.advance(seconds: 2 * Self.day)
        let next = try #require(try await begin().first)
        #expect(try await record(.dead, late) == .superseded)
        guard case .died = try await record(.dead, next) else {
            throw Unexpected("the answer to the check under way counts")
        }
    }
}
