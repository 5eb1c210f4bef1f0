import AppleID
import Coding
import IndependentSigning
import Testing

@testable import Accounts

/// The identity token delivered beside the code.
struct IdentityTokenTests {
    private let apple: Apple

    init() throws { apple = try Apple() }

    private func verify(_ token: String, apple: Apple) async throws -> IdentityClaims {
        try await apple.provider.verify(
            identityToken: token, authorizationCode: "c0de", nonce: "n0nce", clientIDs: [ClientID(Apple.servicesID)])
    }

    private func refusal(of claims: Claims) async throws -> Failure? {
        let apple = try Apple()
        let token = try apple.signer.token(claims)
        return await #expect(throws: Failure.self) { try await verify(token, apple: apple) }
    }

    @Test func acceptsTokensOfAnIndependentSigner() async throws {
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
        _ = try await verify(try apple.signer.token(claims), apple: apple)
    }

    /// A Work & School account. An id that could not be told from another in a list of groups is ignored.
    @Test(
        arguments: [
            ("org.example.school", "org.example.school"), (.string(String(repeating: "a", count: 252)), nil),
            ("a,b", nil), ("", nil), ("a\nb", nil), (1, nil), (.null, nil), (nil, nil),
        ] as [(JSONValue?, String?)])
    func organization(claim: JSONValue?, id: String?) async throws {
        let token = try apple.signer.token(Claims.identity().setting("org_id", claim))
        #expect(try await verify(token, apple: apple).organizationID == id)
    }

    /// The failure names the claim; every way of being wrong is tried by EndToEndTests (`IdentityTokenValidation`), but null,
    /// which that signer takes for missing.
    @Test(
        arguments: [
            ("iss", "https://account.apple.com"), ("aud", "com.example.other"), ("aud", .null), ("azp", .null),
            ("exp", nil), ("exp", .null), ("iat", -1), ("iat", .null), ("nbf", .null), ("sub", ""), ("sub", .null),
            ("nonce", "n0ncE"), ("c_hash", .string(Claims.halfHash("c0de") + "=")), ("events", .null),
        ] as [(String, JSONValue?)])
    func refuses(name: String, value: JSONValue?) async throws {
        let failure = try await refusal(of: Claims.identity().setting(name, value))
        #expect(failure?.code == .identityToken && failure?.detail?.hasPrefix(name) == true)
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
        #expect(failure?.code == .clock && failure?.detail?.hasPrefix(name) == true)
    }

    @Test func blamesTheClockForNbf() async throws {
        let failure = try await refusal(of: Claims.identity().setting("nbf", .integer(TestClock.start.seconds + 61)))
        #expect(failure?.code.rawValue == "clock")
    }

    @Test func anEmptyExpectationMatchesNothing() async throws {
        let token = try apple.signer.token(Claims.identity(nonce: ""))
        await #expect(throws: Failure(.identityToken, "nonce is wrong")) {
            try await apple.provider.verify(
                identityToken: token, authorizationCode: "c0de", nonce: "", clientIDs: [ClientID(Apple.servicesID)])
        }
    }

    @Test func appsTokenIsValidOnlyForTheApp() async throws {
        let token = try apple.signer.token(Claims.identity().setting("aud", .string(Apple.bundleID)))
        let claims = try await apple.provider.verify(
            identityToken: token, authorizationCode: "c0de", nonce: "n0nce", clientIDs: [ClientID(Apple.bundleID)])
        #expect(claims.clientID == ClientID(Apple.bundleID))
    }

    @Test func ignoresKeysInTheHeader() async throws {
        let key = try apple.signer.keySet([IndependentSigner.strangersKey])
        let header =
            #"{"kid":"T8tIJ1zSrO","alg":"RS256","jku":"https://evil.example/keys","jwk":"#
            + key.dropFirst(#"{"keys": ["#.count).dropLast(2) + "}"
        let token = try apple.signer.sign(
            header: header, payload: Claims.identity().json, key: IndependentSigner.strangersKey)
        await #expect(throws: Failure(.identityToken, "signature is wrong")) {
            try await verify(token, apple: apple)
        }
        // The set once more, since the key might have changed under its kid; nothing that the header names.
        #expect(apple.keyFetches == 2)
    }

    @Test func tokenForAnotherAudienceCausesNoFetch() async throws {
        let token = try apple.signer.token(Claims.identity(nonce: "other"), kid: IndependentSigner.strangersKey)
        _ = await #expect(throws: Failure.self) { try await verify(token, apple: apple) }
        #expect(apple.keyFetches == 0)
    }

    @Test(
        arguments: [
            (0, RealUserStatus.unsupported), (1, .unknown), (2, .likelyReal), (3, nil), ("2", nil), (nil, nil),
        ] as [(JSONValue?, RealUserStatus?)])
    func readsRealUserStatus(value: JSONValue?, status: RealUserStatus?) async throws {
        let token = try apple.signer.token(Claims.identity().setting("real_user_status", value))
        #expect(try await verify(token, apple: apple).realUserStatus == status)
    }

    @Test(
        arguments: [
            ("001234.abc.0001", "001234.abc.0001"), ("", nil), (1, nil), (nil, nil),
        ] as [(JSONValue?, String?)])
    func readsTransferSubject(value: JSONValue?, subject: String?) async throws {
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
