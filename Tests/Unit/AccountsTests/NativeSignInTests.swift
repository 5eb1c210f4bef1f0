import Coding
import Crypto
import Gates
import Storage
import Stores
import Testing

@testable import Accounts

/// Signing in from apps: the domain's rules over the real database and an Apple that does as told.
@Suite struct NativeSignInTests {
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
        let bench = SignInBench()
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

    @Test("no two challenges are alike, and none opens for a server with another key")
    func challengesDiffer() async {
        let bench = SignInBench()
        let nonces = (0..<100).map { _ in bench.signIn.beginNative().nonce }
        #expect(Set(nonces).count == 100)
        #expect(nonces.allSatisfy { $0.utf8.count == 83 })
        #expect(await SignInBench().native(request(nonces[0])).name == "invalid_state")
    }

    @Test("an identical request renews the same session with the same token, and asks Apple nothing")
    func renews() async throws {
        let bench = SignInBench()
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
        let bench = SignInBench()
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

    @Test("fifty connections at once: one session, one token, the code sent once")
    func joinsParallelRequests() async throws {
        let bench = SignInBench()
        let asked = request(bench.signIn.beginNative().nonce)
        bench.apple.gate.shut()
        let outcomes = await withTaskGroup(of: NativeSignInOutcome.self) { group in
            for _ in 0..<50 { group.addTask { await bench.native(asked) } }
            await bench.apple.gate.arrived(1)
            bench.apple.gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(outcomes.map { $0.signedIn?.token.reveal() ?? $0.name }).count == 1)
        #expect(outcomes[0].signedIn != nil)
        #expect(bench.apple.exchangedCodes == ["code-1"])
        let created = try await bench.store.events(after: nil, limit: 100).filter { $0.kind == .sessionCreated }
        #expect(created.count == 1)
    }

    @Test("two processes at once: the second does not send the code, waits, and renews what the first has made")
    func twoProcesses() async throws {
        let bench = SignInBench()
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

    @Test("a process that died while the code was under way: nobody ever sends it again")
    func diedInFlight() async throws {
        let bench = SignInBench()
        let asked = request(bench.signIn.beginNative().nonce, given: "Ann", family: "Lee")
        bench.apple.gate.shut()
        async let lost = bench.native(asked)
        await bench.apple.gate.arrived(1)
        let restarted = bench.restarted()
        #expect(await restarted.native(asked).failure?.isTemporary == true)
        bench.clock.advance(seconds: ExchangeClaim.flightTime - 1)
        #expect(await restarted.native(asked).failure?.isTemporary == true)
        bench.clock.advance(seconds: 1)
        #expect(await restarted.native(asked).name == "code_refused")
        // The name was safe before: the next sign-in has it, though Apple does not send it again.
        let next = request(restarted.signIn.beginNative().nonce, code: "code-2")
        bench.apple.set {
            $0.exchangeFailure = Failure(.providerUnavailable, "the process died", mayHaveSpentCode: true)
        }
        bench.apple.gate.open()
        #expect(await lost.signedIn == nil)
        bench.apple.set { $0.exchangeFailure = nil }
        let signedIn = try #require(await restarted.native(next).signedIn)
        #expect(signedIn.signedIn.user.name == PersonName(given: "Ann", family: "Lee"))
        #expect(bench.apple.exchangedCodes == ["code-1", "code-2"])
    }

    @Test(
        "an identical request sends the code again only when Apple certainly did not take it",
        arguments: [
            (Failure(.providerUnavailable, "503"), true), (Failure(.clientRefused, "invalid_client"), true),
            (Failure(.providerUnavailable, "closed", mayHaveSpentCode: true), false),
            (Failure(.codeRefused, "invalid_grant"), false),
            (Failure(.identityToken, "at_hash"), false), (Failure(.tokenMismatch, "sub"), false),
            (Failure(.keysUnavailable, "none"), false),
        ])
    func failedExchange(failure: Failure, maySendAgain: Bool) async throws {
        let bench = SignInBench()
        let asked = request(bench.signIn.beginNative().nonce, given: "Ann")
        bench.apple.set { $0.exchangeFailure = failure }
        #expect(await bench.native(asked).failure == failure)
        bench.apple.set { $0.exchangeFailure = nil }
        let again = await bench.restarted().native(asked)
        #expect(again.name == (maySendAgain ? "signedIn" : "code_refused"))
        #expect(bench.apple.exchangedCodes.count == (maySendAgain ? 2 : 1))
        if maySendAgain { #expect(again.signedIn?.signedIn.user.name == PersonName(given: "Ann")) }
    }

    @Test("a used challenge with other content is refused, whatever differs, and the session stays")
    func otherContent() async throws {
        let bench = SignInBench()
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

    @Test("a renewal needs a live session: one that ended is not brought back")
    func endedSession() async throws {
        let bench = SignInBench()
        let asked = request(bench.signIn.beginNative().nonce)
        let first = try #require(await bench.native(asked).signedIn)
        _ = try await bench.store.endSession(first.signedIn.session.id, cause: .signOut, at: bench.clock.now())
        #expect(await bench.native(asked).name == "replayed")
        #expect(bench.apple.exchangedCodes == ["code-1"])
    }

    @Test("nonces that are not ours, altered, too old or from the future reach nobody")
    func refusesNonces() async throws {
        let bench = SignInBench()
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
        let bench = SignInBench()
        var attempt = bench.begin()
        attempt.state = bench.signIn.beginNative().nonce
        #expect(await bench.post(bench.form(attempt)).name == "invalid_state")
    }

    @Test("sha256 or raw, as configured and never either", arguments: NativeNonce.allCases)
    func nonceForm(configured: NativeNonce) async throws {
        let bench = SignInBench(nativeNonce: configured)
        let nonce = bench.signIn.beginNative().nonce
        let hash = SHA256.hash(utf8: nonce).bytes
        let forms: [(NativeNonce?, String)] = [
            (.sha256, Hexadecimal.encode(hash)), (.raw, nonce), (nil, Hexadecimal.encode(hash).uppercased()),
            (nil, Base64URL.encode(hash)), (nil, ""),
        ]
        for (form, claim) in forms where form != configured {
            #expect(await bench.native(request(nonce, claim: claim)).name == "identity_token")
        }
        #expect(bench.apple.exchangedCodes == [])
        let right = try #require(forms.first { $0.0 == configured })
        #expect(await bench.native(request(nonce, claim: right.1)).name == "signedIn")
    }

    @Test("a failing verification writes nothing: no claim, no name")
    func writesNothingUnverified() async throws {
        let bench = SignInBench()
        let nonce = bench.signIn.beginNative().nonce
        #expect(await bench.native(request(nonce, claim: "x", given: "Eve")).name == "identity_token")
        // The challenge is as good as before, for whoever has a token for it.
        let signedIn = try #require(await bench.native(request(nonce)).signedIn)
        #expect(signedIn.signedIn.user.name.isEmpty)
    }

    @Test("a store that fails makes a clear failure; before the exchange the code is not sent")
    func storeFailures() async throws {
        let bench = SignInBench()
        let asked = request(bench.signIn.beginNative().nonce)
        bench.database.faults.failWrites()
        #expect(await bench.native(asked).name == "storage")
        #expect(bench.apple.exchangedCodes == [])
        bench.database.faults.heal()
        #expect(await bench.native(asked).name == "signedIn")
    }

    // MARK: Deletion with a fresh code

    @Test("a fresh code of the same person and app is redeemed once and its token kept")
    func redeemsForDeletion() async throws {
        let bench = SignInBench()
        let signedIn = try #require(await bench.native(request(bench.signIn.beginNative().nonce)).signedIn).signedIn
        try await bench.signIn.redeem(FreshAuthorization(authorizationCode: "fresh"), of: signedIn)
        #expect(bench.apple.exchangedCodes == ["code-1", "fresh"])
        let record = try #require(
            try await bench.store.accountRecord(of: signedIn.user.id, newest: 100, at: bench.clock.now()))
        #expect(record.identities.first?.credentials.map(\.holdsToken) == [true])
        await #expect(throws: Failure.self) {
            try await bench.signIn.redeem(FreshAuthorization(authorizationCode: "fresh"), of: signedIn)
        }
        #expect(bench.apple.exchangedCodes == ["code-1", "fresh"])
    }

    @Test("another person's code, a browser's session, or a challenge that is not ours redeem nothing")
    func refusesForDeletion() async throws {
        let bench = SignInBench()
        let signedIn = try #require(await bench.native(request(bench.signIn.beginNative().nonce)).signedIn).signedIn
        bench.apple.set { $0.exchangedSubject = "eve" }
        await #expect(throws: Failure(.tokenMismatch, "the code is another person's")) {
            try await bench.signIn.redeem(FreshAuthorization(authorizationCode: "eves"), of: signedIn)
        }
        bench.apple.set { $0.exchangedSubject = nil }
        await #expect(throws: Failure(.invalidState)) {
            try await bench.signIn.redeem(
                FreshAuthorization(authorizationCode: "c", nonce: "nonsense"), of: signedIn)
        }
        let nonce = bench.signIn.beginNative().nonce
        let token = "eve|\(Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes))|c"
        await #expect(throws: Failure(.tokenMismatch, "the token is another person's")) {
            try await bench.signIn.redeem(
                FreshAuthorization(authorizationCode: "c", identityToken: token, nonce: nonce), of: signedIn)
        }
        var browser = signedIn
        browser.session.kind = .browser
        await #expect(throws: Failure.self) {
            try await bench.signIn.redeem(FreshAuthorization(authorizationCode: "c"), of: browser)
        }
        #expect(bench.apple.exchangedCodes == ["code-1", "eves"])
    }
}
