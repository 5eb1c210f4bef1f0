import Crypto
import Gates
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct DuplicateTests {
    private func outcome(_ number: Int) -> SignInOutcome { .refused(.pending, UserID(unchecked: "\(number)")) }

    private func number(_ outcome: SignInOutcome) -> String {
        if case .refused(.pending, let user?) = outcome { user.rawValue } else { outcome.name }
    }

    @Test("a cancelled waiter does not cancel the work, and everyone is answered")
    func survivesCancelledWaiter() async {
        let answers = CallbackAnswers<SignInOutcome>(clock: ManualClock()) { $0.isKept }
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
    @Test("a duplicate that another process sends later answers with the same session")
    func secondProcessComesSecond() async throws {
        let first = SignInBench()
        let second = SignInBench(after: first, keyring: nil, apple: FakeApple(clock: first.clock))
        second.apple.set { $0.exchangeFailure = Failure(.codeRefused, "invalid_grant") }
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
    @Test("a duplicate in a process whose clock is slightly behind gets the same session")
    func secondProcessIsBehind() async throws {
        let first = SignInBench()
        let second = SignInBench(after: first, keyring: nil)
        let body = first.form(first.begin())
        let done = await first.post(body)
        first.clock.advance(milliseconds: -1)
        let late = await second.post(body, binding: .value(first.browser))
        #expect(late.name == "signedIn" && late.token?.reveal() == done.token?.reveal())
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

    @Test("an answer is forgotten after its time, even without another post")
    func forgetsWithoutAnotherPost() async {
        let clock = ManualClock()
        let answers = CallbackAnswers<SignInOutcome>(clock: clock) { $0.isKept }
        _ = await answers.answer(for: SHA256.hash(utf8: "key")) { self.outcome(1) }
        answers.dropExpired()
        #expect(answers.count == 1)
        clock.advance(seconds: 30)
        answers.dropExpired()
        #expect(answers.count == 0)
    }

    @Test("many answers are remembered in bounded memory, the oldest going first")
    func boundsMemory() async {
        let answers = CallbackAnswers<SignInOutcome>(capacity: 8, clock: ManualClock()) { $0.isKept }
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
        let answers = CallbackAnswers<SignInOutcome>(capacity: 1, clock: ManualClock()) { $0.isKept }
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

    @Test("a clock set back forgets answers with later times")
    func forgetsFuture() async {
        let bench = SignInBench()
        let body = bench.form(bench.begin())
        _ = await bench.post(body)
        bench.clock.advance(seconds: -10)
        #expect(await bench.post(body).name == "alreadySignedIn")
    }
}
