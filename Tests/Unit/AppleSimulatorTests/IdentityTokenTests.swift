import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct IdentityTokenTests {
    private let fixture = Fixture()

    private func claims(_ person: String, _ settings: JSON = [:]) async throws -> JSON {
        let fixture = Fixture()
        try await fixture.control(.put, "tokens", settings)
        return try await fixture.claims(person)
    }

    @Test func validTokenLooksLikeApples() async throws {
        let signIn = try await fixture.signIn()
        let (header, claims) = JSON.token(signIn["id_token"]?.stringValue)
        let kid = try await fixture.control(.get, "keys").json["signing"]
        #expect(header == ["kid": kid ?? .null, "alg": "RS256"])
        #expect(claims["iss"] == "https://appleid.apple.com" && claims["aud"] == "com.example.web")
        #expect(claims["iat"]?.integer == ClientSecrets.now)
        #expect(claims["exp"]?.integer == ClientSecrets.now + 86_400)
        #expect(claims["nonce"] == "the-nonce" && claims["nonce_supported"] == true)
        #expect(claims["sub"]?.stringValue?.wholeMatch(of: /\d{6}\.[0-9a-f]{32}\.\d{4}/) != nil)
        #expect(claims["name"] == nil)
    }

    @Test func everyPersonHasTheirOwnCase() async throws {
        let ada = try await claims("ada")
        #expect(ada["email"] == "ada@example.com" && ada["email_verified"] == true)
        #expect(ada["is_private_email"] == nil)
        let boris = try await claims("boris")
        #expect(boris["email"]?.stringValue?.hasSuffix("@privaterelay.appleid.com") == true)
        #expect(boris["is_private_email"] == true)
        let dana = try await claims("dana")
        #expect(dana["email"] == nil && dana["email_verified"] == nil)
        let erin = try await claims("erin")
        #expect(erin["email_verified"] == false && erin["org_id"]?.stringValue?.isEmpty == false)
    }

    @Test func flagsComeInBothForms() async throws {
        let strings = try await claims("boris", ["flags": "string"])
        #expect(strings["email_verified"] == "true" && strings["is_private_email"] == "true")
        #expect(try await claims("ada", ["isPrivateEmail": "always"])["is_private_email"] == false)
        #expect(try await claims("boris", ["isPrivateEmail": "never"])["is_private_email"] == nil)
        #expect(try await claims("ada", ["email": "absent"])["email"] == nil)
        #expect(try await claims("ada", ["email": "empty"])["email"] == "")
    }

    @Test func subjectAndRelayBelongToTheTeam() async throws {
        let ours = try await fixture.claims("boris")
        let theirs = try await fixture.claims("boris", [("client_id", "com.example.recipient")])
        #expect(ours["sub"] != theirs["sub"] && ours["email"] != theirs["email"])
        let app = try await fixture.claims("boris", [("client_id", "com.example.app")])
        #expect(app["sub"] == ours["sub"])
    }

    @Test(arguments: [
        ("iss", "iss"), ("aud", "aud"), ("sub", "sub"), ("exp", "exp"), ("iat", "iat"), ("nonce", "nonce"),
        ("noNonce", "nonce"), ("cHash", "c_hash"), ("noCHash", "c_hash"),
    ])
    func oneClaimCanBeWrong(_ flaw: String, _ claim: String) async throws {
        let sound = try await claims("ada")
        let flawed = try await claims("ada", ["wrong": [.string(flaw)]])
        let names = sound.members.map(\.name)
        #expect(names.filter { sound[$0] != flawed[$0] } == [claim])
    }

    @Test(arguments: [("kid", "kid"), ("noKid", "kid"), ("algNone", "alg")])
    func headerCanBeWrong(_ flaw: String, _ member: String) async throws {
        let sound = JSON.token(try await fixture.signIn()["id_token"]?.stringValue).header
        try await fixture.control(.put, "tokens", ["wrong": [.string(flaw)]])
        let flawed = JSON.token(try await fixture.signIn()["id_token"]?.stringValue).header
        #expect(sound[member] != flawed[member])
    }

    @Test func channelAndCountLimitAFlaw() async throws {
        try await fixture.control(.put, "tokens", ["on": "token", "wrong": ["atHash", "aud"], "remaining": 1])
        func tokens() async throws -> (front: JSON, back: JSON) {
            let signIn = try await fixture.signIn()
            let back = try await fixture.exchange(signIn["code"]?.stringValue ?? "").json
            return (
                JSON.token(signIn["id_token"]?.stringValue).claims, JSON.token(back["id_token"]?.stringValue).claims
            )
        }
        let first = try await tokens()
        #expect(first.front["aud"] == "com.example.web")
        #expect(first.back["aud"] != "com.example.web")
        let second = try await tokens()
        #expect(second.back["aud"] == "com.example.web")
    }

    @Test func claimsAndHeaderCanBeReplacedOrRemoved() async throws {
        try await fixture.control(
            .put, "tokens", ["claims": ["sub": .null, "azp": "x"], "header": ["typ": "JWT", "crit": ["b64"]]])
        let (header, claims) = JSON.token(try await fixture.signIn()["id_token"]?.stringValue)
        #expect(claims["sub"] == nil && claims["azp"] == "x")
        #expect(header["typ"] == "JWT" && header["crit"] == ["b64"])
        try await fixture.control(.delete, "tokens")
        #expect(try await fixture.claims()["sub"] != nil)
    }

    @Test func realUserStatusIsForTheFirstNativeSignInOnly() async throws {
        let native: [(String, JSON)] = [("client_id", "com.example.app")]
        #expect(try await fixture.claims("ada", native)["real_user_status"] == 2)
        #expect(try await fixture.claims("ada", native)["real_user_status"] == nil)
        #expect(try await fixture.claims("boris")["real_user_status"] == nil)
    }

    @Test func clockOffsetMovesTheTokens() async throws {
        try await fixture.control(.put, "clock", ["offset": -3600])
        let claims = try await fixture.claims()
        #expect(claims["iat"]?.integer == ClientSecrets.now - 3600)
    }
}
