import Coding
import Crypto
import LogRecording
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct SignInTests {
    private let bench = SignInBench()

    @Test("the state does not reveal its content")
    func stateIsSealed() {
        let attempt = bench.begin(returnTo: "/secret-place")
        let bytes = Base64URL.decode(attempt.state) ?? []
        #expect(!String(decoding: bytes, as: UTF8.self).contains("secret-place"))
    }

    @Test("a stale state is reported as stale whatever the cookie is")
    func ageComesBeforeBrowser() async {
        let attempt = bench.begin()
        bench.clock.advance(seconds: 601)
        for binding in [BindingCookie.absent, .invalid, .value(.make(random: SystemRandom()))] {
            #expect(await bench.post(bench.form(attempt), binding: binding).name == "stale_state")
        }
    }

    @Test("when the name cannot be made safe, Apple is not asked")
    func failsBeforeExchange() async {
        bench.database.faults.failWrites(with: .unavailable("full"))
        let attempt = bench.begin()
        let outcome = await bench.post(bench.form(attempt, user: "Ann Lee"))
        #expect(outcome.name == "storage")
        #expect(bench.apple.exchangedCodes.isEmpty)
        bench.database.faults.heal()
        #expect(await bench.post(bench.form(attempt, user: "Ann Lee")).name == "signedIn")
    }

    @Test("while no write can succeed, the code is not spent, and the same post succeeds later")
    func keepsTheCodeWhileWritesFail() async {
        bench.database.faults.failWrites(with: .busy("locked"))
        let attempt = bench.begin()
        #expect(await bench.post(bench.form(attempt)).name == "storage")
        #expect(bench.apple.exchangedCodes.isEmpty)
        bench.database.faults.heal()
        // A server tries again and again.
        await #expect(throws: Never.self) { try await bench.store.store.ready(at: bench.clock.now()) }
        #expect(await bench.post(bench.form(attempt)).name == "signedIn")
    }

    @Test("a session that was not stored is not confirmed")
    func storageFailureIsNotASignIn() async throws {
        bench.database.faults.fail(at: "INSERT INTO session", with: .unavailable("full"))
        let outcome = await bench.post(bench.form(bench.begin()))
        #expect(outcome.failure == Failure(.storage, "unavailable: full"))
        #expect(bench.apple.exchangedCodes.count == 1)
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
    }
}

@Suite struct AttemptKeyTests {
    @Test("state opens after the turn of an hour")
    func survivesTheHour() async {
        let bench = SignInBench()
        bench.clock.advance(seconds: 3599 - bench.clock.now().seconds % 3600)
        let attempt = bench.begin()
        bench.clock.advance(seconds: 2)
        #expect(await bench.post(bench.form(attempt)).name == "signedIn")
    }

    @Test("state opens under a previous sealing key, and not once that is gone", arguments: [true, false])
    func survivesRotation(isKept: Bool) async {
        let old = SealingKey.generate()
        let clock = ManualClock()
        let limits = SessionLimits(lifetime: 60, idleTimeout: 60)
        let apple = FakeApple(clock: clock)
        let targets = ReturnTargets(publicURL: "https://id.example.com", allowedOrigins: [], defaultTarget: "/account")
        let browser = BrowserBinding.make(random: SystemRandom())
        let database = TestDatabase(limits: limits, clock: clock)
        func signIn(_ keyring: SealingKeyring) -> SignIn {
            SignIn(
                provider: apple, database: database.store, keyring: keyring,
                configuration: SignInConfiguration(signUp: .open), returnTargets: targets,
                runtime: Runtime(clock: clock, random: SystemRandom(), logger: LogRecorder().logger))
        }
        let attempt = signIn(SealingKeyring(current: old, previous: []))
            .begin(binding: browser, returnTo: targets.defaultTarget, replacing: nil)
        let rotated = signIn(SealingKeyring(current: .generate(), previous: isKept ? [old] : []))
        let body = FormEncoder.encode([("state", attempt.state), ("code", "c"), ("id_token", "ann|\(attempt.nonce)|c")])
        let outcome = await rotated.complete(
            rotated.receive(body, binding: .value(browser)), sameOrigin: false,
            device: Device(userAgent: "", address: ""))
        #expect(outcome.name == (isKept ? "signedIn" : "invalid_state"))
    }
}
