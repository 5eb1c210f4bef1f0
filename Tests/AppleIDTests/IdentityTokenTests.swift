import AppleID
import Coding
import Testing

@testable import Accounts

/// The identity token delivered beside the code.
struct IdentityTokenTests {
    private func verify(_ token: String, apple: Apple) async throws -> IdentityClaims {
        try await apple.provider.verify(
            identityToken: token, authorizationCode: "c0de", nonce: "n0nce", clientID: ClientID(Apple.servicesID))
    }

    private func refusal(of claims: Claims) async throws -> SignInFailure? {
        let apple = try Apple()
        let token = try apple.signer.token(claims)
        return await #expect(throws: SignInFailure.self) { try await verify(token, apple: apple) }
    }

    @Test func acceptsWhatAnIndependentSignerMade() async throws {
        let apple = try Apple()
        let token = try apple.signer.jwt(claims: Claims.identity().json, kid: IndependentSigner.firstKey)
        let claims = try await verify(token, apple: apple)
        #expect(
            claims
                == IdentityClaims(
                    issuer: "https://appleid.apple.com", clientID: ClientID(Apple.servicesID),
                    subject: AppleSubject(Apple.subject), issuedAt: TestClock.start.wholeSeconds,
                    email: EmailAddress(address: "ada@example.com", isVerified: true, isPrivate: false)))
    }

    /// What may change without a refusal.
    @Test(arguments: [
        ("aud as an array of us alone", Claims.identity().setting("aud", [.string(Apple.servicesID)])),
        ("azp is us", Claims.identity().setting("azp", .string(Apple.servicesID))),
        ("no email", Claims.identity().setting("email", nil)),
        ("nonce_supported absent", Claims.identity().setting("nonce_supported", nil)),
        ("nbf now", Claims.identity().setting("nbf", .integer(TestClock.start.seconds))),
        ("fractional iat", Claims.identity().setting("iat", json("1767323044.5"))),
        (
            "exp within the skew",
            Claims.identity().setting("iat", .integer(TestClock.start.seconds - 600))
                .setting("exp", .integer(TestClock.start.seconds - 59))
        ),
        ("iat at the skew", Claims.identity().setting("iat", .integer(TestClock.start.seconds + 60))),
        ("unknown claim", Claims.identity().setting("org_id", "x")),
    ])
    func accepts(name: String, claims: Claims) async throws {
        let apple = try Apple()
        _ = try await verify(try apple.signer.token(claims), apple: apple)
    }

    /// One claim at a time missing, wrong or mistyped.
    @Test(
        arguments: [
            ("iss", nil), ("iss", "https://account.apple.com"), ("iss", "https://appleid.apple.com/"), ("iss", 1),
            ("iss", ["https://appleid.apple.com"]), ("iss", ""),
            ("aud", nil), ("aud", "com.example.other"), ("aud", ""), ("aud", 1), ("aud", []), ("aud", .null),
            ("aud", .string(Apple.bundleID)), ("aud", ["com.example.web", "com.example.other"]),
            ("aud", ["com.example.web", 1]), ("aud", ["com.example.other"]), ("aud", "COM.EXAMPLE.WEB"),
            ("azp", "com.example.other"), ("azp", 1), ("azp", .null),
            ("exp", nil), ("exp", "1999999999"), ("exp", -1), ("exp", json("1e999")), ("exp", true), ("exp", .null),
            ("exp", json("9007199254740993")), ("exp", json("99999999999999999999")),
            ("iat", nil), ("iat", "1"), ("iat", -1), ("iat", json("1e999")), ("iat", .null), ("iat", []),
            ("nbf", "x"), ("nbf", .null),
            ("sub", nil), ("sub", ""), ("sub", 1), ("sub", .null), ("sub", "a\u{0}b"), ("sub", "é"),
            ("sub", .string(String(repeating: "a", count: 256))),
            ("nonce", nil), ("nonce", ""), ("nonce", "n0ncE"), ("nonce", "n0nce "), ("nonce", 1), ("nonce", ["n0nce"]),
            ("c_hash", nil), ("c_hash", ""), ("c_hash", .string(Claims.halfHash("other"))), ("c_hash", 1),
            ("c_hash", .string(Claims.halfHash("c0de") + "=")),
            ("events", "{}"), ("events", [:]), ("events", .null),
        ] as [(String, JSONValue?)])
    func refuses(name: String, value: JSONValue?) async throws {
        let failure = try await refusal(of: Claims.identity().setting(name, value))
        guard case .identityToken(let check) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(check.hasPrefix(name))
    }

    /// The clocks disagree: said apart from a forged token.
    @Test(
        arguments: [
            ("exp", -60, -600), ("iat", 86_400, 61), ("exp", -3600, -7200),
        ] as [(String, Int64, Int64)])
    func blamesTheClock(name: String, expiry: Int64, issued: Int64) async throws {
        let claims = Claims.identity().setting("exp", .integer(TestClock.start.seconds + expiry))
            .setting("iat", .integer(TestClock.start.seconds + issued))
        let failure = try await refusal(of: claims)
        guard case .clock(let check) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(check.hasPrefix(name))
    }

    @Test func blamesTheClockForNbf() async throws {
        let failure = try await refusal(of: Claims.identity().setting("nbf", .integer(TestClock.start.seconds + 61)))
        #expect(failure?.reason == "clock")
    }

    @Test func nonceUnsupportedWaivesNothing() async throws {
        let claims = Claims.identity().setting("nonce_supported", false).setting("nonce", nil)
        #expect(try await refusal(of: claims) == .identityToken("nonce is missing"))
    }

    @Test func anEmptyExpectationMatchesNothing() async throws {
        let apple = try Apple()
        let token = try apple.signer.token(Claims.identity(nonce: ""))
        await #expect(throws: SignInFailure.identityToken("nonce is wrong")) {
            try await apple.provider.verify(
                identityToken: token, authorizationCode: "c0de", nonce: "", clientID: ClientID(Apple.servicesID))
        }
    }

    @Test func anAppsTokenIsForTheAppAlone() async throws {
        let apple = try Apple()
        let token = try apple.signer.token(Claims.identity().setting("aud", .string(Apple.bundleID)))
        let claims = try await apple.provider.verify(
            identityToken: token, authorizationCode: "c0de", nonce: "n0nce", clientID: ClientID(Apple.bundleID))
        #expect(claims.clientID == ClientID(Apple.bundleID))
    }

    @Test(arguments: [
        #"{"kid":"T8tIJ1zSrO"}"#, #"{"kid":"T8tIJ1zSrO","alg":"none"}"#, #"{"kid":"T8tIJ1zSrO","alg":"nOnE"}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"HS256"}"#, #"{"kid":"T8tIJ1zSrO","alg":"ES256"}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"PS256"}"#, #"{"kid":"T8tIJ1zSrO","alg":"RS512"}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"rs256"}"#, #"{"kid":"T8tIJ1zSrO","alg":["RS256"]}"#,
        #"{"alg":"RS256"}"#, #"{"kid":"","alg":"RS256"}"#, #"{"kid":1,"alg":"RS256"}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"RS256","crit":["exp"],"exp":1}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"RS256","b64":false,"crit":["b64"]}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"RS256","typ":"secevent+jwt"}"#,
        #"{"kid":"T8tIJ1zSrO","alg":"RS256","alg":"RS256"}"#, #"{"kid":"other","kid":"T8tIJ1zSrO","alg":"RS256"}"#,
        "[]", "{", "",
    ])
    func refusesTheHeader(header: String) async throws {
        let apple = try Apple()
        let token = try apple.signer.sign(
            header: header, payload: Claims.identity().json, key: IndependentSigner.firstKey)
        let error = await #expect(throws: SignInFailure.self) { try await verify(token, apple: apple) }
        #expect(error?.reason == "identity_token")
        #expect(apple.keyFetches == 0, "refused before any key was looked for")
    }

    @Test func ignoresKeysBroughtAlong() async throws {
        let apple = try Apple()
        let key = try apple.signer.keySet([IndependentSigner.strangersKey])
        let header =
            #"{"kid":"T8tIJ1zSrO","alg":"RS256","jku":"https://evil.example/keys","jwk":"#
            + key.dropFirst(#"{"keys": ["#.count).dropLast(2) + "}"
        let token = try apple.signer.sign(
            header: header, payload: Claims.identity().json, key: IndependentSigner.strangersKey)
        await #expect(throws: SignInFailure.identityToken("signature is wrong")) {
            try await verify(token, apple: apple)
        }
        // The set once more, since the key might have changed under its kid; nothing that the header names.
        #expect(apple.keyFetches == 2)
    }

    @Test func refusesThePublicKeyAsASecret() async throws {
        let apple = try Apple()
        let token = try apple.signer.signWithPublicKeyAsSecret(
            header: #"{"kid":"T8tIJ1zSrO","alg":"HS256"}"#, payload: Claims.identity().json,
            key: IndependentSigner.firstKey)
        await #expect(throws: SignInFailure.identityToken("alg is not RS256")) {
            try await verify(token, apple: apple)
        }
    }

    @Test func refusesAnotherKeysSignature() async throws {
        let apple = try Apple()
        let token = try apple.signer.sign(
            header: #"{"kid":"T8tIJ1zSrO","alg":"RS256"}"#, payload: Claims.identity().json,
            key: IndependentSigner.strangersKey)
        await #expect(throws: SignInFailure.identityToken("signature is wrong")) {
            try await verify(token, apple: apple)
        }
    }

    @Test func refusesAChangedPart() async throws {
        let apple = try Apple()
        let parts = try apple.signer.token(Claims.identity()).split(separator: ".").map(String.init)
        let other = try apple.signer.token(Claims.identity().setting("email", "eve@example.com")).split(separator: ".")
        for token in [
            "\(parts[0]).\(other[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(other[2])", "\(parts[0]).\(parts[1]).",
            "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).\(parts[2]).", "\(parts[0]).\(parts[1]).\(parts[2])=",
            " \(parts[0]).\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(parts[2])\n", ".\(parts[1]).\(parts[2])",
            "", "..", String(repeating: "a", count: 16_385),
        ] {
            let error = await #expect(throws: SignInFailure.self) { try await verify(token, apple: apple) }
            #expect(error?.reason == "identity_token")
        }
    }

    @Test(arguments: [
        "", "null", "[]", "{", #"{"iss":"a","iss":"https://appleid.apple.com"}"#, "\u{FEFF}{}", #"{"a":"\ud800"}"#,
        String(repeating: "[", count: 10_000),
    ])
    func refusesClaimsThatAreNoStrictObject(payload: String) async throws {
        let apple = try Apple()
        let token = try apple.signer.sign(
            header: #"{"kid":"T8tIJ1zSrO","alg":"RS256"}"#, payload: payload, key: IndependentSigner.firstKey)
        let error = await #expect(throws: SignInFailure.self) { try await verify(token, apple: apple) }
        #expect(error?.reason == "identity_token")
    }

    @Test func refusesADuplicateClaimThatSaysTheSame() async throws {
        let apple = try Apple()
        let payload = String(Claims.identity().json.dropLast()) + #","sub":"\#(Apple.subject)"}"#
        let token = try apple.signer.sign(
            header: #"{"kid":"T8tIJ1zSrO","alg":"RS256"}"#, payload: payload, key: IndependentSigner.firstKey)
        let error = await #expect(throws: SignInFailure.self) { try await verify(token, apple: apple) }
        #expect(error?.reason == "identity_token")
    }

    @Test func aTokenForSomebodyElseCostsNoFetch() async throws {
        let apple = try Apple()
        let token = try apple.signer.token(Claims.identity(nonce: "other"), kid: IndependentSigner.strangersKey)
        _ = await #expect(throws: SignInFailure.self) { try await verify(token, apple: apple) }
        #expect(apple.keyFetches == 0)
    }

    @Test(
        arguments: [
            (0, RealUserStatus.unsupported), (1, .unknown), (2, .likelyReal), (3, nil), ("2", nil), (nil, nil),
        ] as [(JSONValue?, RealUserStatus?)])
    func readsRealUserStatus(value: JSONValue?, status: RealUserStatus?) async throws {
        let apple = try Apple()
        let token = try apple.signer.token(Claims.identity().setting("real_user_status", value))
        #expect(try await verify(token, apple: apple).realUserStatus == status)
    }

    @Test(
        arguments: [
            ("001234.abc.0001", "001234.abc.0001"), ("", nil), (1, nil), (nil, nil),
        ] as [(JSONValue?, String?)])
    func readsTransferSubject(value: JSONValue?, subject: String?) async throws {
        let apple = try Apple()
        let token = try apple.signer.token(Claims.identity().setting("transfer_sub", value))
        #expect(try await verify(token, apple: apple).transferSubject == subject)
    }
}

/// A JSON number as it is written.
func json(_ literal: String) -> JSONValue? {
    try? JSONReader.parse(Array(literal.utf8))
}

extension Timestamp {
    /// Without its milliseconds, as `iat` has it.
    var wholeSeconds: Timestamp { Timestamp(seconds: seconds) }
}
