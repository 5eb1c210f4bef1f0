import AppleID
import Coding
import HTTP
import HTTPTypes
import IndependentSigning
import Testing

@testable import Accounts

struct TokenCheckTests {
    private let apple: Apple

    init() throws { apple = try Apple() }

    private func failure(
        clientID: String = Apple.servicesID, subject: String = Apple.subject
    ) async -> TokenFailure? {
        do throws(TokenFailure) {
            try await apple.provider.check(
                RefreshToken("r3fresh"), subject: AppleSubject(subject), clientID: ClientID(clientID))
            return nil
        } catch {
            return error
        }
    }

    /// What Apple answers to a refresh: no refresh token, and an identity token whose nonce is the old sign-in's.
    private func answer(_ claims: Claims? = nil, access: String? = "acc3ss", more: String = "") throws {
        let token = try apple.signer.token(
            claims
                ?? .identity(nonce: "of the sign-in", code: nil).setting("at_hash", .string(Claims.halfHash("acc3ss"))))
        let accessText = access.map { #""access_token":"\#($0)","# } ?? ""
        apple.transport.answer(
            "/auth/token", #"{\#(accessText)"token_type":"Bearer","expires_in":3600,"id_token":"\#(token)"\#(more)}"#)
    }

    @Test("sends exactly what Apple expects, as the client the token belongs to")
    func request() async throws {
        try answer()
        #expect(await failure() == nil)
        let request = try #require(apple.transport.requests(to: "/auth/token").first)
        #expect(request.method == .post)
        #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
        let fields = try FormDecoder.parse(request.body)
        #expect(fields.map(\.name) == ["client_id", "client_secret", "grant_type", "refresh_token"])
        #expect(fields[0].value == Apple.servicesID)
        #expect(fields[2].value == "refresh_token")
        #expect(fields[3].value == "r3fresh")
        #expect(apple.transport.requests(to: "/auth/token").count == 1)
    }

    @Test("an app's token is checked as the app, and its identity token is the app's")
    func asTheApp() async throws {
        try answer(.identity(code: nil).setting("aud", .string(Apple.bundleID)))
        #expect(await failure(clientID: Apple.bundleID) == nil)
        #expect(await failure()?.reason == "identity_token", "a token for the app is none for the site")
    }

    @Test("a check answered with another person's token, or a forged one, does not count as alive")
    func unverified() async throws {
        let good = Claims.identity(code: nil)
        let bad: [(String, Claims)] = [
            ("sub", good.setting("sub", "001234.ffffffffffffffffffffffffffffffff.0123")),
            ("no sub", good.setting("sub", nil)), ("aud", good.setting("aud", "com.example.other")),
            ("iss", good.setting("iss", "https://account.apple.com")),
            ("exp", good.setting("exp", .integer(TestClock.start.seconds - 3_600))),
            ("iat", good.setting("iat", .integer(TestClock.start.seconds + 3_600))),
            ("at_hash", good.setting("at_hash", .string(Claims.halfHash("another")))),
            ("a notification", good.setting("events", "{}")),
        ]
        for (name, claims) in bad {
            try answer(claims)
            #expect(await failure()?.reason == "identity_token", "\(name)")
        }
        let stranger = try apple.signer.token(good, kid: IndependentSigner.strangersKey)
        apple.transport.answer("/auth/token", #"{"id_token":"\#(stranger)"}"#)
        // Unknown for now or for good, as the key set was fetched lately or not: no sign of life, and no end.
        switch await failure() {
        case .unverified, .unavailable: break
        case let other: Issue.record("\(String(describing: other))")
        }
        for body in ["{}", #"{"id_token":""}"#, #"{"id_token":7}"#, #"{"id_token":"a.b.c"}"#] {
            apple.transport.answer("/auth/token", body)
            #expect(await failure()?.reason == "identity_token", "\(body)")
        }
        // Canonically equivalent is not the same.
        try answer(good.setting("sub", "caf\u{E9}"))
        #expect(await failure(subject: "cafe\u{301}") != nil)
    }

    @Test("unavailable keys say nothing about the person")
    func withoutKeys() async throws {
        try answer()
        apple.transport.answer("/auth/keys", status: 503, type: "text/html", "<html>")
        guard case .unavailable(_, mayHaveActed: true, _, _) = await failure() else {
            Issue.record("taken without a key")
            return
        }
    }

    enum Word { case dead, mismatch, refused, unavailable }

    @Test(
        "each of Apple's refusals has its meaning",
        arguments: [
            (400, "invalid_grant", nil, .dead),
            (400, "invalid_grant", "The token has expired or has been revoked.", .dead),
            (400, "invalid_request", nil, .dead),
            (400, "invalid_grant", "client_id mismatch. The code was not issued to com.example.web.", .mismatch),
            (400, "invalid_grant", "redirect_uri mismatch. The code was not issued to https://x.", .mismatch),
            (400, "invalid_request", "Client_ID Mismatch", .mismatch),
            (400, "invalid_client", nil, .refused), (401, "invalid_client", "no", .refused),
            (400, "unauthorized_client", nil, .refused), (400, "unsupported_grant_type", nil, .refused),
            (400, "invalid_scope", nil, .refused),
            // Not as RFC 6749 §5.2 has it: nobody is signed out by a gateway that imitates it.
            (401, "invalid_grant", nil, .unavailable), (403, "invalid_request", nil, .unavailable),
            (500, "invalid_grant", nil, .unavailable), (200, "invalid_grant", nil, .unavailable),
            (400, "Invalid_Grant", nil, .unavailable), (400, "invalid_grant ", nil, .unavailable),
            (400, "slow_down", nil, .unavailable), (400, "", nil, .unavailable),
        ] as [(Int, String, String?, Word)])
    func refusals(status: Int, error: String, description: String?, word: Word) async {
        let more = description.map { #","error_description":"\#($0)""# } ?? ""
        apple.transport.answer("/auth/token", status: status, #"{"error":"\#(error)"\#(more)}"#)
        switch (await failure(), word) {
        case (.dead(let text), .dead): #expect(text.hasPrefix(error))
        case (.mismatch, .mismatch), (.clientRefused, .refused), (.unavailable, .unavailable): break
        // A 200 without an identity token does not identify the person either.
        case (.unverified, .unavailable): #expect(status == 200)
        case (let other, _): Issue.record("\(String(describing: other))")
        }
    }

    @Test(
        "an unreadable answer changes nothing, and counts as a check only when Apple may have made it",
        arguments: [
            (429, true, false), (500, false, false), (503, false, false), (502, false, false), (504, false, true),
            (404, false, true), (301, false, true), (204, false, true), (418, false, true),
        ])
    func statuses(status: Int, isThrottled: Bool, mayHaveActed: Bool) async {
        apple.transport.answer("/auth/token", status: status, type: "text/html", "<html>invalid_grant</html>")
        let expected = TokenFailure.unavailable(
            "token endpoint: status \(status)", mayHaveActed: mayHaveActed, isThrottled: isThrottled)
        #expect(await failure() == expected)
    }

    @Test("an HTML page with status 200 or 400, broken and empty content")
    func notJSON() async {
        for (status, type, body) in [
            (200, "text/html", "<html>"), (400, "text/html", #"{"error":"invalid_grant"}"#),
            (400, "application/json", ""),
            (200, "application/json", "{"), (400, "application/json", #"[{"error":"invalid_grant"}]"#),
            (400, "application/json", #"{"error":"invalid_grant","error":"x"}"#),
        ] {
            apple.transport.answer("/auth/token", status: status, type: type, body)
            guard case .unavailable(_, mayHaveActed: true, _, _) = await failure() else {
                Issue.record("\(status) \(body)")
                continue
            }
        }
    }

    @Test("Retry-After is passed on, only with 429 and 503", arguments: [429, 503, 500])
    func retryAfter(status: Int) async {
        // A date and more seconds than fit are read too (RFC 9110 §10.2.3); a sign makes it no number.
        let soon = HTTPDate.format(TestClock.start.seconds + 60)
        for (text, expected) in [
            ("120", 120_000), ("", nil), ("-1", nil), ("+5", nil), ("99999999999", 1_000_000_000_000), (soon, 60_000),
        ] as [(String, Int64?)] {
            var response = ClientResponse(status: .init(code: status))
            response.fields[.retryAfter] = text
            apple.transport.answer("/auth/token", with: .success(response))
            guard case .unavailable(_, _, _, let found) = await failure() else {
                Issue.record("\(status)")
                continue
            }
            #expect(found == (status == 500 ? nil : expected))
        }
    }

    @Test("a request that never left may be repeated; one that may have arrived may not")
    func transport() async {
        let errors: [(HTTPClientError, Bool)] = [
            (.unknownHost("x"), false), (.connect("refused"), false), (.tls("expired"), false), (.timeout, true),
            (.closed, true), (.malformed("x"), true), (.tooLarge, true), (.proxy(.timeout), false),
        ]
        for (error, expected) in errors {
            apple.transport.answer("/auth/token", with: .failure(error))
            guard case .unavailable(_, let mayHaveActed, false, nil) = await failure() else {
                Issue.record("\(error)")
                continue
            }
            #expect(mayHaveActed == expected, "\(error)")
        }
    }
}
