import AppleID
import Coding
import HTTP
import HTTPTypes
import IndependentSigning
import Testing

@testable import Accounts

struct TokenExchangeTests {
    private let apple: Apple
    private let front: IdentityClaims

    init() throws {
        apple = try Apple()
        front = Self.front()
    }

    private static func front(clientID: String = Apple.servicesID) -> IdentityClaims {
        IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: ClientID(clientID), subject: AppleSubject(Apple.subject),
            issuedAt: TestClock.start.wholeSeconds)
    }

    private func exchange(_ claims: IdentityClaims? = nil) async throws -> VerifiedIdentity {
        try await apple.provider.exchange(authorizationCode: "c0de", nonce: "n0nce", claims: claims ?? front)
    }

    /// What Apple answers to a good code.
    private func answer(
        _ claims: Claims = Claims.identity(code: nil), changing name: String? = nil, to value: JSONValue? = nil
    ) throws {
        var body: JSONObject = [
            "access_token": "acc3ss", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r3fresh",
            "id_token": .string(try apple.signer.token(claims)),
        ]
        if let name { body[name] = value }
        apple.transport.answer("/auth/token", String(decoding: JSONWriter.encode(body), as: UTF8.self))
    }

    private func sentForm() throws -> [String: String] {
        let request = try #require(apple.transport.requests(to: "/auth/token").first)
        let fields = try FormDecoder.parse(request.body)
        #expect(Set(fields.map(\.name)).count == fields.count)
        return Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    }

    @Test func givesThePersonAndTheRefreshToken() async throws {
        try answer(Claims.identity(code: nil).setting("at_hash", .string(Claims.halfHash("acc3ss"))))
        let identity = try await exchange()
        #expect(identity.refreshToken?.value == "r3fresh")
        #expect(identity.claims.subject == AppleSubject(Apple.subject))
        #expect(identity.claims.email?.address == "ada@example.com")
    }

    @Test func sendsExactlyWhatAppleExpects() async throws {
        try answer()
        _ = try await exchange()
        let requests = apple.transport.requests(to: "/auth/token")
        #expect(requests.count == 1)
        let request = try #require(requests.first)
        #expect(request.method == .post)
        #expect(request.url == ClientURL(isSecure: true, host: "appleid.apple.com", port: 443, target: "/auth/token"))
        #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.fields[.userAgent] == AppleConfiguration.defaultUserAgent)
        #expect(request.timeout == 10_000)
        #expect(request.maximumBodySize == 1_048_576)
        let form = try sentForm()
        #expect(Set(form.keys) == ["client_id", "client_secret", "code", "grant_type", "redirect_uri"])
        #expect(form["client_id"] == Apple.servicesID)
        #expect(form["code"] == "c0de")
        #expect(form["grant_type"] == "authorization_code")
        #expect(form["redirect_uri"] == Apple.redirectURI)
        _ = try apple.signer.verifyClientSecret(form["client_secret"] ?? "", key: Apple.clientSecretKey)
    }

    @Test func anAppSendsNoRedirectURI() async throws {
        try answer(Claims.identity(code: nil).setting("aud", .string(Apple.bundleID)))
        _ = try await exchange(Self.front(clientID: Apple.bundleID))
        let form = try sentForm()
        #expect(form["redirect_uri"] == nil)
        #expect(form["client_id"] == Apple.bundleID)
    }

    @Test func takesAResponseWithoutRefreshToken() async throws {
        try answer(changing: "refresh_token")
        #expect(try await exchange().refreshToken == nil)
    }

    @Test func refusesAnAtHashWithoutAnAccessToken() async throws {
        try answer(
            Claims.identity(code: nil).setting("at_hash", .string(Claims.halfHash(""))), changing: "access_token")
        let error = await #expect(throws: Failure.self) { try await exchange() }
        #expect(error?.code.rawValue == "identity_token")
    }

    @Test func keepsTheEarlierIssueTimeAndFrontChannelClaims() async throws {
        try answer(
            Claims.identity(code: nil).setting("iat", .integer(TestClock.start.seconds + 5)).setting("email", nil))
        var claims = front
        claims.realUserStatus = .likelyReal
        claims.email = EmailAddress(address: "front@example.com", isVerified: true, isPrivate: false)
        let identity = try await exchange(claims)
        #expect(identity.claims.issuedAt == front.issuedAt)
        #expect(identity.claims.realUserStatus == .likelyReal)
        #expect(identity.claims.email?.address == "front@example.com")
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant","error_description":"The code has already been used."}"#, "code_refused"),
        (400, #"{"error":"invalid_grant"}"#, "code_refused"),
        (400, #"{"error":"invalid_client"}"#, "client_refused"),
        (401, #"{"error":"invalid_client"}"#, "client_refused"),
        (400, #"{"error":"unauthorized_client"}"#, "client_refused"),
        (400, #"{"error":"invalid_request"}"#, "client_refused"),
        (400, #"{"error":"something_new"}"#, "provider_unavailable"),
        (400, "{}", "provider_unavailable"),
        (400, "<html>", "provider_unavailable"),
        (403, "<html>", "provider_unavailable"),
        (429, #"{"error":"invalid_grant"}"#, "provider_unavailable"),
        (500, #"{"error":"invalid_grant"}"#, "provider_unavailable"),
        (503, "", "provider_unavailable"),
        (302, "", "provider_unavailable"),
        (200, "<html></html>", "provider_unavailable"),
        (200, "", "provider_unavailable"),
        (200, "{}", "provider_unavailable"),
        (200, #"{"id_token":1}"#, "provider_unavailable"),
        (200, #"{"id_token":"a","id_token":"b"}"#, "provider_unavailable"),
        (200, #"{"id_token":"a.b.c"}"#, "identity_token"),
    ])
    func mapsAnAnswer(status: Int, body: String, reason: String) async throws {
        apple.transport.answer("/auth/token", status: status, body)
        let error = await #expect(throws: Failure.self) { try await exchange() }
        #expect(error?.code.rawValue == reason)
        #expect(apple.transport.requests(to: "/auth/token").count == 1, "a code is sent once")
    }

    @Test func contentDeclaredAsHTMLIsNotParsed() async throws {
        try answer()
        let good = #"{"id_token":"x"}"#
        apple.transport.answer("/auth/token", type: "text/html; charset=utf-8", good)
        let error = await #expect(throws: Failure.self) { try await exchange() }
        #expect(error?.code.rawValue == "provider_unavailable")
    }

    @Test func boundsAndCleansApplesTexts() async throws {
        let text = #"The code\u0000 \u001b[31m"# + String(repeating: "x", count: 5000)
        apple.transport.answer(
            "/auth/token", status: 400, #"{"error":"invalid_grant","error_description":"\#(text)"}"#)
        let error = await #expect(throws: Failure.self) { try await exchange() }
        let detail = try #require(error?.detail)
        #expect(detail.hasPrefix("invalid_grant: The code [31mxxx"))
        #expect(detail.utf8.count == 200)
    }

    @Test func renewsOldKeysBesideTheExchange() async throws {
        try answer()
        _ = try await exchange()
        #expect(apple.keyFetches == 1)
        _ = try await exchange()
        #expect(apple.keyFetches == 1)
        apple.clock.advance(seconds: 3600)
        _ = try await exchange()
        #expect(apple.keyFetches == 2)
    }

    @Test func aRefusedCodeDoesNotCutTheRenewalShort() async throws {
        try answer()
        _ = try await exchange()
        apple.clock.advance(seconds: 3600)
        try apple.publish([IndependentSigner.firstKey, IndependentSigner.secondKey])
        apple.transport.answer("/auth/token", status: 400, #"{"error":"invalid_grant"}"#)
        apple.transport.delay("/auth/keys", turns: 10_000)
        _ = await #expect(throws: Failure.self) { try await exchange() }
        #expect(apple.keyFetches == 2)
        _ = try await apple.provider.keys.key(for: IndependentSigner.secondKey)
        #expect(apple.keyFetches == 2)
    }
}
