import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// The OpenID provider over the real database, with a clock that can be set. What programs see is in Tests/System/OpenID.
@Suite struct OpenIDProviderTests {
    private static let callback = "https://program.example.com/callback"
    private static let signedOut = "https://program.example.com/signed-out"

    private let bench: Bench
    private let database: Accounts.Database
    private let keys: SigningKeys
    private let provider: OpenIDProvider
    private let client: OpenIDClient
    private var now: Timestamp { bench.clock.now() }

    init() async throws {
        (bench, database) = try Bench().opened()
        keys = bench.signingKeys(database)
        provider = bench.provider(database, audiences: ["api"], keys: keys)
        let made = OpenIDClient(
            id: OpenIDClientID(unchecked: "program"), name: "Program",
            secrets: OpenIDClient.Secrets(current: OpenIDClientSecret(unchecked: "secret").hash),
            redirectURIs: [Self.callback],
            logoutURIs: [Self.signedOut], scopes: OpenIDScope.identity, createdAt: bench.clock.now(),
            updatedAt: bench.clock.now())
        client = try #require(try await database.changeOpenIDClients(at: bench.clock.now()) { _ in [made] }.first)
    }

    private func fields(_ pairs: [(String, String)]) -> [FormField] {
        pairs.map { FormField(name: $0.0, value: $0.1) }
    }

    private func request(_ more: [(String, String)] = []) throws -> ValidatedAuthorizeRequest {
        let asked = AuthorizeRequest(
            fields(
                [
                    ("response_type", "code"), ("client_id", "program"), ("redirect_uri", Self.callback),
                    ("scope", "openid offline_access"),
                ] + more))
        return try ValidatedAuthorizeRequest(
            asked, client: client, address: try #require(asked.answerAddress(of: client)))
    }

    private func tokenRequest(_ pairs: [(String, String)]) throws -> ProviderRequest {
        try ProviderRequest(fields(pairs + [("client_id", "program"), ("client_secret", "secret")]), authorization: [])
    }

    private func signIn(_ subject: String = "ann") async throws -> SignedIn {
        try await database.signIn(subject, at: now)
    }

    private func tokens(_ signedIn: SignedIn) async throws -> OpenIDProvider.TokenAnswer {
        let answer = try await provider.authorize(request(), signedIn: signedIn, isCancelled: false)
        guard case .code(let code) = answer else { throw StoreError.inconsistent("no code: \(answer)") }
        return try await provider.tokens(
            for: tokenRequest([
                ("grant_type", "authorization_code"), ("code", code.reveal()), ("redirect_uri", Self.callback),
            ]), of: client)
    }

    private func refresh(
        _ tokens: OpenIDProvider.TokenAnswer, scope: String? = nil
    ) async throws -> OpenIDProvider.TokenAnswer {
        try await refresh(#require(tokens.refresh).reveal(), scope: scope)
    }

    private func refresh(_ token: String, scope: String? = nil) async throws -> OpenIDProvider.TokenAnswer {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)]
        return try await provider.tokens(for: tokenRequest(fields + (scope.map { [("scope", $0)] } ?? [])), of: client)
    }

    private func code(of error: any Error) -> ProviderError.Code? {
        (error as? Failure)?.oauth?.code
    }

    private func scopes(_ access: GrantedAccessToken) async throws -> [OpenIDScope]? {
        try await provider.grant(access: access.reveal())?.accessScopes
    }

    @Test("An application is listed once, however many grants it holds: since the first, and as last used")
    func manyGrants() async throws {
        let (ann, start) = (try await signIn(), now)
        let first = try await tokens(ann)
        for _ in 0..<30 {
            bench.clock.advance(seconds: 60)
            _ = try await tokens(ann)
        }
        func listed() async throws -> [ConnectedApplication]? {
            try await database.applications(of: ann.user.id, at: now)
        }
        var expected = ConnectedApplication(
            client: client.id, name: "Program", since: start, lastUsedAt: now, scopes: [.openid, .offlineAccess],
            isOffline: true)
        #expect(try await listed() == [expected])
        // The oldest may be the one that is used.
        bench.clock.advance(seconds: 60)
        _ = try await refresh(first)
        expected.lastUsedAt = now
        #expect(try await listed() == [expected])
    }

    @Test("a forged refresh token ends nothing, however similar to an issued one")
    func forgedRefreshToken() async throws {
        let first = try await tokens(signIn())
        let real = try #require(first.refresh).reveal()
        let bytes = try #require(Base64URL.decode(String(real.dropFirst(4))))
        for place in [16, 31, 32, 47] {
            var forged = bytes
            forged[place] ^= 1
            await #expect(throws: Failure.self) { try await refresh("bor_" + Base64URL.encode(forged)) }
        }
        // The grant's id is part of every access token.
        let guessed = Array(bytes.prefix(16)) + [UInt8](repeating: 7, count: 32)
        await #expect(throws: Failure.self) { try await refresh("bor_" + Base64URL.encode(guessed)) }
        let second = try await refresh(first)
        // One that was issued, and used long ago, is in two hands.
        bench.clock.advance(seconds: 11)
        await #expect(throws: Failure.self) { try await refresh(first) }
        await #expect(throws: Failure.self) { try await refresh(second) }
    }

    @Test("the same refresh at a server whose clock differs gets the same answer", arguments: [-9, -1, 0, 1, 9])
    func refreshOnTwoClocks(seconds: Int64) async throws {
        let first = try await tokens(signIn())
        let here = try await refresh(first)
        bench.clock.advance(seconds: seconds)
        let there = try await refresh(first)
        #expect(here.access.reveal() == there.access.reveal())
        #expect(here.refresh?.reveal() == there.refresh?.reveal())
    }

    @Test("calls in flight succeed: the access token before a refresh stays valid for ten seconds")
    func formerAccessToken() async throws {
        let first = try await tokens(signIn())
        let second = try await refresh(first)
        #expect(try await scopes(first.access) != nil)
        bench.clock.advance(seconds: 9)
        #expect(try await scopes(first.access) != nil)
        bench.clock.advance(seconds: 1)
        #expect(try await scopes(first.access) == nil)
        #expect(try await scopes(second.access) != nil)
    }

    @Test("a narrower scope is honoured, a wider or unknown one refused (RFC 6749 §6)")
    func narrowerScope() async throws {
        let first = try await tokens(signIn())
        let narrow = try await refresh(first, scope: "openid")
        #expect(narrow.scopes == [.openid])
        #expect(try await scopes(narrow.access) == [.openid])
        // The refresh token keeps what was granted.
        let wide = try await refresh(narrow)
        #expect(wide.scopes == [.openid, .offlineAccess])
        for scope in ["openid email", "openid unheard_of", "openid openid:x"] {
            do {
                _ = try await refresh(wide, scope: scope)
                Issue.record("\(scope)")
            } catch {
                #expect(code(of: error) == .invalidScope, "\(scope)")
            }
        }
        #expect(try await refresh(wide).scopes == [.openid, .offlineAccess])
    }

    @Test("rights that the operator withdraws from a client end at once")
    func withdrawnRights() async throws {
        let signedIn = try await signIn()
        let first = try await tokens(signedIn)
        func change(_ edit: @escaping @Sendable (inout OpenIDClient) -> Void) async throws {
            try await database.changeClients(at: now, edit)
        }
        try await change { $0.scopes = [.openid] }
        #expect(try await scopes(first.access) == [.openid])
        await #expect(throws: Failure.self) { try await refresh(first) }
        // Without offline access, the session's end is the end.
        try await change { $0.scopes = OpenIDScope.identity }
        let second = try await refresh(first)
        try await change { $0.groups = ["staff"] }
        #expect(try await scopes(second.access) == nil)
        await #expect(throws: Failure.self) { try await refresh(second) }
        #expect(
            try await database.patchUser(signedIn.user.id, UserPatch(groups: ["staff"]), at: now)
                != .unknown)
        #expect(try await scopes(second.access) != nil)
        // Leaving ends it for good.
        _ = try await database.patchUser(signedIn.user.id, UserPatch(groups: []), at: now)
        _ = try await database.patchUser(signedIn.user.id, UserPatch(groups: ["staff"]), at: now)
        #expect(try await scopes(second.access) == nil)
        await #expect(throws: Failure.self) { try await refresh(second) }
    }

    @Test(
        "a person set back to pending has no more rights than a disabled one",
        arguments: [User.State.pending, .disabled])
    func withdrawnAdmission(state: User.State) async throws {
        let signedIn = try await signIn()
        let first = try await tokens(signedIn)
        _ = try await database.patchUser(signedIn.user.id, UserPatch(state: state), at: now)
        #expect(try await database.signedIn(token: signedIn.session.tokenHash, at: now) == nil)
        _ = try await database.patchUser(signedIn.user.id, UserPatch(state: .active), at: now)
        #expect(try await scopes(first.access) == nil)
        await #expect(throws: Failure.self) { try await refresh(first) }
    }

    private func logout(_ hint: String) async throws -> LogoutAnswer {
        try await provider.logout(
            LogoutRequest(fields([("id_token_hint", hint), ("post_logout_redirect_uri", Self.signedOut)])))
    }

    @Test("an expired ID token is still a hint, until its key is gone (demands 15 and 39)")
    func expiredHint() async throws {
        let signedIn = try await signIn()
        let hint = try #require(try await tokens(signedIn).idToken).reveal()
        bench.clock.advance(seconds: 2 * 3_600)
        try await keys.maintain()
        let known = try await logout(hint)
        #expect(known.user == signedIn.user.id && known.location == Self.signedOut)
        let later = try await signIn()
        let answer = try await provider.authorize(
            request([("id_token_hint", hint), ("prompt", "none")]), signedIn: later, isCancelled: false)
        guard case .code = answer else { throw Unexpected("\(answer)") }
        // The next key is made, signs, and an hour later the first is published no more. It still verifies.
        for day in 1...432 {
            bench.clock.advance(seconds: 86_400)
            try await keys.maintain()
            if day % 10 == 9, day < 420 { #expect(try await logout(hint).user == signedIn.user.id, "day \(day)") }
        }
        let forgotten = try await logout(hint)
        #expect(forgotten.user == nil && forgotten.location == nil)
    }

    @Test("a dead credential also ends refresh tokens of earlier sessions (demand 33)")
    func deadCredential() async throws {
        let signedIn = try await signIn()
        let answer = try await tokens(signedIn)
        #expect(try await database.endSession(signedIn.session.id, cause: .signOut, at: now))
        let renewed = try await refresh(answer)
        try await bench.findDead(database)
        await #expect(throws: Failure.self) { try await refresh(renewed) }
        #expect(try await provider.grant(access: renewed.access.reveal()) == nil)
    }

    @Test("a client named like an assertion's audience is unknown, even if the audience was added later (demand 6)")
    func audience() async throws {
        let made = OpenIDClient(
            id: OpenIDClientID(unchecked: "api"), name: "API",
            secrets: OpenIDClient.Secrets(current: OpenIDClientSecret(unchecked: "secret").hash),
            redirectURIs: [Self.callback],
            createdAt: now, updatedAt: now)
        _ = try await database.changeOpenIDClients(at: now) { $0 + [made] }
        #expect(try await provider.storedClient(named: "api") == nil)
        #expect(try await provider.client(named: "program") == client)
        let request = try ProviderRequest(
            fields([("client_id", "api"), ("client_secret", "secret")]), authorization: [])
        await #expect(throws: Failure.self) { try await provider.authenticate(request) }
    }

    @Test("a refresh token that is not used ends after 90 days, and its row with it")
    func unused() async throws {
        let signedIn = try await signIn()
        let first = try await tokens(signedIn)
        bench.clock.advance(seconds: 80 * 86_400)
        let second = try await refresh(first)
        bench.clock.advance(seconds: 90 * 86_400 - 1)
        #expect(try await database.maintain(at: now).grants == 0)
        bench.clock.advance(seconds: 1)
        await #expect(throws: Failure.self) { try await refresh(second) }
        #expect(try await database.maintain(at: now).grants == 1)
    }

    @Test("a mark that is an hour old sends the person to Apple again")
    func oldMark() async throws {
        let answer = try await provider.authorize(
            request([("prompt", "login")]), signedIn: nil, isCancelled: false)
        guard case .signIn(let query) = answer, let mark = query.firstMatch(of: /bramley_mark=([^&]+)/) else {
            throw Unexpected("\(answer)")
        }
        bench.clock.advance(seconds: 60)
        let signedIn = try await signIn()
        let marked = try request([("prompt", "login"), ("bramley_mark", String(mark.1))])
        func isAnswered() async throws -> Bool {
            if case .code = try await provider.authorize(marked, signedIn: signedIn, isCancelled: false) {
                return true
            }
            return false
        }
        #expect(try await isAnswered())
        bench.clock.advance(seconds: 3_600 - 61)
        #expect(try await isAnswered())
        bench.clock.advance(seconds: 1)
        #expect(try await !isAnswered())
    }
}
