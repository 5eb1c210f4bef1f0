import Crypto
import Gates
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct DuplicateTests {
    @Test("fifty parallel posts of one callback make one session and share its cookie")
    func joinsParallelPosts() async throws {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        bench.apple.gate.shut()
        let outcomes = await withTaskGroup(of: SignInOutcome.self) { group in
            for _ in 0..<50 { group.addTask { await bench.post(body) } }
            await bench.apple.gate.arrived(1)
            bench.apple.gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 50)
        #expect(Set(outcomes.map { $0.token?.reveal() }).count == 1)
        #expect(outcomes[0].token != nil)
        #expect(bench.apple.exchangedCodes == ["code-1"])
        let created = try await bench.store.events(after: nil, limit: 100).filter { $0.kind == .sessionCreated }
        #expect(created.count == 1)
    }

    private func outcome(_ number: Int) -> SignInOutcome { .pending(UserID(unchecked: "\(number)")) }

    private func number(_ outcome: SignInOutcome) -> String {
        if case .pending(let user) = outcome { user.rawValue } else { outcome.name }
    }

    @Test("a cancelled waiter does not cancel the work, and everyone is answered")
    func survivesCancelledWaiter() async {
        let answers = CallbackAnswers<SignInOutcome>(clock: ManualClock())
        let key = SHA256.hash(utf8: "key")
        let gate = Gate()
        gate.shut()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                let outcome = await answers.answer(for: key) {
                    await gate.pass()
                    #expect(!Task.isCancelled)
                    return self.outcome(1)
                }.outcome
                #expect(number(outcome) == "1")
            }
            await gate.arrived(1)
            group.addTask {
                await withTaskGroup(of: Void.self) { inner in
                    inner.addTask {
                        let outcome = await answers.answer(for: key) { self.outcome(2) }.outcome
                        #expect(number(outcome) == "1")
                    }
                    inner.cancelAll()
                }
            }
            group.addTask {
                let outcome = await answers.answer(for: key) { self.outcome(3) }.outcome
                #expect(number(outcome) == "1")
            }
            while answers.waiting < 2 { await Task.yield() }
            gate.open()
        }
        #expect(answers.waiting == 0)
    }

    @Test("the re-posted form joins the post it repeats")
    func flagIsNotPartOfTheKey() async {
        let bench = SignInBench()
        let attempt = bench.begin()
        let first = await bench.post(bench.form(attempt))
        let second = await bench.post(bench.form(attempt, repost: true), sameOrigin: true)
        #expect(first.token != nil)
        #expect(first.token?.reveal() == second.token?.reveal())
    }

    @Test(
        "the answer is kept for 30 s, then a replay gets a 303 without a cookie",
        arguments: [(29_999, true), (30_000, false)])
    func keepsAnswer(milliseconds: Int64, isKept: Bool) async {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        let first = await bench.post(body)
        bench.clock.advance(milliseconds: milliseconds)
        let second = await bench.post(body)
        #expect(second.name == (isKept ? "signedIn" : "alreadySignedIn"))
        #expect(!isKept || second.token?.reveal() == first.token?.reveal())
    }

    /// Regression: during a hand-over two processes may be given one post. The browser shows the later answer, an error,
    /// though it is signed in.
    @Test("a duplicate in another process that comes second to Apple answers with the same session")
    func secondProcessComesSecond() async throws {
        let first = SignInBench()
        let second = SignInBench(after: first, keyring: nil, apple: FakeApple(clock: first.clock))
        second.apple.set { $0.exchangeFailure = .codeRefused("invalid_grant") }
        second.apple.gate.shut()
        let body = first.form(first.begin())
        async let late = second.post(body, binding: .value(first.browser))
        await second.apple.gate.arrived(1)
        let done = await first.post(body)
        #expect(done.name == "signedIn")
        second.apple.gate.open()
        #expect(await late.token?.reveal() == done.token?.reveal())
        // A code that nobody used stays refused.
        let other = first.form(first.begin(), code: "code-2")
        #expect(await second.post(other, binding: .value(first.browser)).name == "code_refused")
    }

    /// Regression: the second of two servers looked at its clock, then found the session that the first had just made, and
    /// sent the browser on without its cookie.
    @Test("a duplicate in another process whose clock is a moment behind gets the same session")
    func secondProcessIsBehind() async throws {
        let first = SignInBench()
        let second = SignInBench(after: first, keyring: nil)
        let body = first.form(first.begin())
        let done = await first.post(body)
        first.clock.advance(milliseconds: -1)
        let late = await second.post(body, binding: .value(first.browser))
        #expect(late.name == "signedIn" && late.token?.reveal() == done.token?.reveal())
    }

    @Test("a replay is told so once the session is gone, also within an identical browser")
    func replayAfterSignOut() async throws {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        let session = try #require(await bench.post(body).session)
        bench.clock.advance(seconds: 31)
        #expect(await bench.post(body).name == "alreadySignedIn")
        bench.clock.advance(seconds: 31)
        _ = try await bench.store.endSession(session.id, cause: .signOut, at: bench.clock.now())
        #expect(await bench.post(body).name == "replayed")
    }

    @Test("the remembered answer is not given again once its session has ended")
    func rememberedAnswerAfterSignOut() async throws {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        let session = try #require(await bench.post(body).session)
        #expect(await bench.post(body).name == "signedIn")
        _ = try await bench.store.endSession(session.id, cause: .signOut, at: bench.clock.now())
        #expect(await bench.post(body).name == "replayed")
    }

    @Test("a replay past the attempt's life still leads its own signed-in browser on")
    func lateReplay() async throws {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        let session = try #require(await bench.post(body).session)
        bench.clock.advance(seconds: 700)
        #expect(await bench.post(body).name == "alreadySignedIn")
        _ = try await bench.store.endSession(session.id, cause: .signOut, at: bench.clock.now())
        bench.clock.advance(seconds: 31)
        #expect(await bench.post(body).name == "replayed")
    }

    @Test("the used state with another code is a replay: no second session, no code sent")
    func stateIsSingleUse() async throws {
        let bench = SignInBench()
        let attempt = bench.begin()
        let token = try #require(await bench.post(bench.form(attempt)).token).hash
        // What Apple signs for the same person and attempt gets the session that the browser has.
        #expect(await bench.post(bench.form(attempt, code: "code-2")).token?.hash == token)
        #expect(await bench.post(bench.form(attempt, subject: "eve", code: "code-3")).name == "alreadySignedIn")
        #expect(bench.apple.exchangedCodes == ["code-1"])
        bench.clock.advance(seconds: 31)
        #expect(await bench.post(bench.form(attempt, code: "code-4")).name == "alreadySignedIn")
    }

    @Test("two different callbacks of one attempt, in flight together, make one session")
    func racingCallbacks() async throws {
        let bench = SignInBench()
        let attempt = bench.begin()
        bench.apple.gate.shut()
        let outcomes = await withTaskGroup(of: SignInOutcome.self) { group in
            group.addTask { await bench.post(bench.form(attempt, code: "code-1")) }
            group.addTask { await bench.post(bench.form(attempt, code: "code-2")) }
            await bench.apple.gate.arrived(2)
            bench.apple.gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0.name == "signedIn" } && Set(outcomes.map(\.token?.hash)).count == 1)
    }

    @Test("an answer is forgotten when its time is over, also when no other post comes")
    func forgetsWithoutAnotherPost() async {
        let clock = ManualClock()
        let answers = CallbackAnswers<SignInOutcome>(clock: clock)
        _ = await answers.answer(for: SHA256.hash(utf8: "key")) { self.outcome(1) }
        answers.dropExpired()
        #expect(answers.count == 1)
        clock.advance(seconds: 30)
        answers.dropExpired()
        #expect(answers.count == 0)
    }

    @Test("many answers are remembered in bounded memory, the oldest going first")
    func boundsMemory() async {
        let answers = CallbackAnswers<SignInOutcome>(capacity: 8, clock: ManualClock())
        for number in 0..<100 {
            let outcome = await answers.answer(for: SHA256.hash(utf8: "\(number)")) { self.outcome(number) }.outcome
            #expect(self.number(outcome) == "\(number)")
        }
        #expect(answers.count == 8)
        let kept = await answers.answer(for: SHA256.hash(utf8: "99")) { self.outcome(-1) }.outcome
        #expect(number(kept) == "99")
        let forgotten = await answers.answer(for: SHA256.hash(utf8: "0")) { self.outcome(-1) }.outcome
        #expect(number(forgotten) == "-1")
    }

    @Test("with memory full of work in flight, a post does its own work")
    func worksAloneWhenFull() async {
        let answers = CallbackAnswers<SignInOutcome>(capacity: 1, clock: ManualClock())
        let gate = Gate()
        gate.shut()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                _ = await answers.answer(for: SHA256.hash(utf8: "a")) {
                    await gate.pass()
                    return self.outcome(1)
                }
            }
            await gate.arrived(1)
            let other = await answers.answer(for: SHA256.hash(utf8: "b")) { self.outcome(2) }.outcome
            #expect(number(other) == "2")
            #expect(answers.count == 1)
            gate.open()
        }
    }

    @Test("a clock set back forgets answers from its future")
    func forgetsFuture() async {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        _ = await bench.post(body)
        bench.clock.advance(seconds: -10)
        #expect(await bench.post(body).name == "alreadySignedIn")
    }
}
