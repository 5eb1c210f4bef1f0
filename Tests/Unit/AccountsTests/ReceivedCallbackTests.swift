import Stores
import Testing

@testable import Accounts

/// A callback is read once: what comes after knows the form and the state as they were received.
@Suite struct ReceivedCallbackTests {
    /// A state opened a second time would be too old by then.
    @Test("the state is opened when the callback is received, and never again")
    func opensOnce() async throws {
        let bench = SignInBench()
        let failing = bench.receive(bench.form(bench.begin(), code: "code-0", user: "Ann Lee"))
        let callback = bench.receive(bench.form(bench.begin()))
        bench.clock.advance(seconds: 3_600)
        bench.apple.set { $0.verifyFailure = Failure(.keysUnavailable, "down") }
        let failure = try #require(await complete(failing, bench).failure)
        #expect(failure == Failure(.keysUnavailable, "down"))
        #expect(await bench.signIn.nameToKeep(of: failing, after: failure) != nil)
        #expect(bench.signIn.nameToKeep(ofTurnedAway: failing) != nil)
        bench.apple.set { $0.verifyFailure = nil }
        #expect(await complete(callback, bench).name == "signedIn")
        #expect(bench.apple.parsedForms == 2)
    }

    @Test("a malformed body and a foreign state name no return target, language or link")
    func unreadable() async {
        let bench = SignInBench()
        for (body, name) in [("state=a&state=b", "malformed_callback"), ("state=a", "invalid_state")] {
            let callback = bench.receive(Array(body.utf8))
            #expect(callback.returnTo == nil && callback.language == nil && callback.link == nil)
            #expect(bench.signIn.nameToKeep(ofTurnedAway: callback) == nil)
            #expect(await complete(callback, bench).name == name)
        }
    }

    private func complete(_ callback: ReceivedCallback, _ bench: SignInBench) async -> SignInOutcome {
        await bench.signIn.complete(
            callback, sameOrigin: false, device: Device(userAgent: "Test", address: "127.0.0.1"))
    }
}
