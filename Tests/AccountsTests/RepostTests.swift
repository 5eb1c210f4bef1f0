import Crypto
import Storage
import Testing

@testable import Accounts

@Suite struct RepostTests {
    @Test("a missing binding with a fresh state is answered once with the form to post again")
    func offersRepost() async throws {
        let bench = SignInBench()
        let attempt = bench.begin()
        let outcome = await bench.post(bench.form(attempt, user: "Ann Lee"), binding: .absent)
        guard case .repost(let form) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(form.state == attempt.state)
        #expect(form.code == "code-1")
        #expect(form.rawUser == "Ann Lee")
        #expect(bench.apple.verifications == 0)
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
    }

    @Test("the flagged post from our own origin with the cookie signs in")
    func completesRepost() async {
        let bench = SignInBench()
        let body = bench.form(bench.begin(), repost: true)
        #expect(await bench.post(body, sameOrigin: true).name == "signedIn")
    }

    @Test("the flagged post without the cookie ends in the error page, never in a second re-post")
    func neverLoops() async {
        let bench = SignInBench()
        let body = bench.form(bench.begin(), repost: true)
        #expect(await bench.post(body, binding: .absent, sameOrigin: true).name == "missing_binding")
    }

    @Test("the flagged post passes the same binding check")
    func checksBindingOfRepost() async {
        let bench = SignInBench()
        let body = bench.form(bench.begin(), repost: true)
        let other = BindingCookie.value(.make(random: SystemRandom()))
        #expect(await bench.post(body, binding: other, sameOrigin: true).name == "wrong_browser")
    }

    @Test("a flagged post from another origin is refused, whatever it carries")
    func refusesForeignFlag() async {
        let bench = SignInBench()
        let body = bench.form(bench.begin(), repost: true)
        #expect(await bench.post(body, sameOrigin: false).name == "malformed_callback")
        #expect(await bench.post(body, binding: .absent, sameOrigin: false).name == "malformed_callback")
    }

    @Test("a missing binding with a forged state offers nothing")
    func needsFreshState() async {
        let bench = SignInBench()
        var attempt = bench.begin()
        attempt.state = String(attempt.state.reversed())
        #expect(await bench.post(bench.form(attempt), binding: .absent).name == "invalid_state")
    }
}
