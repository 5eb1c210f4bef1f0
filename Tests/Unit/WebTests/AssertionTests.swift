import Coding
import Crypto
import HTTP
import HTTPTypes
import LogRecording
import Storage
import Stores
import Testing
import Web

@testable import Accounts

extension Site {
    static let audience = "https://api.example.com"

    /// A site that makes assertions.
    static func asserting(_ adjust: (inout WebConfiguration) -> Void = { _ in }) throws -> Site {
        try Site {
            $0.assertionAudiences = [AssertionAudience(name: audience)]
            adjust(&$0)
        }
    }

    /// The public keys as served now.
    func publishedKeys() async throws -> JWKSet { try JWKSet.parse(await get("/.well-known/jwks.json").bytes) }
}

/// An assertion as a test reads it: taken apart without the code under test, its signature checked.
struct ReadAssertion {
    let header, claims: JSONObject

    init(_ token: String, _ set: JWKSet) throws {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        header = try Self.object(parts[0])
        claims = try Self.object(parts[1])
        let keyID = try #require(header["kid"]?.stringValue)
        let key = try #require(set.keys.first { $0.keyID == keyID })
        let signature = try #require(Base64URL.decode(parts[2]))
        let message = Array((parts[0] + "." + parts[1]).utf8)
        switch try #require(header["alg"]?.stringValue) {
        case "RS256": #expect(try key.rs256Key().verifyRS256(signature: signature, message: message))
        case "ES256": #expect(try key.es256Key().verifyES256(signature: signature, message: message))
        case let algorithm: Issue.record("\(algorithm)")
        }
    }

    private static func object(_ part: String) throws -> JSONObject {
        let bytes = try #require(Base64URL.decode(part))
        return try #require(try JSONReader.parse(bytes).objectValue)
    }

    subscript(name: String) -> JSONValue? { claims[name] }
}

@Suite struct AssertionTests {
    private let site: Site

    init() throws { site = try Site.asserting() }

    private func read(_ response: ServerResponse, _ site: Site) async throws -> ReadAssertion {
        #expect(response.status == .ok)
        return try ReadAssertion(
            try #require(response.json?["assertion"]?.stringValue), try await site.publishedKeys())
    }

    @Test func claimsSayWhoIsSignedIn() async throws {
        var (session, user) = { ($0.session, $0.user) }(site.signIn(groups: ["staff", "a,b"]))
        user.externalID = "crm-7"
        session.createdAt = site.clock.now().adding(seconds: -1_000)
        site.database.put(user)
        site.database.put(session)
        let response = await site.get("/api/v1/session/assertion", cookie: site.cookie)
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(response.fields[.contentType] == "application/json")
        #expect(response.json?["expiresAt"]?.stringValue == "2026-09-21T14:18:20.000Z")
        #expect(response.json?.count == 2)
        let assertion = try await read(response, site)
        #expect(assertion.header.members.map(\.name) == ["alg", "kid", "typ"])
        #expect(assertion.header["alg"] == "ES256")
        #expect(assertion.header["typ"] == "bramley-assertion+jwt")
        var claims = assertion.claims
        #expect(Base64URL.decode(try #require(claims["jti"]?.stringValue))?.count == 16)
        claims["jti"] = nil
        #expect(
            claims == [
                "iss": "https://login.example.com", "sub": "usr_00000000000000000000000001",
                "aud": "https://api.example.com", "iat": 1_790_000_000, "exp": 1_790_000_300,
                "sid": "ses_00000000000000000000000001", "auth_time": 1_789_999_000, "email": "anna@example.com",
                "email_verified": true, "is_private_email": false, "name": "Anna Appleseed", "given_name": "Anna",
                "family_name": "Appleseed", "groups": ["staff", "a,b"], "external_id": "crm-7",
            ])
    }

    @Test func unknownClaimsAreLeftOut() async throws {
        site.signIn(PersonName(), email: nil)
        let assertion = try await read(await site.get("/api/v1/session/assertion", cookie: site.cookie), site)
        #expect(
            assertion.claims.members.map(\.name) == [
                "iss", "sub", "aud", "iat", "exp", "jti", "sid", "auth_time", "groups",
            ])
        #expect(assertion["groups"] == [])
    }

    @Test(
        "Only a verified ASCII address is included",
        arguments: [
            (EmailAddress(address: "x@privaterelay.appleid.com", isVerified: true, isPrivate: true), true),
            (EmailAddress(address: "anna@example.com", isVerified: false, isPrivate: false), false),
            (EmailAddress(address: "änna@example.com", isVerified: true, isPrivate: false), false),
            (EmailAddress(address: "a b@example.com", isVerified: true, isPrivate: false), false),
            (EmailAddress(address: "", isVerified: true, isPrivate: false), false),
        ])
    func addresses(_ email: EmailAddress, isTold: Bool) async throws {
        site.signIn(email: email)
        let assertion = try await read(await site.get("/api/v1/session/assertion", cookie: site.cookie), site)
        #expect((assertion["email"]?.stringValue == email.address) == isTold)
        #expect((assertion["email_verified"] == true) == isTold)
        #expect(assertion["is_private_email"] == (isTold ? .bool(email.isPrivate) : nil))
    }

    @Test("Names stay names", arguments: ["admin", "李雷", "\"}],\"sub\":\"x", "a\u{202E}b</script>"])
    func names(_ name: String) async throws {
        site.signIn(PersonName(given: name, family: nil))
        let assertion = try await read(await site.get("/api/v1/session/assertion", cookie: site.cookie), site)
        #expect(assertion["given_name"]?.stringValue == name)
        #expect(assertion["name"]?.stringValue == name)
        #expect(assertion["sub"]?.stringValue == "usr_00000000000000000000000001")
    }

    @Test("An assertion ends with its session, by its absolute and its idle end", arguments: [true, false])
    func endsWithTheSession(isIdle: Bool) async throws {
        let site = try Site.asserting {
            $0.sessionLimits = SessionLimits(lifetime: 2_592_000, idleTimeout: isIdle ? 200 : 2_592_000)
        }
        site.signIn()
        if !isIdle { site.clock.advance(seconds: 2_592_000 - 200) }
        let end = site.clock.now().seconds + 200
        let assertion = try await read(await site.get("/api/v1/session/assertion", cookie: site.cookie), site)
        #expect(assertion["exp"]?.int64Value == end)
    }

    @Test("Everyone is a different assertion")
    func identifiersDiffer() async throws {
        site.signIn()
        var seen: Set<String> = []
        for _ in 0..<20 {
            let assertion = try await read(await site.get("/api/v1/session/assertion", cookie: site.cookie), site)
            seen.insert(try #require(assertion["jti"]?.stringValue))
        }
        #expect(seen.count == 20)
    }

    @Test func anAppAsksByBearer_aBrowserByCookie() async throws {
        site.signIn()
        site.signIn(kind: .native)
        let bearer: HTTPFields = [.authorization: "Bearer \(Site.nativeToken)"]
        #expect(await site.get("/api/v1/session/assertion", bearer).status == .ok)
        for fields: HTTPFields in [
            [:], [.authorization: "Bearer \(Site.browserToken)"], [.cookie: "__Host-bramley=\(Site.nativeToken)"],
            [.cookie: "\(site.cookie); \(site.cookie)"], [.authorization: "Bearer x"],
        ] {
            let response = await site.get("/api/v1/session/assertion", fields)
            #expect(response.status == .unauthorized)
            #expect(response.json?["code"]?.stringValue == "signed_out")
        }
    }

    @Test(arguments: [(User.State.pending, "user_pending"), (.disabled, "user_disabled")])
    func onlyActivePeople(state: User.State, code: String) async throws {
        site.signIn(state: state)
        let response = await site.get("/api/v1/session/assertion", cookie: site.cookie)
        #expect(response.status == .forbidden)
        #expect(response.json?["code"]?.stringValue == code)
    }

    @Test(
        "Without assertion.audience there is nothing",
        arguments: ["/api/v1/session/assertion", "/.well-known/jwks.json"])
    func notConfigured(target: String) async throws {
        let site = try Site.signedIn()
        let response = await site.get(target, cookie: site.cookie)
        #expect(response.status == .notFound)
        #expect(response.fields[.contentType] == "application/problem+json")
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(response.json?["code"]?.stringValue == "assertion_not_configured")
        #expect(try await site.store.signingKeys().isEmpty)
        #expect(await site.get("/auth/verify?assertion=true", cookie: site.cookie).fields[.assertion] == nil)
    }

    @Test(
        "Without keys: 503 and no weaker answer",
        arguments: ["/api/v1/session/assertion", "/.well-known/jwks.json", "/auth/verify?assertion=true"])
    func keysUnavailable(target: String) async throws {
        site.signIn()
        site.database.faults.fail(at: "signing_key", with: .unavailable("disk"))
        let response = await site.get(target, cookie: site.cookie)
        #expect(response.status == .serviceUnavailable)
        #expect(response.fields[.retryAfter] == "30")
        // A proxy that did not ask is not troubled.
        #expect(await site.get("/auth/verify", cookie: site.cookie).status == .noContent)
    }

    @Test(
        "Without keys public paths stay open, without an identity",
        arguments: [("public", 204), ("optional", 503), ("signed-in", 503), ("listed", 503), ("oauth2", 503)])
    func keysUnavailableBehindRules(path: String, status: Int) async throws {
        let document = """
            {"rules": [
                {"host": "app.example.com", "path": "/public", "allow": "public"},
                {"host": "app.example.com", "path": "/optional", "allow": "optional"},
                {"host": "app.example.com", "path": "/signed-in", "allow": "signedIn"},
                {"host": "app.example.com", "path": "/listed", "allow": {"groups": ["staff"]}}
            ]}
            """
        let rules = try AccessRulesFile.read(Array(document.utf8))
        let site = try Site.asserting { $0.accessRules = rules }
        site.signIn(groups: ["staff"])
        site.database.faults.fail(at: "signing_key", with: .unavailable("disk"))
        // A list of people that the proxy itself demands is not public either.
        let isDemanded = path == "oauth2"
        let fields: HTTPFields = [
            .cookie: site.cookie, HTTPField.Name("X-Forwarded-Proto")!: "https",
            HTTPField.Name("X-Forwarded-Host")!: "app.example.com",
            HTTPField.Name("X-Forwarded-Uri")!: isDemanded ? "/public" : "/\(path)",
            HTTPField.Name("X-Forwarded-Method")!: "GET",
        ]
        let address = isDemanded ? "/oauth2/auth?allowed_groups=staff&" : "/auth/verify?"
        let response = await site.send(
            .get, address + "assertion=true", fields, trusted: true, host: "127.0.0.1:8080")
        #expect(response.status.code == status)
        guard status == 204 else { return }
        #expect(response.fields[values: .assertion] == [""])
        #expect(response.fields[values: HTTPField.Name("X-Auth-Request-User")!] == [""])
    }

    @Test func keySetIsPublicAndCachedBriefly() async throws {
        let response = await site.get("/.well-known/jwks.json")
        #expect(response.status == .ok)
        #expect(response.fields[.contentType] == "application/jwk-set+json")
        #expect(response.fields[.cacheControl] == "public, max-age=300")
        #expect(response.fields[.accessControlAllowOrigin] == "*")
        #expect(response.fields[.crossOriginResourcePolicy] == "cross-origin")
        #expect(response.fields[.xContentTypeOptions] == "nosniff")
        #expect(response.setCookies.isEmpty)
        let key = try #require(response.json?["keys"]?.arrayValue?.first?.objectValue)
        #expect(key.members.map(\.name) == ["kty", "crv", "x", "y", "use", "alg", "kid"])
        #expect(key["alg"] == "ES256" && key["use"] == "sig" && key["crv"] == "P-256")
        #expect(key["kid"]?.stringValue == JWK(key).thumbprint)
        #expect(response.json?.count == 1)
        #expect(await site.send(.head, "/.well-known/jwks.json").status == .ok)
        #expect(await site.send(.post, "/.well-known/jwks.json").status == .methodNotAllowed)
    }

    @Test func publicURLWithAPath() async throws {
        let site = try Site(publicURL: "https://example.com/id") {
            $0.assertionAudiences = [AssertionAudience(name: Site.audience)]
        }
        site.signIn()
        let keys = try JWKSet.parse(await site.get("/id/.well-known/jwks.json").bytes)
        #expect(keys.keys.count == 1)
        let response = await site.get("/id/api/v1/session/assertion", cookie: site.cookie)
        let assertion = try ReadAssertion(try #require(response.json?["assertion"]?.stringValue), keys)
        #expect(assertion["iss"] == "https://example.com/id")
    }

    @Test func nothingOfItIsLogged() async throws {
        site.signIn()
        let response = await site.get("/api/v1/session/assertion", cookie: site.cookie)
        let token = try #require(response.json?["assertion"]?.stringValue)
        for part in token.split(separator: ".") { #expect(!site.log.lines.contains { $0.contains(part) }) }
    }
}

extension HTTPField.Name {
    static let assertion = HTTPField.Name("X-Auth-Request-Assertion")!
    static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")!
}
