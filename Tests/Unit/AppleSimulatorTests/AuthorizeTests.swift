import AppleSimulator
import HTTP
import HTTPTypes
import Testing

@Suite struct AuthorizeTests {
    @Test func soundRequestShowsEverybodyToChooseFrom() async throws {
        let answer = try await Fixture().get(Fixture.authorizeQuery())
        #expect(answer.status == 200)
        for person in Person.cast { #expect(answer.text.contains("value=\"\(person.id)\"")) }
        #expect(answer.text.contains("Simulated Apple"))
        #expect(answer.fields[.cacheControl] == "no-store")
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        var name: String
        var value: String?
        var code: String
        var testDescription: String { "\(name)=\(value ?? "(absent)") is \(code)" }
    }

    @Test(arguments: [
        Mistake(name: "client_id", value: nil, code: "invalid_request"),
        Mistake(name: "client_id", value: "com.example.stranger", code: "invalid_client"),
        Mistake(name: "client_id", value: "TEAM123456.com.example.web", code: "invalid_client"),
        Mistake(name: "client_id", value: "com.example.app", code: "invalid_client"),
        Mistake(name: "redirect_uri", value: nil, code: "invalid_request"),
        Mistake(name: "redirect_uri", value: Fixture.redirectURI + "/", code: "invalid_request"),
        Mistake(name: "redirect_uri", value: Fixture.redirectURI + "#part", code: "invalid_request"),
        Mistake(name: "redirect_uri", value: "http://LOCALHOST:8080/apple/callback", code: "invalid_request"),
        Mistake(name: "response_type", value: nil, code: "invalid_request"),
        Mistake(name: "response_type", value: "id_token", code: "unsupported_response_type"),
        Mistake(name: "response_type", value: "code+id_token", code: "unsupported_response_type"),
        Mistake(name: "response_type", value: "token", code: "unsupported_response_type"),
        Mistake(name: "response_mode", value: "post", code: "invalid_request"),
        Mistake(name: "response_mode", value: "query", code: "invalid_request"),
        Mistake(name: "response_mode", value: "fragment", code: "invalid_request"),
        Mistake(name: "response_mode", value: nil, code: "invalid_request"),
        Mistake(name: "scope", value: "name profile", code: "invalid_scope"),
        Mistake(name: "scope", value: "name+email", code: "invalid_scope"),
        Mistake(name: "code_challenge_method", value: "S256", code: "invalid_request"),
    ])
    func mistakeIsShownHereAndNotSentBack(_ mistake: Mistake) async throws {
        let answer = try await Fixture().get(Fixture.authorizeQuery([(mistake.name, mistake.value)]))
        #expect(answer.status == 400)
        #expect(answer.text.contains("<code>\(mistake.code)</code>"))
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
        let fixture = try Fixture()
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
