import Coding
import Crypto
import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// `X-Auth-Request-Assertion` by the ordinary route and by the fast path.
@Suite struct VerifyAssertionTests {
    private let site: Site

    init() throws { site = try Site.asserting() }

    static let cookie = "Cookie: __Host-bramley=\(Site.browserToken)"

    /// The fields of the prepared answer; nil when the request was left to the route.
    private func fast(_ path: VerifyFastPath, _ site: Site, query: String) throws -> [String: String]? {
        try site.prepared(path, [Self.cookie], request: "GET /auth/verify\(query) HTTP/1.1").map(fields)
    }

    private func token(_ path: VerifyFastPath, _ site: Site) throws -> String? {
        try fast(path, site, query: "?assertion=true")?["X-Auth-Request-Assertion"]
    }

    @Test(
        "The fast path and the route agree on every form of the flag",
        arguments: [
            ("", false), ("?", false), ("?assertion=true", true), ("?redirect=true&assertion=true", true),
            ("?assertion=true&optional=true", true), ("?optional=true", false), ("?assertion", nil),
            ("?assertion=", nil), ("?assertion=false", false), ("?assertion=TRUE", nil), ("?assertion=1", nil),
            ("?assertion=true&assertion=true", nil), ("?assertion=true&assertion=false", nil),
            ("?assertion=false&assertion=true", nil), ("?Assertion=true", false), ("?assertions=true", false),
            ("?xassertion=true", false), ("?%61ssertion=true", true), ("?assertion=tru%65", true),
            ("?assertion=true%00", nil), ("?assertion=true+", nil), ("?assertion%3Dtrue", false),
            ("?&assertion=true&", true), ("?a=assertion=true", false), ("?x=1;assertion=true", false),
            ("?" + String(repeating: "a&", count: 40) + "assertion=true", nil),
            ("?" + String(repeating: "a&", count: 32) + "assertion=true", nil),
            ("?" + String(repeating: "a&", count: 26) + "assertion=true", true),
            ("?x=\(String(repeating: "y", count: 90))&assertion=true", true),
        ] as [(String, Bool?)])
    func formsOfTheFlag(query: String, isAsked: Bool?) async throws {
        site.signIn()
        try await site.signingKeys.maintain()
        guard let isAsked else {
            #expect(await site.get("/auth/verify" + query, cookie: site.cookie).status == .badRequest)
            #expect(try fast(site.fastPath(), site, query: query) == nil)
            return
        }
        let route = await site.get("/auth/verify" + query, cookie: site.cookie)
        #expect(route.status == .noContent)
        #expect(route.fields[values: .assertion].count == 1)
        #expect((route.fields[.assertion] != "") == isAsked)
        if let fields = try fast(site.fastPath(), site, query: query) {
            #expect((fields["X-Auth-Request-Assertion"] != "") == isAsked)
            var names = Set(fields.keys)
            names.remove("Date")
            #expect(names == Set(route.fields.map(\.name.rawName)))
        }
    }

    @Test(
        "Common forms of the flag stay on the fast path",
        arguments: ["", "?redirect=true", "?assertion=true", "?redirect=true&assertion=true"])
    func usual(query: String) async throws {
        site.signIn()
        try await site.signingKeys.maintain()
        #expect(try fast(site.fastPath(), site, query: query) != nil)
    }

    @Test func bothSayTheSameOfThePerson() async throws {
        site.signIn(groups: ["staff"])
        try await site.signingKeys.maintain()
        let keys = try await site.publishedKeys()
        let route = await site.get("/auth/verify?assertion=true", cookie: site.cookie)
        var slow = try ReadAssertion(try #require(route.fields[.assertion]), keys).claims
        var fast = try ReadAssertion(try #require(try token(site.fastPath(), site)), keys).claims
        #expect(slow["jti"] != nil && fast["jti"] != nil)
        slow["jti"] = nil
        fast["jti"] = nil
        #expect(slow == fast)
    }

    @Test(
        "When signed out the field is present and empty",
        arguments: ["", "?assertion=true", "?optional=true&assertion=true", "?redirect=true&assertion=true"])
    func signedOut(query: String) async throws {
        let forged: HTTPFields = [.assertion: "forged", .secFetchMode: "navigate"]
        let response = await site.get("/auth/verify" + query, forged)
        #expect([204, 302, 401].contains(response.status.code))
        #expect(response.fields[values: .assertion] == [""])
    }

    @Test func anAppByBearer() async throws {
        site.signIn(kind: .native)
        let response = await site.get(
            "/auth/verify?assertion=true", [.authorization: "Bearer \(Site.nativeToken)", .assertion: "forged"])
        let assertion = try ReadAssertion(
            try #require(response.fields[.assertion]), try await site.publishedKeys())
        #expect(assertion["sid"] == "ses_00000000000000000000000002")
    }

    @Test(
        "Under access rules it identifies those who are admitted by name, and is empty for all others",
        arguments: [
            ("/public", true, 204, true), ("/public", false, 204, false), ("/staff", true, 204, true),
            ("/admin", true, 403, false), ("/staff", false, 401, false),
        ])
    func rules(path: String, isSignedIn: Bool, status: Int, isSigned: Bool) async throws {
        let document = """
            {"rules": [
                {"host": "app.example.com", "path": "/public", "allow": "public"},
                {"host": "app.example.com", "path": "/staff", "allow": {"groups": ["staff"]}},
                {"host": "app.example.com", "path": "/admin", "allow": {"groups": ["admins"]}}
            ]}
            """
        let rules = try AccessRulesFile.read(Array(document.utf8))
        let site = try Site.asserting { $0.accessRules = rules }
        site.signIn(groups: ["staff"])
        try await site.signingKeys.maintain()
        let fast = try site.fastPath()
        let asked = [
            "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com", "X-Forwarded-Uri: \(path)",
            "X-Forwarded-Method: GET",
        ]
        var fields: HTTPFields = [.assertion: "forged"]
        for line in asked {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            fields[try #require(HTTPField.Name(parts[0]))] = String(parts[1].dropFirst())
        }
        if isSignedIn { fields[.cookie] = site.cookie }
        let response = await site.get("/auth/verify?assertion=true", fields, trusted: true)
        #expect(response.status.code == status)
        #expect((response.fields[.assertion] ?? "").isEmpty != isSigned)
        if status == 204 { #expect(response.fields[values: .assertion].count == 1) }
        // The prepared answer leaves it, or says the same.
        let lines = [isSignedIn ? Self.cookie : "Accept: */*"] + asked
        if let found = try site.prepared(
            fast, lines, request: "GET /auth/verify?assertion=true HTTP/1.1", trusted: true)
        {
            let found = found.filter { $0.hasPrefix("X-Auth-Request-Assertion:") }
            #expect(status == 204)
            #expect(found.count == 1)
            #expect(((found.first?.count ?? 0) > 100) == isSigned)
        }
    }

    @Test func theAddressOfOAuth2Proxy() async throws {
        site.signIn()
        let response = await site.get("/oauth2/auth?assertion=true", cookie: site.cookie)
        #expect(response.status == .accepted)
        _ = try ReadAssertion(try #require(response.fields[.assertion]), try await site.publishedKeys())
        #expect(await site.get("/oauth2/auth", cookie: site.cookie).fields[values: .assertion] == [""])
    }

    @Test("One assertion serves a minute; every one received is good for four")
    func reuse() async throws {
        site.signIn()
        try await site.signingKeys.maintain()
        let path = try site.fastPath()
        let keys = try await site.publishedKeys()
        let first = try #require(try token(path, site))
        for _ in 0..<59 {
            site.clock.advance(seconds: 1)
            try await site.signingKeys.refresh()
            #expect(try token(path, site) == first)
        }
        site.clock.advance(seconds: 1)
        try await site.signingKeys.refresh()
        // The session's time is due to be written, which is the route's to do; after that it is answered here.
        _ = await site.get("/auth/verify?assertion=true", cookie: site.cookie)
        if try token(path, site) == nil { #expect(try token(path, site) != nil) }
        let second = try #require(try token(path, site))
        #expect(second != first)
        #expect(try ReadAssertion(second, keys)["exp"]?.int64Value == site.clock.now().seconds + 300)
    }

    @Test("After the clock is set back, assertions dated ahead are not reused")
    func clockTurnedBack() async throws {
        site.signIn()
        try await site.signingKeys.maintain()
        site.clock.advance(seconds: 40)
        try await site.signingKeys.refresh()
        let (path, keys) = (try site.fastPath(), try await site.publishedKeys())
        let first = try #require(try token(path, site))
        site.clock.advance(seconds: -1)
        try await site.signingKeys.refresh()
        let second = try #require(try token(path, site))
        #expect(second != first)
        #expect(try ReadAssertion(second, keys)["iat"]?.int64Value == site.clock.now().seconds)
    }

    @Test("A change of the person is in the next assertion")
    func changes() async throws {
        var signedIn = site.signIn(groups: ["staff"])
        try await site.signingKeys.maintain()
        let (path, keys) = (try site.fastPath(), try await site.publishedKeys())
        #expect(try ReadAssertion(try #require(try token(path, site)), keys)["groups"] == ["staff"])
        signedIn.user.groups = []
        site.database.put(signedIn.user)
        site.store.invalidations.append([.user(signedIn.user.id)])
        #expect(try ReadAssertion(try #require(try token(path, site)), keys)["groups"] == [])
        signedIn.user.state = .disabled
        site.database.put(signedIn.user)
        site.store.invalidations.append([.user(signedIn.user.id)])
        #expect(try token(path, site) == nil)
        #expect(await site.get("/auth/verify?assertion=true", cookie: site.cookie).status == .forbidden)
    }

    @Test("An ended session is not asserted from memory")
    func ended() async throws {
        let signedIn = site.signIn()
        try await site.signingKeys.maintain()
        let path = try site.fastPath()
        #expect(try token(path, site) != nil)
        _ = try await site.store.endSession(signedIn.session.id, cause: .signOut, at: site.clock.now())
        #expect(try token(path, site) == nil)
    }

    @Test("An assertion of a revoked key is not reused")
    func revokedKey() async throws {
        site.signIn()
        try await site.signingKeys.maintain()
        let path = try site.fastPath()
        let before = try #require(try token(path, site))
        _ = try await site.signingKeys.rotate(revoking: true)
        let after = try #require(try token(path, site))
        #expect(after != before)
        _ = try ReadAssertion(after, try await site.publishedKeys())
    }

    @Test("Keys that were not refreshed for a second are read from the store")
    func unknownKeys() async throws {
        site.signIn()
        let path = try site.fastPath()
        #expect(try token(path, site) == nil)
        try await site.signingKeys.maintain()
        #expect(try token(path, site) != nil)
        site.clock.advance(seconds: 2)
        #expect(try token(path, site) == nil)
        // What was not asked for needs none.
        #expect(try fast(path, site, query: "")?["X-Auth-Request-Assertion"] == "")
    }

    @Test("Never beyond the session's end, also from memory")
    func endOfTheSession() async throws {
        let site = try Site.asserting {
            $0.sessionLimits = SessionLimits(lifetime: 2_592_000, idleTimeout: 2_592_000)
        }
        let end = site.signIn().session.expiresAt
        site.clock.advance(seconds: 2_592_000 - 30)
        try await site.signingKeys.maintain()
        let (path, keys) = (try site.fastPath(), try await site.publishedKeys())
        _ = try token(path, site)
        let assertion = try ReadAssertion(try #require(try token(path, site)), keys)
        #expect(assertion["exp"]?.int64Value == end.seconds)
        site.clock.advance(seconds: 29)
        try await site.signingKeys.refresh()
        #expect(try token(path, site) != nil)
        site.clock.advance(seconds: 1)
        try await site.signingKeys.refresh()
        #expect(try token(path, site) == nil)
    }
}
