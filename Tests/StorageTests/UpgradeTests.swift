import Coding
import Crypto
import LogRecording
import MemoryStores
import RelyingParty
import Storage
import Testing

/// Upgrades by password: the verifier signs the person in, Apple takes the password's place.
@Suite struct UpgradeTests {
    @Test("without interaction: password, Apple, converted, signed in; an identical retry has the same token")
    func upgrades() async throws {
        let bench = try LinkBench()
        bench.account()
        let start = try await bench.upgrade()
        #expect(start.id.rawValue.hasPrefix("upg_") && start.token.reveal().hasPrefix("bru_"))
        let (token, signedIn) = try await bench.finish(start, given: "Ann")
        #expect(signedIn.user.externalID == "account-1")
        #expect(signedIn.user.name == PersonName(given: "Ann"))
        #expect(signedIn.session.kind == .native)
        #expect(
            bench.application.conversions == [
                Conversion(
                    attemptID: LinkKey(start.id), kind: .upgrade, externalID: "account-1", userID: signedIn.user.id)
            ])
        #expect(try await bench.events() == ["user.created", "session.created", "account.upgraded"])
        #expect(try await bench.database.signedIn(token: token.hash, at: bench.now) == signedIn)
        let other = try bench.beside()
        for again in [bench, other] {
            let (same, _) = try await again.finish(start, given: "Ann")
            #expect(same.reveal() == token.reveal())
        }
        #expect(bench.application.conversions.count == 1)
        #expect(bench.apple.exchanged.count == 1)
        // The password is refused from now on.
        guard
            case .failure = try await other.linking.startUpgrade(
                username: "ann", password: bench.password("correct horse"))
        else {
            Issue.record("the password still works")
            return
        }
    }

    @Test("after a change of the sealing key an identical retry still has the same token")
    func survivesKeyChange() async throws {
        let bench = try LinkBench()
        bench.account()
        let start = try await bench.upgrade()
        let (token, _) = try await bench.finish(start)
        let rotated = try bench.restarted(SealingKeyring(current: .generate(), previous: [Bench.key]))
        #expect(try await rotated.finish(start).token.reveal() == token.reveal())
    }

    @Test("with a second factor: nothing before it, the methods as the application names them, then as without one")
    func takesSecondFactor() async throws {
        let bench = try LinkBench()
        bench.account(code: "123456")
        let answer = try await bench.linking.startUpgrade(username: "ann", password: bench.password("correct horse"))
        guard case .twoFactorAuthRequired(let start, let methods) = answer else {
            Issue.record("no second factor")
            return
        }
        #expect(methods == ["totp", "sms"])
        #expect(await reason { _ = try await bench.finish(start) } == "second_factor_required")
        #expect(bench.apple.exchanged.isEmpty)
        guard case .failure = try await bench.linking.secondFactor(start.id, token: start.token, code: "000000") else {
            Issue.record("a wrong code passed")
            return
        }
        for _ in 0..<2 {
            // Also asked twice: an answer may be lost.
            guard
                case .success(let next) = try await bench.linking.secondFactor(
                    start.id, token: start.token, code: "123456")
            else {
                Issue.record("the right code did not pass")
                return
            }
            #expect(next.nonce == start.nonce && next.id == start.id)
        }
        #expect(bench.application.get { $0.codes } == ["000000", "123456"])
        #expect(try await bench.finish(start).signedIn.user.externalID == "account-1")
    }

    @Test("five tries at the second factor, over restarts too; the sixth is the end, and Apple helps no more")
    func limitsSecondFactor() async throws {
        var bench = try LinkBench()
        bench.account(code: "123456")
        let answer = try await bench.linking.startUpgrade(username: "ann", password: bench.password("correct horse"))
        guard case .twoFactorAuthRequired(let start, _) = answer else { throw LinkBench.Unexpected() }
        for _ in 0..<LinkLimits.tries {
            guard case .failure = try await bench.linking.secondFactor(start.id, token: start.token, code: "0") else {
                throw LinkBench.Unexpected()
            }
            bench = try bench.restarted()
        }
        for _ in 0..<2 {
            let late = await reason {
                _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456")
            }
            #expect(late == "upgrade_ended")
        }
        #expect(bench.application.get { $0.codes.count } == LinkLimits.tries)
        #expect(await reason { _ = try await bench.finish(start) } == "upgrade_ended")
        #expect(bench.apple.exchanged.isEmpty)
    }

    @Test("tries at once are counted like tries one after the other")
    func countsParallelTries() async throws {
        let bench = try LinkBench()
        bench.account(code: "123456")
        let answer = try await bench.linking.startUpgrade(username: "ann", password: bench.password("correct horse"))
        guard case .twoFactorAuthRequired(let start, _) = answer else { throw LinkBench.Unexpected() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    _ = try? await bench.linking.secondFactor(start.id, token: start.token, code: "\(number)")
                }
            }
        }
        #expect(bench.application.get { $0.codes.count } == LinkLimits.tries)
    }

    @Test("unknown names, wrong passwords: one answer, and nothing is kept")
    func failsAlike() async throws {
        let bench = try LinkBench()
        bench.account()
        for (name, text) in [("ann", "wrong"), ("nobody", "correct horse")] {
            guard case .failure = try await bench.linking.startUpgrade(username: name, password: bench.password(text))
            else {
                Issue.record("not refused")
                return
            }
        }
        #expect(try await bench.database.links(in: [], after: nil, limit: 10).isEmpty)
    }

    @Test("ten passwords at one name in a quarter of an hour, whether there is such a name or not, however it is spelt")
    func limitsPasswords() async throws {
        for name in ["ann", "nobody"] {
            let bench = try LinkBench()
            bench.account()
            func attempt(_ name: String) async -> String {
                await reason {
                    _ = try await bench.linking.startUpgrade(username: name, password: bench.password("wrong"))
                }
            }
            for number in 0..<10 { #expect(await attempt(number % 2 == 0 ? name : " \(name.uppercased())") == "ok") }
            #expect(await attempt(name) == "too_many_requests")
            #expect(await attempt("someone else") == "ok")
            #expect(bench.application.get { $0.verified } == 11)
            bench.clock.advance(seconds: 899)
            #expect(await attempt(name) == "too_many_requests")
            bench.clock.advance(seconds: 1)
            #expect(await attempt(name) == "ok")
        }
    }

    @Test(
        "a verifier that lies makes nothing",
        arguments: [
            VerifierAnswer.success(externalID: ""), .success(externalID: "a\u{7}"),
            .success(externalID: String(repeating: "x", count: 256)),
            .twoFactorAuthRequired(challenge: "", methods: []),
            .twoFactorAuthRequired(challenge: String(repeating: "x", count: LinkLimits.challenge + 1), methods: []),
        ])
    func refusesLies(lie: VerifierAnswer) async throws {
        let bench = try LinkBench()
        bench.application.set { $0.lie = lie }
        let failure = await reason {
            _ = try await bench.linking.startUpgrade(username: "ann", password: bench.password("x"))
        }
        #expect(failure == "verifier_unavailable")
        #expect(try await bench.database.links(in: [], after: nil, limit: 10).isEmpty)
    }

    @Test("the verifier down: said so, nothing kept, and it is not the person's failure")
    func verifierDown() async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.failure = .unavailable("timed out") }
        #expect(await reason { _ = try await bench.upgrade() } == "verifier_unavailable")
        bench.application.set { $0.failure = nil }
        _ = try await bench.upgrade()
    }

    @Test(
        "what is no name, no password, no code never reaches the verifier",
        arguments: [
            ("", "x"), ("ann", ""), (String(repeating: "a", count: 321), "x"),
            ("ann", String(repeating: "x", count: 1_025)),
        ])
    func refusesNonsense(name: String, text: String) async throws {
        let bench = try LinkBench()
        let failure = await reason {
            _ = try await bench.linking.startUpgrade(username: name, password: bench.password(text))
        }
        #expect(failure == "invalid_request")
        #expect(bench.application.get { $0.verified } == 0)
    }

    @Test("a browser's upgrade ends with a session of the browser, which replaces the one it had; reloaded, the same")
    func upgradesInBrowser() async throws {
        let bench = try LinkBench()
        bench.account()
        guard case .signedIn(_, let old, _) = await bench.signInWithApple("bob") else { throw LinkBench.Unexpected() }
        let start = try await bench.upgrade()
        let attempt = try await bench.linking.beginUpgrade(
            start.id, token: start.token, binding: bench.browser,
            returnTo: LinkBench.targets.validate("/notes") ?? LinkBench.targets.defaultTarget, replacing: old.id)
        let form = bench.form(attempt)
        guard case .signedIn(let token, let session, let target) = await bench.post(form) else {
            throw LinkBench.Unexpected()
        }
        #expect(session.kind == .browser && target.location == "/notes")
        #expect(try await bench.database.sessions(of: old.user, at: bench.now).isEmpty)
        #expect(bench.application.get { $0.converted } == ["account-1"])
        let next = try bench.restarted()
        guard case .signedIn(let again, _, _) = await next.post(form) else { throw LinkBench.Unexpected() }
        #expect(again.reveal() == token.reveal())
        // Signed out since: nothing is made again.
        _ = try await next.database.endSession(session.id, cause: .signOut, at: next.now)
        let late = try next.restarted()
        guard case .linkFailed(.ended, _, _) = await late.post(form) else { throw LinkBench.Unexpected() }
    }

    @Test("cancelled at Apple: the upgrade waits, and the next trip completes it")
    func cancelled() async throws {
        let bench = try LinkBench()
        bench.account()
        let start = try await bench.upgrade()
        let target = LinkBench.targets.defaultTarget
        let first = try await bench.linking.beginUpgrade(
            start.id, token: start.token, binding: bench.browser, returnTo: target, replacing: nil)
        let cancel = FormEncoder.encode([("state", first.state), ("error", "user_cancelled_authorize")])
        guard case .linkFailed(.signIn(.cancelled), let key, _) = await bench.post(cancel) else {
            throw LinkBench.Unexpected()
        }
        #expect(key == LinkKey(start.id))
        let second = try await bench.linking.beginUpgrade(
            start.id, token: start.token, binding: bench.browser, returnTo: target, replacing: nil)
        guard case .signedIn = await bench.post(bench.form(second)) else { throw LinkBench.Unexpected() }
    }

    @Test("the password is in no log and on no page of the database")
    func keepsNoPassword() async throws {
        let bench = try LinkBench()
        bench.account(code: "654321")
        bench.application.set { $0.accounts["ann"]?.password = "Tr0ub4dor&3-unique" }
        let answer = try await bench.linking.startUpgrade(
            username: "ann", password: bench.password("Tr0ub4dor&3-unique"))
        guard case .twoFactorAuthRequired(let start, _) = answer else { throw LinkBench.Unexpected() }
        _ = try? await bench.linking.startUpgrade(username: "ann", password: bench.password("wrong-Tr0ub4dor&3-unique"))
        _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "654321")
        _ = try await bench.finish(start)
        let pages = String(decoding: try bench.bench.databaseBytes(), as: UTF8.self)
        let lines = bench.log.lines.joined(separator: "\n")
        for secret in ["Tr0ub4dor", "challenge-ann", "654321", start.token.reveal()] {
            #expect(!pages.contains(secret) && !lines.contains(secret))
        }
        #expect("\(bench.password("Tr0ub4dor&3-unique"))" == "<redacted>")
    }

    @Test(
        "the application vouches for its users: new ones are active under every rule for sign-ups",
        arguments: SignUpPolicy.allCases)
    func ignoresSignUp(policy: SignUpPolicy) async throws {
        let bench = try LinkBench(signUp: policy)
        bench.account()
        #expect(try await bench.finish(try await bench.upgrade()).signedIn.user.state == .active)
        #expect(try await bench.linked("account-2", "bob").state == .active)
    }
}
