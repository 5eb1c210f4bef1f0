import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct KeysTests {
    private let fixture = Fixture()

    private func keys() async throws -> [JSON] { try await fixture.get("/auth/keys").json["keys"]?.arrayValue ?? [] }

    private func kids() async throws -> [String] { try await keys().compactMap { $0["kid"]?.stringValue } }

    private func signingKid() async throws -> String? {
        JSON.token(try await fixture.signIn()["id_token"]?.stringValue).header["kid"]?.stringValue
    }

    @Test func setHasApplesShape() async throws {
        let keys = try await keys()
        #expect(keys.count == 3)
        for key in keys {
            #expect(key.members.map(\.name).sorted() == ["alg", "e", "kid", "kty", "n", "use"])
            #expect(key["kty"] == "RSA" && key["alg"] == "RS256" && key["use"] == "sig" && key["e"] == "AQAB")
            #expect(key["n"]?.stringValue?.utf8.count == 342)
            #expect(key["kid"]?.stringValue?.utf8.count == 10)
        }
    }

    @Test func rotationSignsWithANewKeyAndKeepsOldOnes() async throws {
        let before = try await kids()
        try await fixture.control(.post, "keys/rotate")
        let signing = try #require(try await signingKid())
        #expect(!before.contains(signing))
        #expect(Set(try await kids()) == Set(before + [signing]))
        for _ in 0..<3 { try await fixture.control(.post, "keys/rotate") }
        #expect(try await kids().count == 5)
        try await fixture.control(.post, "keys/rotate", ["dropOld": true])
        #expect(try await kids() == [try await signingKid()])
    }

    @Test func modesShowGoodAndBadSets() async throws {
        let signing = try #require(try await signingKid())
        func show(_ mode: String) async throws -> [JSON] {
            try await fixture.control(.put, "keys", ["mode": .string(mode)])
            return try await keys()
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
        let foreign: JSON = ["kty": "RSA", "kid": "FOREIGNKEY", "use": "sig", "alg": "RS256", "n": "AQ", "e": "AQAB"]
        try await fixture.control(.put, "keys", ["foreign": [foreign]])
        #expect(try await keys().contains { $0["kid"] == "FOREIGNKEY" })
    }

    @Test func discoveryNamesOurEndpointsAndApplesIssuer() async throws {
        let json = try await Fixture().get("/.well-known/openid-configuration").json
        #expect(json["issuer"] == "https://appleid.apple.com")
        #expect(json["jwks_uri"] == "http://127.0.0.1:9999/auth/keys")
        #expect(json["response_types_supported"] == ["code"])
        #expect(json.members.count == 12)
    }
}
