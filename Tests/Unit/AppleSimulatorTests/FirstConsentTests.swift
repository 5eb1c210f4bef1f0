import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct FirstConsentTests {
    private let fixture = Fixture()

    @Test func userComesOncePerPersonAndTeam() async throws {
        let first = try await fixture.signIn()
        let user = JSON(parsing: Array((first["user"]?.stringValue ?? "").utf8))
        #expect(user == ["name": ["firstName": "Ada", "lastName": "Byron"], "email": "ada@example.com"])
        #expect(try await fixture.signIn()["user"] == nil)
        #expect(try await fixture.signIn("ada", [("client_id", "com.example.app")])["user"] == nil)
        #expect(try await fixture.signIn("chie")["user"] != nil)
        #expect(try await fixture.signIn("ada", [("client_id", "com.example.recipient")])["user"] != nil)
    }

    @Test func userHasOnlyRequestedScopes() async throws {
        func user(_ scope: String, _ person: String = "ada") async throws -> JSON? {
            let answer = try await Fixture().signIn(person, [("scope", .string(scope))])
            return answer["user"]?.stringValue.flatMap { JSON(parsing: Array($0.utf8)) }
        }
        #expect(try await user("email") == ["email": "ada@example.com"])
        #expect(try await user("name")?["email"] == nil)
        #expect(try await user("") == nil)
        #expect(try await user("email", "dana") == nil)
    }

    @Test func revokedConsentMakesTheNextOneFirst() async throws {
        _ = try await fixture.signIn()
        try await fixture.control(.post, "consents/revoke", ["person": "ada"])
        #expect(try await fixture.signIn()["user"] != nil)
    }

    @Test func hiddenAddressStaysHidden() async throws {
        let first = try await fixture.signIn("ada", [("share_email", false), ("given_name", "A.")])
        #expect(first["user"]?.stringValue?.contains("privaterelay.appleid.com") == true)
        #expect(first["user"]?.stringValue?.contains("\"firstName\":\"A.\"") == true)
        let second = try await fixture.signIn("ada", [("share_email", true)])
        #expect(JSON.token(second["id_token"]?.stringValue).claims["is_private_email"] == true)
    }

    @Test func authorizeURLOfTheServerIsAccepted() async throws {
        let url = "http://127.0.0.1:9999" + Fixture.authorizeQuery([("state", "a b+c/ü")])
        let answer = try await fixture.control(.post, "authorize", ["person": "chie", "authorize_url": .string(url)])
            .json
        #expect(answer["state"] == "a b+c/ü")
        #expect(answer["redirect_uri"]?.stringValue == Fixture.redirectURI)
        let form = Form.decode(answer["form"]?.stringValue ?? "")
        #expect(form["state"] == "a b+c/ü" && form["code"] == answer["code"]?.stringValue)
        #expect(form["user"] == answer["user"]?.stringValue)
    }

    @Test func cancelAndMistakesWithoutABrowser() async throws {
        let cancelled = try await fixture.signIn("ada", [("decision", "cancel")])
        #expect(cancelled["error"] == "user_cancelled_authorize" && cancelled["state"] == "the-state")
        let mistake = try await fixture.control(
            .post, "authorize", ["person": "ada", "redirect_uri": "https://example.com/"])
        #expect(mistake.status == 400)
        #expect(try await fixture.control(.post, "authorize", ["person": "nobody"]).status == 404)
    }
}
