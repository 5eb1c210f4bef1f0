import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct ClientSecretTests {
    private let fixture = Fixture()

    @Test(arguments: ["good", "longest", "slightlyAhead"])
    func validSecretIsAccepted(_ name: String) async throws {
        let code = try await fixture.code()
        #expect(try await fixture.exchange(code, secret: name).status == 200)
    }

    @Test(arguments: [
        ("tooLong", "15777001"), ("tooFarAhead", "61 s in the future"), ("expired", "expired 0 s ago"),
        ("noExp", "exp is missing"), ("noIat", "iat is missing"), ("wrongIss", "iss"), ("wrongSub", "sub"),
        ("wrongAud", "aud"), ("noAud", "aud"), ("wrongKey", "does not fit"), ("wrongKid", "NOSUCHKEY1"),
        ("noKid", "kid (none)"), ("algNone", "alg"), ("algHS256", "alg"), ("derSignature", "R‖S"),
        ("twoParts", "compact"), ("noJWT", "compact"), ("native", "sub"), ("recipient", "KEY7654321"),
    ])
    func invalidSecretIsRefusedAndTheJournalSaysWhy(_ name: String, _ reason: String) async throws {
        let code = try await fixture.code()
        let answer = try await fixture.exchange(code, secret: name)
        #expect(answer.status == 400)
        #expect(answer.json == ["error": "invalid_client"])
        let journal = try await fixture.control(.get, "journal").json.arrayValue ?? []
        #expect(journal.last?["text"]?.stringValue?.contains(reason) == true)
    }

    @Test func aRevokedKeyIsUnknown() async throws {
        let code = try await fixture.code()
        let answer = try await fixture.control(.delete, "client-keys/KEY1234567")
        #expect(answer.json == ["id": "TEAM123456", "keyIDs": []])
        #expect(try await fixture.exchange(code).json == ["error": "invalid_client"])
        #expect(try await fixture.control(.delete, "client-keys/KEY1234567").status == 404)
        // The client was refused before the code was used.
        try await fixture.control(
            .post, "clients",
            [
                "id": "com.example.web", "team": "TEAM123456", "redirectURIs": [.string(Fixture.redirectURI)],
                "keyID": "KEY1234567", "key": .string(ClientSecrets.publicKey),
            ])
        #expect(try await fixture.exchange(code).status == 200)
    }

    /// Apple calls itself something else: its tokens say so, and client secrets for the old name stay good.
    @Test func anotherIssuerIsInTokensButNotRequiredOfSecrets() async throws {
        try await fixture.control(.put, "behaviour", ["issuer": "https://account.apple.com"])
        let answer = try await fixture.signIn()
        #expect(JSON.token(answer["id_token"]?.stringValue).claims["iss"]?.stringValue == "https://account.apple.com")
        let exchanged = try await fixture.exchange(answer["code"]?.stringValue ?? "")
        #expect(exchanged.status == 200)
        #expect(
            JSON.token(exchanged.json["id_token"]?.stringValue).claims["iss"]?.stringValue
                == "https://account.apple.com")
        #expect(try await fixture.control(.put, "behaviour", ["issuer": 1]).status == 400)
        try await fixture.control(.put, "behaviour", ["issuer": .null])
        #expect(try await fixture.control(.get, "state").json["issuer"]?.stringValue == "https://appleid.apple.com")
    }

    @Test func onlyP256KeysAreAccepted() {
        #expect(ClientKey(pem: ClientSecrets.publicKey) != nil)
        #expect(ClientKey(pem: ClientSecrets.p384PublicKey) == nil)
        #expect(ClientKey(pem: "") == nil)
        #expect(ClientKey(pem: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") == nil)
    }
}
