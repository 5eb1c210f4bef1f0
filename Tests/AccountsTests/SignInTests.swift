import Coding
import Crypto
import LogRecording
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct SignInTests {
    @Test("a callback that verifies makes one user and one session, and leads to the return target")
    func signsIn() async throws {
        let bench = SignInBench()
        let attempt = bench.begin(returnTo: "https://app.example.com/home")
        let outcome = await bench.post(bench.form(attempt, user: "Ann Lee"))
        guard case .signedIn(let token, let session, let returnTo) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(returnTo.location == "https://app.example.com/home")
        #expect(session.tokenHash == token.hash)
        #expect(session.expiresAt == bench.clock.now().adding(seconds: 86_400))
        let found = try await bench.store.signedIn(token: token.hash, at: bench.clock.now())
        #expect(found?.user.name == PersonName(given: "Ann", family: "Lee"))
        #expect(found?.user.email?.address == "ann@example.com")
        let kinds = try await bench.store.events(after: nil, limit: 10).map(\.kind)
        #expect(kinds == [.userCreated, .sessionCreated])
    }

    @Test("attempts differ in state and nonce, 256 bits each, and the authorize URL carries both")
    func attemptsAreUnique() {
        let bench = SignInBench()
        let attempts = (0..<100).map { _ in bench.begin() }
        #expect(Set(attempts.map(\.state)).count == 100)
        #expect(Set(attempts.map(\.nonce)).count == 100)
        #expect(attempts.allSatisfy { Base64URL.decode($0.nonce)?.count == 32 })
        let url = bench.signIn.authorizeURL(for: attempts[0])
        #expect(url.contains(attempts[0].state) && url.contains(attempts[0].nonce))
        #expect(attempts[0].expiresAt == bench.clock.now().adding(seconds: 600))
        #expect(attempts[0].renewAfter < 300)
    }

    @Test("state hides what it holds")
    func stateIsSealed() {
        let bench = SignInBench()
        let attempt = bench.begin(returnTo: "/secret-place")
        let bytes = Base64URL.decode(attempt.state) ?? []
        #expect(!String(decoding: bytes, as: UTF8.self).contains("secret-place"))
    }

    @Test("state opens to the last second of its life and not after", arguments: [(599, true), (600, false)])
    func stateAges(seconds: Int64, isFresh: Bool) async {
        let bench = SignInBench()
        let attempt = bench.begin()
        bench.clock.advance(seconds: seconds)
        let outcome = await bench.post(bench.form(attempt))
        #expect(outcome.name == (isFresh ? "signedIn" : "stale_state"))
        #expect(isFresh || bench.apple.verifications == 0)
    }

    @Test("every changed character of state is refused, before anything is asked or written")
    func stateIsAuthentic() async throws {
        let bench = SignInBench()
        let attempt = bench.begin()
        let characters = Array(attempt.state)
        for index in stride(from: 0, to: characters.count, by: 7) {
            var changed = characters
            changed[index] = changed[index] == "A" ? "B" : "A"
            var forged = attempt
            forged.state = String(changed)
            #expect(await bench.post(bench.form(forged)).name == "invalid_state")
        }
        let long = String(repeating: "A", count: 4_000)
        for state in ["", "A", "AAAA", "%", long, attempt.state + "A", "=" + attempt.state] {
            var forged = attempt
            forged.state = state
            #expect(await bench.post(bench.form(forged)).name == "invalid_state")
        }
        #expect(await bench.post(FormEncoder.encode([("code", "c"), ("id_token", "t")])).name == "invalid_state")
        #expect(bench.apple.verifications == 0)
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
    }

    @Test("another server's state is refused")
    func stateIsOurs() async {
        let attempt = SignInBench().begin()
        let bench = SignInBench()
        #expect(await bench.post(bench.form(attempt)).name == "invalid_state")
    }

    @Test("another browser, or a cookie we never wrote, is refused before the token is looked at")
    func bindsToBrowser() async {
        let bench = SignInBench()
        let attempt = bench.begin()
        let other = BrowserBinding.make(random: SystemRandom())
        #expect(await bench.post(bench.form(attempt), binding: .value(other)).name == "wrong_browser")
        #expect(await bench.post(bench.form(attempt), binding: .invalid).name == "wrong_browser")
        #expect(bench.apple.verifications == 0)
        #expect(await bench.post(bench.form(attempt)).name == "signedIn")
    }

    @Test("a stale state is told as stale whatever the cookie says")
    func ageComesBeforeBrowser() async {
        let bench = SignInBench()
        let attempt = bench.begin()
        bench.clock.advance(seconds: 601)
        for binding in [BindingCookie.absent, .invalid, .value(.make(random: SystemRandom()))] {
            #expect(await bench.post(bench.form(attempt), binding: binding).name == "stale_state")
        }
    }

    @Test("a wrong nonce fails, writes nothing and leaves the attempt unused")
    func checksNonce() async throws {
        let bench = SignInBench()
        let attempt = bench.begin()
        let outcome = await bench.post(bench.form(attempt, nonce: "other", user: "Eve X"))
        #expect(outcome.name == "identity_token")
        #expect(bench.apple.exchangedCodes.isEmpty)
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
        #expect(await bench.post(bench.form(attempt)).session != nil)
        let sessions = try await bench.store.events(after: nil, limit: 10).map(\.user)
        let user = try await bench.store.user(sessions[0])
        #expect(user?.name.isEmpty == true)
    }

    @Test("a name is safe before Apple is asked: it survives a failing exchange")
    func keepsFirstConsent() async throws {
        let bench = SignInBench()
        bench.apple.set { $0.exchangeFailure = .providerUnavailable("503") }
        let attempt = bench.begin()
        let first = await bench.post(bench.form(attempt, user: "Ann Lee"))
        #expect(first.name == "provider_unavailable")
        bench.apple.set { $0.exchangeFailure = nil }
        // Apple does not send the name again.
        let outcome = await bench.post(bench.form(bench.begin(), code: "code-2"))
        let user = try await bench.store.user(try #require(outcome.session).user)
        #expect(user?.name == PersonName(given: "Ann", family: "Lee"))
    }

    @Test("when the name cannot be made safe, Apple is not asked")
    func failsBeforeExchange() async {
        let bench = SignInBench()
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
        let bench = SignInBench()
        bench.database.faults.failWrites(with: .busy("locked"))
        let attempt = bench.begin()
        #expect(await bench.post(bench.form(attempt)).name == "storage")
        #expect(bench.apple.exchangedCodes.isEmpty)
        bench.database.faults.heal()
        // A server tries again and again.
        await #expect(throws: Never.self) { try await bench.store.store.ready(at: bench.clock.now()) }
        #expect(await bench.post(bench.form(attempt)).name == "signedIn")
    }

    @Test("a failed exchange leaves the attempt unused; a passing failure is not kept as the answer")
    func failedExchangeKeepsAttempt() async {
        let bench = SignInBench()
        bench.apple.set { $0.exchangeFailure = .providerUnavailable("timeout") }
        let attempt = bench.begin()
        #expect(await bench.post(bench.form(attempt)).name == "provider_unavailable")
        bench.apple.set { $0.exchangeFailure = nil }
        #expect(await bench.post(bench.form(attempt)).name == "signedIn")
    }

    @Test("a refused code is sent once, however often the page is reloaded")
    func codeIsSentOnce() async {
        let bench = SignInBench()
        bench.apple.set { $0.exchangeFailure = .codeRefused("invalid_grant") }
        let attempt = bench.begin()
        for _ in 0..<5 { #expect(await bench.post(bench.form(attempt)).name == "code_refused") }
        #expect(bench.apple.exchangedCodes == ["code-1"])
    }

    @Test("an exchange that returns another person is refused")
    func holdsTokensTogether() async throws {
        let bench = SignInBench()
        bench.apple.set { $0.exchangedSubject = "eve" }
        #expect(await bench.post(bench.form(bench.begin())).name == "token_mismatch")
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
    }

    @Test("a session that was not stored is not confirmed")
    func storageFailureIsNoSignIn() async throws {
        let bench = SignInBench()
        bench.database.faults.fail(at: "INSERT INTO session", with: .unavailable("full"))
        let outcome = await bench.post(bench.form(bench.begin()))
        #expect(outcome.failure == .storage("unavailable: full"))
        #expect(bench.apple.exchangedCodes.count == 1)
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
    }

    @Test(
        "Apple's errors with a valid state are told apart, and use nothing up",
        arguments: [("user_cancelled_authorize", "cancelled"), ("<script>", "provider_error")])
    func handlesErrors(error: String, name: String) async {
        let bench = SignInBench()
        let attempt = bench.begin()
        let outcome = await bench.post(FormEncoder.encode([("state", attempt.state), ("error", error)]))
        #expect(outcome.name == name)
        guard case .failed(_, let retry) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(retry?.location == "/notes")
        #expect(await bench.post(bench.form(attempt)).name == "signedIn")
    }

    @Test("an error without a state of ours is an invalid state")
    func errorNeedsState() async {
        let bench = SignInBench()
        #expect(await bench.post(FormEncoder.encode([("error", "user_cancelled_authorize")])).name == "invalid_state")
    }

    @Test("code and token are both needed", arguments: ["code", "id_token"])
    func needsBothFields(missing: String) async {
        let bench = SignInBench()
        let attempt = bench.begin()
        let fields = [("state", attempt.state), ("code", "c"), ("id_token", "t")].filter { $0.0 != missing }
        #expect(await bench.post(FormEncoder.encode(fields)).name == "malformed_callback")
    }

    @Test(
        "the sign-up policy decides about new people",
        arguments: [(SignUpPolicy.open, "signedIn"), (.approval, "pending"), (.closed, "closed")])
    func appliesPolicy(policy: SignUpPolicy, name: String) async {
        let bench = SignInBench(policy: policy)
        #expect(await bench.post(bench.form(bench.begin())).name == name)
    }

    @Test("the session that was there when the page was shown is ended, no other")
    func replacesSession() async throws {
        let bench = SignInBench()
        let first = try #require(await bench.post(bench.form(bench.begin())).session)
        let other = try #require(await bench.post(bench.form(bench.begin(), code: "code-2")).session)
        let attempt = bench.begin(replacing: first.id)
        let third = try #require(await bench.post(bench.form(attempt, code: "code-3")).session)
        let live = try await bench.store.sessions(of: first.user, at: bench.clock.now())
        #expect(Set(live.map(\.id)) == [other.id, third.id])
    }

    @Test("a return target that is no longer allowed falls back to the default when opened")
    func validatesTargetAgain() async throws {
        let bench = SignInBench()
        let attempt = bench.begin(returnTo: "https://app.example.com/")
        let strict = SignIn(
            SignInParts(
                provider: bench.apple, database: bench.store, keyring: bench.keyring,
                configuration: SignInConfiguration(
                    sessionLimits: SessionLimits(lifetime: 60, idleTimeout: 60), signUp: .open,
                    returnTargets: ReturnTargets(
                        publicURL: "https://id.example.com", allowedOrigins: [], defaultTarget: "/account"),
                    nativeNonce: .sha256),
                clock: bench.clock, random: SystemRandom(), logger: LogRecorder().logger))
        let outcome = await strict.complete(
            strict.receive(bench.form(attempt), binding: .value(bench.browser)), sameOrigin: false,
            device: Device(userAgent: "", address: ""))
        guard case .signedIn(_, _, let returnTo) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(returnTo.location == "/account")
    }

    @Test("no log line holds a secret; a failure is left to whoever answers the visitor, who logs it with the error ID")
    func logsNoSecret() async {
        let log = LogRecorder()
        let bench = SignInBench(log: log)
        let attempt = bench.begin()
        let outcome = await bench.post(bench.form(attempt, user: "Ann Lee"))
        _ = await bench.post(bench.form(attempt), binding: .invalid)
        let all = log.lines.joined(separator: "\n")
        #expect(all.contains("signed in"))
        #expect(log.lines.count == 1)
        for secret in [
            attempt.state, attempt.nonce, bench.browser.cookieValue, outcome.token?.reveal() ?? "-", "code-1", "Ann",
            "ann@example.com", "r.secret",
        ] {
            #expect(!all.contains(secret))
        }
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
                SignInParts(
                    provider: apple, database: database.store, keyring: keyring,
                    configuration: SignInConfiguration(
                        sessionLimits: limits, signUp: .open, returnTargets: targets, nativeNonce: .sha256),
                    clock: clock, random: SystemRandom(), logger: LogRecorder().logger))
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
