import AppleSimulator
import Certificates
import Coding
import IndependentSigning
import Synchronization
import Testing

/// The exchange of the code, both channels signed by the independent signer.
@Suite struct TokenExchangeUnderAttack {
    /// A site whose Apple is a stub that publishes the signer's key.
    private static func withStub(_ body: (Site, StubApple) async throws -> Void) async throws {
        let stub = StubApple()
        let keys: JSON = ["keys": [try await IndependentSigner.shared.jwk(IndependentSigner.firstKey)]]
        stub.answers.withLock { $0.keys = keys.text }
        try await stub.serving { endpoint in
            try await withSite(SiteOptions(appleEndpoint: endpoint)) { (site: Site) async throws in
                try await body(site, stub)
            }
        }
    }

    /// A consent whose token is signed again, and the claims of that token.
    private static func consent(_ browser: Browser) async throws -> (form: Form, claims: JSON) {
        let form = try await browser.consent()
        let claims = JSON.part(1, of: try #require(form["id_token"]))
        return (form.setting("id_token", try await sign(claims)), claims)
    }

    private static func sign(_ claims: JSON) async throws -> String {
        try await Forgery(name: "").token(header: IdentityTokenValidation.soundHeader, claims: claims)
    }

    private static func answer(_ stub: StubApple, with claims: JSON, access: String = "a1") async throws {
        let body: JSON = [
            "access_token": .string(access), "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r1",
            "id_token": .string(try await sign(claims)),
        ]
        stub.answers.withLock { $0.token = { _ in (200, body.text) } }
    }

    @Test func clientSecretHasApplesForm() async throws {
        try await Self.withStub { site, stub in
            let browser = site.browser()
            let (form, _) = try await Self.consent(browser)
            #expect(try await browser.postCallback(form).status == 400)
            let sent = Query(url: "x?" + (stub.seen.withLock { $0.forms.first } ?? ""))
            #expect(sent["grant_type"] == "authorization_code")
            #expect(sent["client_id"] == Apple.servicesID)
            #expect(sent["code"] == form["code"])
            #expect(sent["redirect_uri"] == site.publicURL + "/apple/callback")
            let secret = try #require(sent["client_secret"])
            let jwt = try await IndependentSigner.shared.verifyClientSecret(secret, pem: TestKeys.first)
            #expect(jwt["header"]?["alg"]?.stringValue == "ES256")
            #expect(jwt["header"]?["kid"]?.stringValue == Apple.keyID)
            let claims = try #require(jwt["claims"])
            #expect(claims["iss"]?.stringValue == Apple.teamID)
            #expect(claims["sub"]?.stringValue == Apple.servicesID)
            #expect(claims["aud"]?.stringValue == Apple.issuer)
            let (issued, expires) = (claims["iat"]?.integer ?? 0, claims["exp"]?.integer ?? 0)
            #expect(issued == site.clock.seconds)
            #expect((1...15_777_000).contains(expires - issued))
        }
    }

    @Test func clientSecretIsCurrentDespiteClockChanges() async throws {
        try await Self.withStub { site, stub in
            for step: Int64 in [0, 299, 1, 86_400, -7200, 3600] {
                site.clock.advance(seconds: step)
                let browser = site.browser()
                try await browser.postCallback(Self.consent(browser).form)
                let secret = Query(url: "x?" + (stub.seen.withLock { $0.forms.last } ?? ""))["client_secret"] ?? ""
                let claims = JSON.part(1, of: secret)
                let now = site.clock.seconds
                #expect((claims["iat"]?.integer ?? .max) <= now, "after \(step)")
                #expect((claims["exp"]?.integer ?? 0) > now + 60, "after \(step)")
            }
        }
    }

    @Test(
        arguments: [
            (400, "{\"error\":\"invalid_grant\"}", 400), (400, "{\"error\":\"invalid_client\"}", 400),
            (500, "oops", 503),
            (502, "<html></html>", 503), (200, "{}", 503), (200, "", 503), (200, "[]", 503),
            (200, "{\"id_token\":1}", 503),
            (200, "{\"id_token\":\"a.b.c\"}", 400), (429, "{}", 503), (204, "", 503),
            (400, "{\"error\":\"<script>alert(1)</script>\",\"error_description\":\"\\r\\nSet-Cookie: x=y\"}", 400),
            (200, String(repeating: "[", count: 100_000), 503), (200, "{\"id_token\":\"\\ud800\"}", 503),
        ] as [(Int, String, Int)])
    func codeIsSentOnceWhateverTheAnswer(status: Int, body: String, expected: Int) async throws {
        try await Self.withStub { site, stub in
            stub.answers.withLock { $0.token = { _ in (status, body) } }
            let browser = site.browser()
            let (form, _) = try await Self.consent(browser)
            let response = try await browser.postCallback(form)
            // Apple refusing us, or nonsense from it, is nothing the visitor did: either is a clean page.
            #expect([expected, 503].contains(response.status), "\(response.status)")
            #expect(response.setCookie(Browser.sessionName) == nil)
            #expect(!response.text.contains("<script>alert"))
            #expect(stub.seen.withLock { $0.forms.count } == 1)
            #expect(try await site.count("session") == 0)
            #expect(try await site.count("user") == 0)
            if response.status == 400 {
                // A reload shares the answer instead of sending a dead code again.
                #expect(try await browser.postCallback(form).status == 400)
                #expect(stub.seen.withLock { $0.forms.count } == 1)
            }
        }
    }

    static let backChannel: [(name: String, change: JSON, isAccepted: Bool)] = [
        ("as it is", [:], true), ("without a nonce", ["nonce": .null], true),
        ("without at_hash", ["at_hash": .null], true),
        ("another sub", ["sub": "000000.0000.0000"], false), ("another nonce", ["nonce": "x"], false),
        ("a nonce of another kind", ["nonce": 1], false),
        ("another at_hash", ["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"], false),
        ("at_hash of another kind", ["at_hash": []], false), ("another aud", ["aud": "com.example.app"], false),
        ("further audiences", ["aud": ["com.example.web", "com.example.app"]], false),
        ("another iss", ["iss": "https://account.apple.com"], false), ("events", ["events": "{}"], false),
        ("expired", ["exp": 1], false), ("sub missing", ["sub": .null], false), ("iat missing", ["iat": .null], false),
    ]

    @Test(arguments: backChannel)
    func tokenOfTheTokenEndpointMustFitTheOther(name: String, change: JSON, isAccepted: Bool) async throws {
        try await Self.withStub { site, stub in
            let browser = site.browser()
            let (form, claims) = try await Self.consent(browser)
            var back = claims
            back["c_hash"] = nil
            back["at_hash"] = .string(try await IndependentSigner.shared.halfHash("a1"))
            for member in change.members {
                if member.value.isNull { back[member.name] = nil } else { back[member.name] = member.value }
            }
            try await Self.answer(stub, with: back)
            #expect(try await browser.postCallback(form).status == (isAccepted ? 303 : 400))
            #expect(try await site.count("session") == (isAccepted ? 1 : 0))
        }
    }
}
