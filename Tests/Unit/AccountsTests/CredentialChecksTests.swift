import Coding
import Crypto
import Gates
import LogRecording
import Storage
import Stores
import Synchronization
import Testing

@testable import Accounts

/// An Apple that knows every token, or gives the set answers.
private final class CheckingApple: IdentityProvider {
    struct State {
        var answers: [String: TokenFailure] = [:]
        var asked: [String] = []
        var mostInFlight = 0
        var inFlight = 0
    }

    let state = Mutex(State())
    let gate = Gate()

    func check(_ token: RefreshToken, subject: AppleSubject, clientID: ClientID) async throws(TokenFailure) {
        state.withLock { state in
            state.asked.append("\(subject.rawValue) \(token.value)")
            state.inFlight += 1
            state.mostInFlight = max(state.mostInFlight, state.inFlight)
        }
        await gate.pass()
        let answer = state.withLock { state in
            state.inFlight -= 1
            return state.answers[subject.rawValue]
        }
        if let answer { throw answer }
    }
}

/// What the loop does with credentials and Apple's answers. The rules of the store have tests of their own.
@Suite struct CredentialChecksTests {
    private static let scope = CheckScope(team: TestDatabase.team, clients: [ClientID("com.example.web")])

    private let apple = CheckingApple()
    private let clock = ManualClock()
    private let database: TestDatabase
    private let log = LogRecorder()
    private let keyring = SealingKeyring(current: .generate(), previous: [])
    private let checks: CredentialChecks

    init() {
        database = TestDatabase(limits: SessionLimits(lifetime: 86_400, idleTimeout: 3_600), clock: clock)
        checks = CredentialChecks(
            database: database.store, provider: apple, keyring: keyring, rate: 20, concurrency: 4,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: log.logger))
    }

    /// Somebody whose credential is due now.
    private func add(_ subject: String, failures: Int = 0, context: [UInt8]? = nil) {
        let client = Self.scope.clients[0]
        let own = RefreshToken.sealingContext(
            team: Self.scope.team, subject: AppleSubject(subject), clientID: client)
        let sealed = keyring.seal(Array("t-\(subject)".utf8), purpose: .refreshToken, context: context ?? own)
        database.put(
            DueCheck(
                team: Self.scope.team, subject: AppleSubject(subject), clientID: client, issuedAt: clock.now(),
                sealedRefreshToken: sealed, askedAt: clock.now(), failures: failures))
    }

    /// One round, its checks one after another.
    @discardableResult
    private func round() async -> Int {
        let begun = await checks.round()
        for check in begun { await checks.make(check) }
        return begun.count
    }

    private func answer(_ subject: String, _ failure: TokenFailure?) {
        apple.state.withLock { $0.answers[subject] = failure }
    }

    private var asked: [String] { apple.state.withLock(\.asked) }
    private var alive: Int { database.number("SELECT coalesce(sum(alive), 0) FROM credential_check") }
    private var dead: Int { database.number("SELECT coalesce(sum(dead), 0) FROM credential_check") }
    private var due: Int {
        database.number("SELECT count(*) FROM apple_credential WHERE next_check_at <= \(clock.now().milliseconds)")
    }

    @Test("each of Apple's answers is recorded")
    func answers() async {
        let table: [(String, TokenFailure?, alive: Int, dead: Int)] = [
            ("alive", nil, 1, 0), ("dead", .dead("invalid_grant"), 0, 1),
            ("mismatch", .mismatch("client_id mismatch"), 0, 0), ("other", .unverified("sub"), 0, 0),
            ("timeout", .unavailable("timeout", mayHaveActed: true), 0, 0),
        ]
        for (subject, failure, alive, dead) in table {
            let before = (alive: self.alive, dead: self.dead)
            answer(subject, failure)
            add(subject)
            clock.advance(seconds: 5)
            await round()
            #expect(self.alive - before.alive == alive, "\(subject)")
            #expect(self.dead - before.dead == dead, "\(subject)")
            // Each counts as the check of the day.
            #expect(database.credential(of: subject)?.wasAsked == true, "\(subject)")
            #expect(database.credential(of: subject)?.hasToken == (dead == 0), "\(subject)")
        }
        #expect(asked == table.map { "\($0.0) t-\($0.0)" })
        #expect(!log.lines.joined().contains("t-"))
    }

    @Test("a check that Apple did not make is tried again within the day, later each time")
    func notMade() async {
        let refusals: [TokenFailure] = [
            .unavailable("status 500", mayHaveActed: false), .clientRefused("invalid_client"),
        ]
        for (failures, pause) in [(0, 3_600), (1, 7_200), (7, 86_400)] {
            for refusal in refusals {
                answer("ann", refusal)
                add("ann", failures: failures)
                // Past every pause.
                clock.advance(seconds: 21_600)
                await round()
                let credential = database.credential(of: "ann")
                #expect(credential?.wasAsked == false)
                let wait = ((credential?.next ?? clock.now()).milliseconds - clock.now().milliseconds) / 1_000
                #expect((Int64(pause)..<Int64(pause) + 3_600).contains(wait))
            }
        }
        #expect(database.number("SELECT count(*) FROM credential_pause") == 1)
    }

    @Test("while Apple does not answer, one check at a time is tried, and all resume after an answer")
    func backOff() async {
        for person in 1...20 { add("p\(person)") }
        for person in 1...20 { answer("p\(person)", .unavailable("status 503", mayHaveActed: false)) }
        #expect(await round() == 4)
        #expect(await round() == 0)
        clock.advance(seconds: 1)
        #expect(await round() == 1)
        clock.advance(seconds: 1)
        #expect(await round() == 0)
        for person in 1...20 { answer("p\(person)", nil) }
        clock.advance(seconds: 1)
        #expect(await round() == 1)
        clock.advance(seconds: 1)
        #expect(await round() == 4)
        // One line for all of them.
        #expect(log.lines.filter { $0.contains("credential check failed") }.count == 1)
    }

    @Test("an error that affects everyone is logged once an hour, with a count")
    func complaints() async {
        for hour in 0..<2 {
            for person in 1...10 {
                add("h\(hour)p\(person)")
                answer("h\(hour)p\(person)", .mismatch("client_id mismatch"))
                clock.advance(seconds: 1)
                await round()
            }
            clock.advance(seconds: 3_600)
        }
        let lines = log.lines.filter { $0.contains("mismatch") }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("error credential check failed") })
        #expect(lines[0].contains("count=1"))
        #expect(lines[1].contains("count=10"))
    }

    @Test func tokenThatNoKeyOpensIsNotSent() async {
        add("ann", context: Array("another person's".utf8))
        await round()
        #expect(asked.isEmpty)
        #expect(alive + dead == 0)
        #expect(log.lines.contains { $0.hasPrefix("error credential check failed") })
    }

    @Test("the rate is kept however much is due")
    func pace() async {
        for person in 1...200 { add("p\(person)") }
        var begun = 0
        for _ in 0..<40 {
            begun += await round()
            clock.advance(milliseconds: 250)
        }
        // Ten seconds at twenty a second would be 200; four in flight at most, forty rounds.
        #expect(begun == 160)
    }

    @Test("checks in flight are limited, and their answers are recorded when the process stops")
    func concurrency() async {
        for person in 1...12 { add("p\(person)") }
        apple.gate.shut()
        let (apple, clock) = (apple, clock)
        await checks.run {
            clock.advance(milliseconds: 250)
            try? await Task.sleep(for: .milliseconds(1))
            let asked = apple.state.withLock(\.asked.count)
            if asked >= 4 { apple.gate.open() }
            return asked < 12
        }
        #expect(asked.count == 12)
        #expect(apple.state.withLock(\.mostInFlight) == 4)
        #expect(alive == 12)
        #expect(!database.isLeased)
    }

    @Test func anotherProcessHasTheLease() async throws {
        add("ann")
        _ = try await database.store.holdLease(.credentialChecks, holder: "another", seconds: 5, at: clock.now())
        #expect(await round() == 0)
        #expect(due == 1)
        try await database.store.releaseLease(.credentialChecks, holder: "another")
        #expect(await round() == 1)
        #expect(database.isLeased)
        // Nothing left: it is given back.
        await round()
        #expect(!database.isLeased)
    }

    @Test func nothingDueWritesNothing() async {
        database.faults.failWrites()
        for _ in 0..<10 {
            await round()
            clock.advance(seconds: 1)
        }
        #expect(database.faults.failures == 0)
        #expect(log.lines.isEmpty)
    }

    @Test("the brake, pauses and their ends are logged once each, also by a new process")
    func announces() async {
        let now = clock.now().milliseconds
        func see(_ change: String) async {
            database.execute(change)
            await round()
            await round()
        }
        await see("INSERT INTO credential_brake (id, since, dead, checks) VALUES (1, \(now), 20, 21)")
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error daily checks stopped"))
        #expect(log.lines[0].contains("reason=brake"))
        await see("DELETE FROM credential_brake")
        #expect(log.lines.count == 2)
        #expect(log.lines[1].hasPrefix("info daily checks resumed"))
        await see(
            """
            INSERT INTO credential_pause (client_id, since, next_try_at, attempts, detail)
            VALUES ('com.example.web', \(now), \(now), 1, 'invalid_client')
            """)
        await see("UPDATE credential_pause SET attempts = 2")
        await see("DELETE FROM credential_pause")
        #expect(log.lines.count == 5)
        #expect(log.lines[2].hasPrefix("error daily checks paused"))
        #expect(log.lines[3].contains("attempts=2"))
        #expect(log.lines[4].hasPrefix("info daily checks resumed"))
    }

    @Test func unavailableStoreIsLoggedOnceAndPausesChecks() async {
        add("ann")
        database.faults.fail()
        await round()
        await round()
        clock.advance(seconds: 5)
        await round()
        #expect(log.lines.filter { $0.hasPrefix("error daily checks paused: database error") }.count == 1)
        database.faults.heal()
        clock.advance(seconds: 5)
        #expect(await round() == 1)
    }
}
