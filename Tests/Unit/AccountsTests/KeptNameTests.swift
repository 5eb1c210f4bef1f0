import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// A name whose callback failed before it was safe: kept by the browser, and by nobody else.
@Suite struct KeptNameTests {
    private let bench = SignInBench()

    /// How a callback may fail before the name is written.
    static let failures: [Failure] = [
        Failure(.keysUnavailable, "down"), Failure(.identityToken, "iss"), Failure(.clock, "iat"),
        Failure(.storage, "full"),
    ]

    /// What the browser is given for this failed post.
    private func kept(
        _ body: [UInt8], _ binding: BindingCookie? = nil, by other: SignInBench? = nil
    ) async throws -> String? {
        let bench = other ?? bench
        let failure = try #require(await bench.post(body, binding: binding).failure)
        return await bench.signIn.nameToKeep(of: bench.receive(body, binding: binding), after: failure)
    }

    private func name(of outcome: SignInOutcome) async throws -> PersonName? {
        try await bench.store.user(try #require(outcome.session).user)?.name
    }

    @Test("a kept name survives a failed exchange")
    func survivesTwoFailures() async throws {
        bench.apple.set { $0.verifyFailure = Failure(.keysUnavailable, "down") }
        let kept = try #require(try await kept(bench.form(bench.begin(), user: "Ann Lee")))
        bench.apple.set {
            $0.verifyFailure = nil
            $0.exchangeFailure = Failure(.providerUnavailable, "down")
        }
        #expect(await bench.post(bench.form(bench.begin()), keptName: kept).name == "provider_unavailable")
        bench.apple.set { $0.exchangeFailure = nil }
        // Without the cookie: the name is in first_consent by now.
        let outcome = await bench.post(bench.form(bench.begin(), code: "code-2"))
        #expect(try await name(of: outcome) == PersonName(given: "Ann", family: "Lee"))
    }

    @Test("a kept name is used only for its person, and never replaces Apple's")
    func isOnePersons() async throws {
        bench.apple.set { $0.verifyFailure = Failure(.clock, "iat") }
        let kept = try #require(try await kept(bench.form(bench.begin(), user: "Ann Lee")))
        bench.apple.set { $0.verifyFailure = nil }
        let other = await bench.post(bench.form(bench.begin(), subject: "bob"), keptName: kept)
        #expect(try await name(of: other) == PersonName())
        let own = await bench.post(bench.form(bench.begin(), code: "c2", user: "Anna Li"), keptName: kept)
        #expect(try await name(of: own) == PersonName(given: "Anna", family: "Li"))
    }

    @Test("a name is kept for a week", arguments: [(7 * 86_400 - 1, true), (7 * 86_400, false)])
    func ages(seconds: Int64, isKept: Bool) async throws {
        bench.apple.set { $0.verifyFailure = Failure(.clock, "iat") }
        let kept = try #require(try await kept(bench.form(bench.begin(), user: "Ann Lee")))
        bench.apple.set { $0.verifyFailure = nil }
        bench.clock.advance(seconds: seconds)
        let outcome = await bench.post(bench.form(bench.begin()), keptName: kept)
        #expect(try await name(of: outcome).map(\.isEmpty) == !isKept)
    }

    @Test("altered, foreign and malformed values are ignored")
    func isAuthentic() async throws {
        let foreign = SignInBench()
        for each in [bench, foreign] { each.apple.set { $0.verifyFailure = Failure(.clock, "iat") } }
        let kept = try #require(try await kept(bench.form(bench.begin(), user: "Ann Lee")))
        let another = try #require(try await self.kept(foreign.form(foreign.begin(), user: "Eve Eve"), by: foreign))
        bench.apple.set { $0.verifyFailure = nil }
        var changed = Array(kept)
        changed[40] = changed[40] == "A" ? "B" : "A"
        let state = bench.begin().state
        for value in ["", "A", "%", another, String(changed), state, String(repeating: "A", count: 5_000)] {
            let outcome = await bench.post(bench.form(bench.begin()), keptName: value)
            #expect(try await name(of: outcome) == PersonName(), "\(value.prefix(20))")
        }
    }

    @Test("a late callback keeps the name if Apple's token is valid")
    func staleIsVouchedForByApple() async throws {
        let body = bench.form(bench.begin(), user: "Ann Lee")
        let forged = bench.form(bench.begin(), nonce: "of another attempt", user: "Eve Eve")
        bench.clock.advance(seconds: 3_600)
        #expect(try await kept(forged, .absent) == nil)
        let kept = try #require(try await kept(body, .absent))
        let outcome = await bench.post(bench.form(bench.begin()), keptName: kept)
        #expect(try await name(of: outcome) == PersonName(given: "Ann", family: "Lee"))
    }

    @Test("no name is kept without proof of its origin, or when it is stored already")
    func isNotPlanted() async throws {
        bench.apple.set { $0.verifyFailure = Failure(.keysUnavailable, "down") }
        let other = BindingCookie.value(.make(random: SystemRandom()))
        let body = bench.form(bench.begin(), user: "Ann Lee")
        let failure = Failure(.keysUnavailable, "down")
        for binding in [BindingCookie.absent, .invalid, other] {
            #expect(
                await bench.signIn.nameToKeep(of: bench.receive(body, binding: binding), after: failure) == nil)
        }
        let own = bench.receive(body)
        #expect(await bench.signIn.nameToKeep(of: own, after: failure) != nil)
        let nameless = bench.receive(bench.form(bench.begin()))
        #expect(await bench.signIn.nameToKeep(of: nameless, after: failure) == nil)
        for harmless in [
            Failure(.cancelled), Failure(.codeRefused), Failure(.replayed), Failure(.revoked),
            Failure(.providerUnavailable, ""),
        ] {
            #expect(await bench.signIn.nameToKeep(of: own, after: harmless) == nil)
        }
        #expect(try await bench.store.events(after: nil, limit: 1).isEmpty)
    }

    @Test("a name too long for a cookie is omitted, and the sign-in continues")
    func isBounded() async throws {
        bench.apple.set { $0.verifyFailure = Failure(.clock, "iat") }
        let fits = bench.form(bench.begin(), user: String(repeating: "a", count: 2_000) + " b")
        let exceeds = bench.form(bench.begin(), user: String(repeating: "a", count: 4_000) + " b")
        #expect(try await kept(fits) != nil)
        #expect(try await kept(exceeds) == nil)
    }
}
