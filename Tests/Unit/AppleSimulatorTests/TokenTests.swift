import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct TokenTests {
    private let fixture = Fixture()

    @Test func codeBecomesTokens() async throws {
        let signIn = try await fixture.signIn()
        let answer = try await fixture.exchange(signIn["code"]?.stringValue ?? "")
        #expect(answer.status == 200)
        #expect(answer.json["token_type"] == "Bearer" && answer.json["expires_in"] == 3600)
        #expect(answer.json["refresh_token"]?.stringValue?.isEmpty == false)
        #expect(answer.fields[.cacheControl] == "no-store")
        let front = JSON.token(signIn["id_token"]?.stringValue).claims
        let back = JSON.token(answer.json["id_token"]?.stringValue).claims
        for claim in ["iss", "aud", "sub", "nonce"] { #expect(front[claim] == back[claim]) }
        #expect(front["c_hash"] != nil && front["at_hash"] == nil)
        #expect(back["at_hash"] != nil && back["c_hash"] == nil)
    }

    @Test func codeWorksOnce() async throws {
        let code = try await fixture.code()
        #expect(try await fixture.exchange(code).status == 200)
        let again = try await fixture.exchange(code)
        #expect(again.status == 400)
        #expect(
            again.json == ["error": "invalid_grant", "error_description": "The code has already been used."])
    }

    @Test(arguments: [(299_999 as Int64, 200), (300_000, 400)])
    func codeLivesFiveMinutes(_ age: Int64, _ status: Int) async throws {
        let code = try await fixture.code()
        fixture.clock.advance(milliseconds: age)
        let answer = try await fixture.exchange(code, secret: "longest")
        #expect(answer.status == status)
        if status == 400 {
            #expect(answer.json["error_description"] == "The code has expired or has been revoked.")
        }
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        var changes: [(String, String?)]
        var error: String
        var description: String?
        var testDescription: String { changes.map { "\($0.0)=\($0.1 ?? "(absent)")" }.joined(separator: "&") }
    }

    @Test(arguments: [
        Mistake(changes: [("grant_type", nil)], error: "invalid_request"),
        Mistake(changes: [("grant_type", "password")], error: "unsupported_grant_type"),
        Mistake(changes: [("code", nil)], error: "invalid_request"),
        Mistake(changes: [("client_secret", nil)], error: "invalid_client"),
        Mistake(changes: [("client_secret", "garbage")], error: "invalid_client"),
        Mistake(changes: [("client_id", nil)], error: "invalid_client"),
        Mistake(changes: [("client_id", "com.example.stranger")], error: "invalid_client"),
        Mistake(
            changes: [("code", "garbage"), ("client_id", "garbage"), ("client_secret", "garbage")],
            error: "invalid_grant", description: "The code has expired or has been revoked."),
        Mistake(
            changes: [("client_id", "com.example.app"), ("client_secret", ClientSecrets.named("native"))],
            error: "invalid_grant", description: "client_id mismatch. The code was not issued to com.example.app."),
        Mistake(
            changes: [("redirect_uri", "https://example.com/cb")], error: "invalid_grant",
            description: "redirect_uri mismatch. The code was not issued to https://example.com/cb."),
        Mistake(
            changes: [("redirect_uri", nil)], error: "invalid_grant",
            description: "redirect_uri mismatch. The code was not issued to ."),
        Mistake(
            changes: [("code_verifier", "nobody-asked")], error: "invalid_grant",
            description: "code_verifier mismatch. The authorization request had no code_challenge."),
    ])
    func mistakeIsNamedAndLeavesTheCodeUnused(_ mistake: Mistake) async throws {
        let code = try await fixture.code()
        let answer = try await fixture.exchange(code, mistake.changes)
        #expect(answer.status == 400)
        #expect(answer.json["error"]?.stringValue == mistake.error)
        #expect(answer.json["error_description"]?.stringValue == mistake.description)
        #expect(try await fixture.exchange(code).status == 200)
    }

    @Test func appSendsNoRedirectURI() async throws {
        let native: [(String, JSON)] = [("client_id", "com.example.app")]
        let client: [(String, String?)] = [("client_id", "com.example.app")]
        let code = try await fixture.signIn("ada", native)["code"]?.stringValue ?? ""
        #expect(try await fixture.exchange(code, secret: "native", client).json["error"] == "invalid_grant")
        let answer = try await fixture.exchange(code, secret: "native", client + [("redirect_uri", nil)])
        #expect(answer.status == 200)
        #expect(JSON.token(answer.json["id_token"]?.stringValue).claims["aud"] == "com.example.app")
    }

    /// The pair of RFC 7636 appendix B.
    @Test(arguments: [
        ("S256", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", 200),
        ("S256", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "another", 400),
        ("S256", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", nil, 400),
        ("plain", "the-verifier", "the-verifier", 200),
    ])
    func challengeRequiresItsVerifier(_ method: String, _ challenge: String, _ verifier: String?, _ status: Int)
        async throws
    {
        let signIn = try await fixture.signIn(
            "ada", [("code_challenge", .string(challenge)), ("code_challenge_method", .string(method))])
        let answer = try await fixture.exchange(signIn["code"]?.stringValue ?? "", [("code_verifier", verifier)])
        #expect(answer.status == status)
    }

    @Test func refreshTokenRenewsWithoutANewOne() async throws {
        let tokens = try await fixture.exchange(try await fixture.code()).json
        let answer = try await fixture.refresh(tokens["refresh_token"]?.stringValue ?? "")
        #expect(answer.status == 200)
        #expect(answer.json["refresh_token"] == nil)
        #expect(answer.json["id_token"] != nil)
        #expect(answer.json["access_token"] != tokens["access_token"])
    }

    @Test func refreshTokenIsLookedUpBeforeTheClient() async throws {
        let answer = try await fixture.refresh("garbage", secret: "noJWT", client: "garbage")
        #expect(answer.json["error"] == "invalid_grant")
        #expect(answer.json["error_description"] == "The token has expired or has been revoked.")
        let tokens = try await fixture.exchange(try await fixture.code()).json
        let good = tokens["refresh_token"]?.stringValue ?? ""
        #expect(try await fixture.refresh(good, secret: "noJWT").json["error"] == "invalid_client")
        #expect(
            try await fixture.refresh(good, secret: "native", client: "com.example.app").json["error"]
                == "invalid_grant")
        #expect(try await fixture.refresh(tokens["access_token"]?.stringValue ?? "").json["error"] == "invalid_grant")
    }

    @Test(arguments: ["application/json", "text/plain", nil])
    func onlyFormsHaveAClient(_ type: String?) async throws {
        var fields = HTTPFields()
        fields[.contentType] = type
        let answer = try await fixture.send(.post, "/auth/token", fields, body: Array("{}".utf8))
        #expect(answer.status == 400)
        #expect(answer.json == ["error": "invalid_client"])
    }

    @Test func onlyPostIsAllowed() async throws {
        let answer = try await fixture.get("/auth/token")
        #expect(answer.status == 405)
        #expect(answer.fields[.allow] == "POST")
    }

    @Test func descriptionsCanBeLeftOut() async throws {
        try await fixture.control(.put, "behaviour", ["describesErrors": false])
        #expect(try await fixture.exchange("garbage").json == ["error": "invalid_grant"])
    }
}
