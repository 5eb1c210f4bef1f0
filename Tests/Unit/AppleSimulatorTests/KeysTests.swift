import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct KeysTests {
    private func keys(_ fixture: Fixture) async throws -> [JSON] {
        try await fixture.get("/auth/keys").json["keys"]?.arrayValue ?? []
    }

    private func kids(_ fixture: Fixture) async throws -> [String] {
        try await keys(fixture).compactMap { $0["kid"]?.stringValue }
    }

    private func signingKid(_ fixture: Fixture) async throws -> String? {
        JSON.token(try await fixture.signIn()["id_token"]?.stringValue).header["kid"]?.stringValue
    }

    @Test func setHasApplesShape() async throws {
        let keys = try await keys(Fixture())
        #expect(keys.count == 3)
        for key in keys {
            #expect(key.members.map(\.name).sorted() == ["alg", "e", "kid", "kty", "n", "use"])
            #expect(key["kty"] == "RSA" && key["alg"] == "RS256" && key["use"] == "sig" && key["e"] == "AQAB")
            #expect(key["n"]?.stringValue?.utf8.count == 342)
            #expect(key["kid"]?.stringValue?.utf8.count == 10)
        }
    }

    @Test func rotationSignsWithANewKeyAndKeepsOldOnes() async throws {
        let fixture = try Fixture()
        let before = try await kids(fixture)
        try await fixture.control(.post, "keys/rotate")
        let signing = try #require(try await signingKid(fixture))
        #expect(!before.contains(signing))
        #expect(Set(try await kids(fixture)) == Set(before + [signing]))
        for _ in 0..<3 { try await fixture.control(.post, "keys/rotate") }
        #expect(try await kids(fixture).count == 5)
        try await fixture.control(.post, "keys/rotate", ["dropOld": true])
        #expect(try await kids(fixture) == [try await signingKid(fixture)])
    }

    @Test func modesShowGoodAndBadSets() async throws {
        let fixture = try Fixture()
        let signing = try #require(try await signingKid(fixture))
        func show(_ mode: String) async throws -> [JSON] {
            try await fixture.control(.put, "keys", ["mode": .string(mode)])
            return try await keys(fixture)
        }
        #expect(try await show("empty").isEmpty)
        #expect(try await show("withoutSigningKey").allSatisfy { $0["kid"]?.stringValue != signing })
        let twins = try await show("duplicateKid").filter { $0["kid"]?.stringValue == signing }
        #expect(twins.count == 2 && twins[0]["n"] != twins[1]["n"])
        #expect(Set(try await show("mixedTypes").compactMap { $0["kty"]?.stringValue }) == ["RSA", "EC", "OKP", "AKP"])
        #expect(try await show("otherTypes").allSatisfy { $0["use"] != "sig" || $0["kty"] != "RSA" })
        #expect(try await show("normal").count == 3)
        #expect(try await fixture.control(.put, "keys", ["mode": "odd"]).status == 400)
    }

    @Test func foreignKeyIsPublished() async throws {
        let fixture = try Fixture()
        let foreign: JSON = ["kty": "RSA", "kid": "FOREIGNKEY", "use": "sig", "alg": "RS256", "n": "AQ", "e": "AQAB"]
        try await fixture.control(.put, "keys", ["foreign": [foreign]])
        #expect(try await keys(fixture).contains { $0["kid"] == "FOREIGNKEY" })
    }

    @Test func discoveryNamesOurEndpointsAndApplesIssuer() async throws {
        let json = try await Fixture().get("/.well-known/openid-configuration").json
        #expect(json["issuer"] == "https://appleid.apple.com")
        #expect(json["jwks_uri"] == "http://127.0.0.1:9999/auth/keys")
        #expect(json["response_types_supported"] == ["code"])
        #expect(json.members.count == 12)
    }
}
