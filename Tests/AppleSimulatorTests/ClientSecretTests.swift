import AppleSimulator
import HTTPTypes
import Testing

@Suite struct ClientSecretTests {
    @Test(arguments: ["good", "longest", "slightlyAhead"])
    func soundSecretIsAccepted(_ name: String) async throws {
        let fixture = try Fixture()
        let code = try await fixture.signIn()["code"]?.string ?? ""
        #expect(try await fixture.exchange(code, secret: name).status == 200)
    }

    @Test(arguments: [
        ("tooLong", "15777001"), ("tooFarAhead", "61 s in the future"), ("expired", "expired 0 s ago"),
        ("noExp", "exp is missing"), ("noIat", "iat is missing"), ("wrongIss", "iss"), ("wrongSub", "sub"),
        ("wrongAud", "aud"), ("noAud", "aud"), ("wrongKey", "does not fit"), ("wrongKid", "NOSUCHKEY1"),
        ("noKid", "kid (none)"), ("algNone", "alg"), ("algHS256", "alg"), ("derSignature", "R‖S"),
        ("twoParts", "compact"), ("noJWT", "compact"), ("native", "sub"), ("recipient", "KEY7654321"),
    ])
    func unsoundSecretIsRefusedAndTheJournalSaysWhy(_ name: String, _ reason: String) async throws {
        let fixture = try Fixture()
        let code = try await fixture.signIn()["code"]?.string ?? ""
        let answer = try await fixture.exchange(code, secret: name)
        #expect(answer.status == 400)
        #expect(answer.json == ["error": "invalid_client"])
        let journal = try await fixture.control(.get, "journal").json.array ?? []
        #expect(journal.last?["text"]?.string?.contains(reason) == true)
    }

    @Test func onlyP256KeysAreTaken() {
        #expect(ClientKey(pem: ClientSecrets.publicKey) != nil)
        #expect(ClientKey(pem: ClientSecrets.p384PublicKey) == nil)
        #expect(ClientKey(pem: "") == nil)
        #expect(ClientKey(pem: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") == nil)
    }
}
