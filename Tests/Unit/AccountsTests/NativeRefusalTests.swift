import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// An app whose answer was lost learns by the same request what became of it, also when that was no session.
@Suite struct NativeRefusalTests {
    private func request(_ nonce: String, code: String, given: String? = "Ann") -> NativeSignInRequest {
        let echoed = Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
        return NativeSignInRequest(
            identityToken: "ann|\(echoed)|\(code)", authorizationCode: code, nonce: nonce, givenName: given)
    }

    /// A bench where the next request of Ann's is refused so.
    private func bench(_ refusal: String) async throws -> SignInBench {
        switch refusal {
        case "pending": return SignInBench(policy: .approval)
        case "closed": return SignInBench(policy: .closed)
        default:
            let bench = SignInBench()
            let first = await bench.native(request(bench.signIn.beginNative().nonce, code: "code-0"))
            let user = try #require(first.signedIn).signedIn.user.id
            _ = try await bench.store.patchUser(user, UserPatch(state: .disabled), at: bench.clock.now())
            return bench
        }
    }

    @Test(
        "an identical request is refused like the first, also after a restart, without using anything up",
        arguments: ["pending", "disabled", "closed"])
    func refusedAlike(refusal: String) async throws {
        let bench = try await bench(refusal)
        let asked = request(bench.signIn.beginNative().nonce, code: "code-1")
        #expect(await bench.native(asked).name == refusal)
        let (codes, verifications) = (bench.apple.exchangedCodes, bench.apple.verifications)
        let events = try await bench.store.events(after: nil, limit: 100)
        #expect(await bench.native(asked).name == refusal)
        bench.clock.advance(seconds: 599)
        #expect(await bench.restarted().native(asked).name == refusal)
        #expect(bench.apple.exchangedCodes == codes && codes.last == "code-1")
        #expect(bench.apple.verifications == verifications)
        #expect(try await bench.store.events(after: nil, limit: 100) == events)
    }

    @Test(
        "another request with the nonce of a refused one learns nothing about it",
        arguments: ["pending", "disabled", "closed"])
    func otherContent(refusal: String) async throws {
        let bench = try await bench(refusal)
        let nonce = bench.signIn.beginNative().nonce
        #expect(await bench.native(request(nonce, code: "code-1")).name == refusal)
        for other in [request(nonce, code: "code-2"), request(nonce, code: "code-1", given: "Eve")] {
            #expect(await bench.native(other).name == "replayed")
        }
        #expect(bench.apple.exchangedCodes.last == "code-1")
        #expect(await bench.native(request(nonce, code: "code-1")).name == refusal)
    }

    @Test("a refused request stays refused; a new one succeeds once the person is approved")
    func letInSince() async throws {
        let bench = SignInBench(policy: .approval)
        let asked = request(bench.signIn.beginNative().nonce, code: "code-1")
        #expect(await bench.native(asked).name == "pending")
        let ann = try #require(
            try await bench.store.user(team: bench.apple.team, subject: AppleSubject("ann")))
        _ = try await bench.store.patchUser(ann.id, UserPatch(state: .active), at: bench.clock.now())
        #expect(await bench.native(asked).name == "pending")
        let fresh = request(bench.signIn.beginNative().nonce, code: "code-2")
        #expect(await bench.native(fresh).name == "signedIn")
    }
}
