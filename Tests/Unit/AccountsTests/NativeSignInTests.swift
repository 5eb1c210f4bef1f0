import Coding
import Crypto
import Gates
import Storage
import Stores
import Testing

@testable import Accounts

/// Signing in from apps: the domain's rules over the real database and an Apple with set answers.
@Suite struct NativeSignInTests {
    private let bench = SignInBench()

    private func request(
        _ nonce: String, subject: String = "ann", code: String = "code-1", claim: String? = nil,
        given: String? = nil, family: String? = nil
    ) -> NativeSignInRequest {
        let echoed = claim ?? Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
        return NativeSignInRequest(
            identityToken: "\(subject)|\(echoed)|\(code)", authorizationCode: code, nonce: nonce, givenName: given,
            familyName: family)
    }

    @Test("an app signs in with a challenge; its session is native, of its bundle ID, and found by its token")
    func signsIn() async throws {
        let challenge = bench.signIn.beginNative()
        #expect(challenge.expiresAt == bench.clock.now().adding(seconds: 600))
        let outcome = await bench.native(request(challenge.nonce, given: "Ann", family: "Lee"))
        let (token, signedIn) = try #require(outcome.signedIn)
        #expect(signedIn.session.kind == .native)
        #expect(signedIn.session.clientID == ClientID("com.example.app"))
        #expect(signedIn.user.name == PersonName(given: "Ann", family: "Lee"))
        #expect(token.reveal().hasPrefix("brs_") && token.reveal().utf8.count == 47)
        #expect(try await bench.store.signedIn(token: token.hash, at: bench.clock.now()) == signedIn)
    }

    @Test("challenges differ, and do not open under another key")
    func challengesDiffer() async {
        let nonces = (0..<100).map { _ in bench.signIn.beginNative().nonce }
        #expect(Set(nonces).count == 100)
        #expect(nonces.allSatisfy { $0.utf8.count == 83 })
        #expect(await SignInBench().native(request(nonces[0])).name == "invalid_state")
    }

    @Test("an identical request gets the same session and token without asking Apple")
    func renews() async throws {
        let asked = request(bench.signIn.beginNative().nonce, given: "Ann")
        let first = try #require(await bench.native(asked).signedIn)
        bench.clock.advance(seconds: 599)
        let verifications = bench.apple.verifications
        for _ in 0..<3 {
            let again = try #require(await bench.native(asked).signedIn)
            #expect(again.token.reveal() == first.token.reveal())
            #expect(again.signedIn.session.id == first.signedIn.session.id)
        }
        #expect(bench.apple.exchangedCodes == ["code-1"])
        #expect(bench.apple.verifications == verifications)
        bench.clock.advance(seconds: 1)
        #expect(await bench.native(asked).name == "stale_state")
    }

    @Test("after a restart, and after a change of sealing keys, an identical request still renews")
    func renewsAfterRestart() async throws {
        let asked = request(bench.signIn.beginNative().nonce)
        let first = try #require(await bench.native(asked).signedIn)
        #expect(await bench.restarted().native(asked).signedIn?.token.reveal() == first.token.reveal())
        let rotated = bench.restarted(SealingKeyring(current: .generate(), previous: [bench.key]))
        #expect(await rotated.native(asked).signedIn?.token.reveal() == first.token.reveal())
        #expect(bench.apple.exchangedCodes == ["code-1"])
        // Without the key nobody can be given the token; the challenge does not open either.
        let lost = bench.restarted(SealingKeyring(current: .generate(), previous: []))
        #expect(await lost.native(asked).name == "invalid_state")
    }

    @Test("of two concurrent processes the second waits, does not send the code, and gets the first's session")
    func twoProcesses() async throws {
        let other = bench.restarted()
        let asked = request(bench.signIn.beginNative().nonce)
        bench.apple.gate.shut()
        async let first = bench.native(asked)
        await bench.apple.gate.arrived(1)
        #expect(await other.native(asked).failure?.isTemporary == true)
        bench.apple.gate.open()
        let token = try #require(await first.signedIn).token.reveal()
        #expect(await other.native(asked).signedIn?.token.reveal() == token)
        #expect(bench.apple.exchangedCodes == ["code-1"])
    }

    @Test("a used challenge with other content is refused, whatever differs, and the session stays")
    func otherContent() async throws {
        let nonce = bench.signIn.beginNative().nonce
        let asked = request(nonce, given: "Ann", family: "Lee")
        let token = try #require(await bench.native(asked).signedIn).token
        for other in [
            request(nonce, code: "code-2", given: "Ann", family: "Lee"), request(nonce, subject: "eve"),
            request(nonce, given: "Ann"), request(nonce, given: "AnnLee"), request(nonce, given: "", family: "AnnLee"),
        ] {
            #expect(await bench.native(other).name == "replayed")
        }
        #expect(bench.apple.exchangedCodes == ["code-1"])
        #expect(try await bench.store.signedIn(token: token.hash, at: bench.clock.now()) != nil)
    }

    @Test("a session that ended is not renewed")
    func endedSession() async throws {
        let asked = request(bench.signIn.beginNative().nonce)
        let first = try #require(await bench.native(asked).signedIn)
        _ = try await bench.store.endSession(first.signedIn.session.id, cause: .signOut, at: bench.clock.now())
        #expect(await bench.native(asked).name == "replayed")
        #expect(bench.apple.exchangedCodes == ["code-1"])
    }

    @Test("foreign, altered, old and future nonces are refused")
    func refusesNonces() async throws {
        let nonce = bench.signIn.beginNative().nonce
        for index in stride(from: 0, to: nonce.utf8.count, by: 7) {
            var bytes = Array(nonce.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(await bench.native(request(String(decoding: bytes, as: UTF8.self))).name == "invalid_state")
        }
        let state = bench.begin().state
        for wrong in ["", "A", nonce + "A", nonce + "=", String(nonce.dropLast()), state, bench.begin().nonce] {
            #expect(await bench.native(request(wrong)).name == "invalid_state")
        }
        bench.clock.advance(seconds: -61)
        #expect(await bench.native(request(nonce)).name == "stale_state")
        bench.clock.advance(seconds: 61 + 600)
        #expect(await bench.native(request(nonce)).name == "stale_state")
        bench.clock.advance(seconds: -1)
        #expect(await bench.native(request(nonce)).name == "signedIn")
        #expect(bench.apple.exchangedCodes == ["code-1"])
    }

    @Test("an app's challenge is refused as the state of a browser's sign-in")
    func challengeIsNoState() async {
        var attempt = bench.begin()
        attempt.state = bench.signIn.beginNative().nonce
        #expect(await bench.post(bench.form(attempt)).name == "invalid_state")
    }

    @Test("a failing store is reported, and before the exchange the code is not sent")
    func storeFailures() async throws {
        let asked = request(bench.signIn.beginNative().nonce)
        bench.database.faults.failWrites()
        #expect(await bench.native(asked).name == "storage")
        #expect(bench.apple.exchangedCodes == [])
        bench.database.faults.heal()
        #expect(await bench.native(asked).name == "signedIn")
    }

}
