import Coding
import Crypto
import Gates
import LogRecording
import Storage
import Stores
import Synchronization
import Testing

@testable import Accounts

/// Credentials, a lease and Apple in memory: what the loop does with them. The store's own rules are tested with the
/// database.
private final class FakeChecks: CredentialCheckStore, LeaseStore, TokenChecker {
    struct State {
        var due: [DueCheck] = []
        var gate = CheckGate()
        var answers: [String: TokenCheckFailure] = [:]
        var asked: [String] = []
        var recorded: [String: CheckAnswer] = [:]
        var begun: [DueCheck] = []
        var outcome = CheckOutcome.noted
        var leaseIsOurs = true
        var leases = 0
        var released = 0
        var fails = false
        var mostInFlight = 0
        var inFlight = 0
    }

    let state = Mutex(State())
    let gate = Gate()

    func checkWork(_ scope: CheckScope, at now: Timestamp) async throws(StoreError) -> CheckWork {
        if state.withLock(\.fails) { throw .unavailable("disk full") }
        return state.withLock { CheckWork(hasDue: !$0.due.isEmpty, gate: $0.gate) }
    }

    func beginChecks(
        _ scope: CheckScope, limit: Int, schedule: CheckSchedule, at now: Timestamp
    ) async throws(StoreError) -> [DueCheck] {
        state.withLock { state in
            let begun = Array(state.due.prefix(limit))
            state.due.removeFirst(begun.count)
            state.begun += begun
            return begun
        }
    }

    func recordCheck(
        _ answer: CheckAnswer, of check: DueCheck, at now: Timestamp
    ) async throws(StoreError) -> CheckOutcome {
        state.withLock { state in
            state.recorded[check.subject.rawValue] = answer
            return state.outcome
        }
    }

    func holdLease(
        _ job: LeasedJob, holder: String, seconds: Int64, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        state.withLock { state in
            state.leases += 1
            return state.leaseIsOurs
        }
    }

    func releaseLease(_ job: LeasedJob, holder: String) async throws(StoreError) {
        state.withLock { $0.released += 1 }
    }

    func check(
        _ token: RefreshToken, subject: AppleSubject, clientID: ClientID
    ) async throws(TokenCheckFailure) {
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

@Suite struct CredentialChecksTests {
    private static let scope = CheckScope(team: TeamID("TEAM123456"), clients: [ClientID("com.example.web")])

    private let fake = FakeChecks()
    private let clock = ManualClock()
    private let log = LogRecorder()
    private let keyring = SealingKeyring(current: .generate(), previous: [])
    private let checks: CredentialChecks

    init() {
        checks = CredentialChecks(
            store: fake, checker: fake, scope: Self.scope, keyring: keyring, rate: 20, concurrency: 4, clock: clock,
            random: SystemRandom(), logger: log.logger)
    }

    private func add(_ subject: String, failures: Int = 0, context: [UInt8]? = nil) {
        let client = Self.scope.clients[0]
        let own = RefreshToken.sealingContext(
            team: Self.scope.team, subject: AppleSubject(subject), clientID: client)
        let sealed = keyring.seal(Array("t-\(subject)".utf8), purpose: .refreshToken, context: context ?? own)
        fake.state.withLock {
            $0.due.append(
                DueCheck(
                    team: TeamID("TEAM123456"), subject: AppleSubject(subject), clientID: client, issuedAt: clock.now(),
                    sealedRefreshToken: sealed, askedAt: clock.now(), failures: failures))
        }
    }

    /// One round, its checks one after another.
    @discardableResult
    private func round() async -> Int {
        let begun = await checks.round()
        for check in begun { await checks.make(check) }
        return begun.count
    }

    private func answer(_ subject: String, _ failure: TokenCheckFailure?) {
        fake.state.withLock { $0.answers[subject] = failure }
    }

    private var asked: [String] { fake.state.withLock(\.asked) }
    private func recorded(_ subject: String) -> CheckAnswer? { fake.state.withLock { $0.recorded[subject] } }

    @Test("each answer of Apple's, and what is taken down for it")
    func answers() async {
        let table: [(String, TokenCheckFailure?, CheckAnswer?)] = [
            ("alive", nil, .alive), ("dead", .dead("invalid_grant"), .dead),
            ("mismatch", .mismatch("client_id mismatch"), nil), ("other", .unverified("sub"), nil),
            ("timeout", .unavailable("timeout", mayHaveChecked: true), nil),
        ]
        for (subject, failure, expected) in table {
            answer(subject, failure)
            add(subject)
            clock.advance(seconds: 5)
            await round()
            #expect(recorded(subject) == expected, "\(subject)")
        }
        #expect(asked == table.map { "\($0.0) t-\($0.0)" })
        #expect(!log.lines.joined().contains("t-"))
    }

    @Test("what Apple certainly did not look at is tried again within the day, later each time")
    func notMade() async {
        let refusals: [TokenCheckFailure] = [
            .unavailable("status 500", mayHaveChecked: false), .clientRefused("invalid_client"),
        ]
        for (failures, pause) in [(0, 3_600), (1, 7_200), (7, 86_400)] {
            for refusal in refusals {
                answer("ann", refusal)
                add("ann", failures: failures)
                // Past every pause.
                clock.advance(seconds: 3_600)
                await round()
                let retryAt: Timestamp
                switch recorded("ann") {
                case .notMade(let moment): retryAt = moment
                case .clientRefused("invalid_client", let moment): retryAt = moment
                case let other:
                    Issue.record("\(String(describing: other))")
                    return
                }
                let wait = (retryAt.milliseconds - clock.now().milliseconds) / 1_000
                #expect((Int64(pause)..<Int64(pause) + 3_600).contains(wait))
            }
        }
    }

    @Test("while Apple does not answer one check at a time is tried, and all go on once one is answered")
    func backOff() async {
        for person in 1...20 { add("p\(person)") }
        for person in 1...20 { answer("p\(person)", .unavailable("status 503", mayHaveChecked: false)) }
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

    @Test("a mistake that hits everybody is one line an hour, with how many it hit")
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
        #expect(lines[0].contains(#""count": 1"#))
        #expect(lines[1].contains(#""count": 10"#))
    }

    @Test func aTokenNobodyCanOpenIsNotSent() async {
        add("ann", context: Array("another person's".utf8))
        await round()
        #expect(asked.isEmpty)
        #expect(recorded("ann") == nil)
        #expect(log.lines.contains { $0.hasPrefix("error credential check failed") })
    }

    @Test("the pace holds, whatever is due")
    func pace() async {
        for person in 1...500 { add("p\(person)") }
        var begun = 0
        for _ in 0..<40 {
            begun += await round()
            clock.advance(milliseconds: 250)
        }
        // Ten seconds at twenty a second would be 200; four in flight at most, forty rounds.
        #expect(begun == 160)
    }

    @Test("never more in flight than allowed, and the work ends when the process does, with answers taken down")
    func concurrency() async {
        for person in 1...12 { add("p\(person)") }
        fake.gate.shut()
        let (fake, clock) = (fake, clock)
        await checks.run {
            clock.advance(milliseconds: 250)
            await Task.yield()
            if fake.state.withLock({ $0.asked.count }) >= 4 { fake.gate.open() }
            return fake.state.withLock { $0.due.isEmpty } == false
        }
        #expect(asked.count == 12)
        #expect(fake.state.withLock { $0.mostInFlight } == 4)
        #expect(fake.state.withLock { $0.recorded.count } == 12)
        #expect(fake.state.withLock { $0.released } == 1)
    }

    @Test func anotherProcessHasTheLease() async {
        add("ann")
        fake.state.withLock { $0.leaseIsOurs = false }
        #expect(await round() == 0)
        #expect(fake.state.withLock { $0.begun.isEmpty })
        fake.state.withLock { $0.leaseIsOurs = true }
        #expect(await round() == 1)
        // Nothing left: it is given back, once.
        await round()
        await round()
        #expect(fake.state.withLock { $0.released } == 1)
    }

    @Test func nothingDueWritesNothing() async {
        for _ in 0..<10 {
            await round()
            clock.advance(seconds: 1)
        }
        #expect(fake.state.withLock { $0.leases == 0 && $0.released == 0 })
    }

    @Test("the brake and pauses are said once each, also by a process that begins with them; their ends too")
    func announces() async {
        let brake = CheckGate.Brake(since: clock.now(), dead: 20, checks: 21)
        var pause = CheckGate.Pause(
            clientID: Self.scope.clients[0], since: clock.now(), nextTryAt: clock.now(), attempts: 1,
            detail: "invalid_client")
        func see(_ gate: CheckGate) async {
            fake.state.withLock { $0.gate = gate }
            await round()
            await round()
        }
        await see(CheckGate(brake: brake))
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error daily checks stopped"))
        #expect(log.lines[0].contains(#""reason": brake"#))
        await see(CheckGate())
        #expect(log.lines.count == 2)
        #expect(log.lines[1].hasPrefix("info daily checks resumed"))
        await see(CheckGate(pauses: [pause]))
        pause.attempts = 2
        await see(CheckGate(pauses: [pause]))
        await see(CheckGate())
        #expect(log.lines.count == 5)
        #expect(log.lines[2].hasPrefix("error daily checks paused"))
        #expect(log.lines[3].contains(#""attempts": 2"#))
        #expect(log.lines[4].hasPrefix("info daily checks resumed"))
    }

    @Test func aStoreThatDoesNotAnswerIsOneLineAndARest() async {
        add("ann")
        fake.state.withLock { $0.fails = true }
        await round()
        await round()
        clock.advance(seconds: 5)
        await round()
        #expect(log.lines.filter { $0.hasPrefix("error daily checks paused: database error") }.count == 1)
        fake.state.withLock { $0.fails = false }
        clock.advance(seconds: 5)
        #expect(await round() == 1)
    }
}
