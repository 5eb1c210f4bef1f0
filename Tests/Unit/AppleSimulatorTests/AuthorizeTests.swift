import AppleSimulator
import HTTP
import HTTPTypes
import Testing

@Suite struct AuthorizeTests {
    @Test func validRequestListsEveryPerson() async throws {
        let answer = try await Fixture().get(Fixture.authorizeQuery())
        #expect(answer.status == 200)
        for person in Person.cast { #expect(answer.text.contains("value=\"\(person.id)\"")) }
        #expect(answer.text.contains("Simulated Apple"))
        #expect(answer.fields[.cacheControl] == "no-store")
    }

    @Test(
        arguments: [
            ("client_id", nil, "invalid_request"), ("client_id", "com.example.stranger", "invalid_client"),
            ("client_id", "TEAM123456.com.example.web", "invalid_client"),
            ("client_id", "com.example.app", "invalid_client"), ("redirect_uri", nil, "invalid_request"),
            ("redirect_uri", Fixture.redirectURI + "/", "invalid_request"),
            ("redirect_uri", Fixture.redirectURI + "#part", "invalid_request"),
            ("redirect_uri", "http://LOCALHOST:8080/apple/callback", "invalid_request"),
            ("response_type", nil, "invalid_request"), ("response_type", "id_token", "unsupported_response_type"),
            ("response_type", "code+id_token", "unsupported_response_type"),
            ("response_type", "token", "unsupported_response_type"), ("response_mode", "post", "invalid_request"),
            ("response_mode", "query", "invalid_request"), ("response_mode", "fragment", "invalid_request"),
            ("response_mode", nil, "invalid_request"), ("scope", "name profile", "invalid_scope"),
            ("scope", "name+email", "invalid_scope"), ("code_challenge_method", "S256", "invalid_request"),
        ] as [(String, String?, String)])
    func invalidRequestShowsAnErrorPage(_ name: String, _ value: String?, _ code: String) async throws {
        let answer = try await Fixture().get(Fixture.authorizeQuery([(name, value)]))
        #expect(answer.status == 400)
        #expect(answer.text.contains("<code>\(code)</code>"))
        #expect(answer.fields[.location] == nil)
    }

    @Test func plusInTheQueryStaysAPlus() async throws {
        let target = Fixture.authorizeQuery([("scope", nil)]) + "&scope=name+email"
        #expect(try await Fixture().get(target).text.contains("<code>invalid_scope</code>"))
    }

    @Test func parameterTwiceIsRefused() async throws {
        let target = Fixture.authorizeQuery() + "&state=another"
        #expect(try await Fixture().get(target).status == 400)
    }

    @Test func queryModeIsRefusedWithIdentityTokenEvenWithoutScopes() async throws {
        let fixture = Fixture()
        let query = Fixture.authorizeQuery([("scope", nil), ("response_mode", "query")])
        #expect(try await fixture.get(query).status == 400)
        let fragment = Fixture.authorizeQuery([("scope", nil), ("response_mode", "fragment")])
        #expect(try await fixture.get(fragment).status == 200)
    }

    @Test func valuesAreEscapedInPages() async throws {
        let answer = try await Fixture().get(Fixture.authorizeQuery([("client_id", "<script>alert(1)</script>")]))
        #expect(!answer.text.contains("<script>alert"))
    }
}
