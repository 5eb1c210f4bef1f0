import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct ConsentPageTests {
    private let fixture = Fixture()

    private func page(_ changes: [(String, String?)] = []) async throws -> String {
        try #require(try await fixture.get(Fixture.authorizeQuery(changes)).hidden("page"))
    }

    private func consent(_ page: String, _ more: [(String, String)] = []) async throws -> Answer {
        try await fixture.form(
            "/auth/authorize/consent", [("page", page), ("person", "ada"), ("decision", "continue")] + more)
    }

    @Test func consentPageOffersNameAndAddressOnce() async throws {
        let page = try await page()
        let first = try await fixture.form("/auth/authorize/person", [("page", page), ("person", "ada")])
        #expect(first.text.contains("value=\"Ada\"") && first.text.contains("Hide my e-mail"))
        _ = try await consent(page)
        let second = try await fixture.form("/auth/authorize/person", [("page", page), ("person", "ada")])
        #expect(!second.text.contains("given_name") && !second.text.contains("Hide my e-mail"))
    }

    @Test func workAccountCannotHideItsAddress() async throws {
        let page = try await page()
        let answer = try await fixture.form("/auth/authorize/person", [("page", page), ("person", "erin")])
        #expect(answer.text.contains("erin@school.example") && !answer.text.contains("value=\"hide\""))
    }

    @Test func formPostCarriesEverythingToTheRegisteredAddress() async throws {
        let answer = try await consent(try await page(), [("given_name", "Augusta \"A\" <b>")])
        #expect(answer.text.contains("<form method=\"post\" action=\"\(Fixture.redirectURI)\""))
        #expect(answer.text.contains("<button class=\"primary\">"))
        #expect(answer.hidden("state") == "the-state")
        #expect(try await fixture.exchange(try #require(answer.hidden("code"))).status == 200)
        #expect(JSON.token(answer.hidden("id_token")).claims["nonce"] == "the-nonce")
        let user = try #require(answer.hidden("user")).replacing("&quot;", with: "\"")
        let name = JSON(parsing: Array(user.utf8))?["name"]
        #expect(name == ["firstName": "Augusta \"A\" <b>", "lastName": "Byron"])
        #expect(!answer.text.contains("<b>"))
    }

    @Test func cancelSendsTheOneErrorWithState_AlsoToThePopup() async throws {
        let answer = try await fixture.form(
            "/auth/authorize/consent", [("page", try await page()), ("decision", "cancel")])
        #expect(answer.hidden("error") == "user_cancelled_authorize")
        #expect(answer.hidden("state") == "the-state")
        #expect(answer.hidden("code") == nil && answer.hidden("id_token") == nil)
        let popup = try await fixture.form(
            "/auth/authorize/consent",
            [("page", try await page([("response_mode", "web_message")])), ("decision", "cancel")])
        #expect(try message(popup)["data"] == ["error": "user_cancelled_authorize"])
    }

    @Test func queryAndFragmentRedirect() async throws {
        let query = try await page(
            [("response_type", "code"), ("response_mode", "query"), ("scope", nil)])
        let byQuery = try await consent(query)
        #expect(byQuery.status == 303)
        #expect(byQuery.fields[.location]?.hasPrefix(Fixture.redirectURI + "?state=the-state&code=") == true)
        let fragment = try await page([("response_mode", "fragment"), ("scope", nil)])
        let byFragment = try await consent(fragment)
        #expect(byFragment.fields[.location]?.hasPrefix(Fixture.redirectURI + "#state=the-state&code=") == true)
        #expect(byFragment.fields[.location]?.contains("&id_token=") == true)
    }

    private func message(_ answer: Answer) throws -> JSON {
        let start = try #require(answer.text.firstRange(of: "data-origin=\"http://localhost:8080\">"))
        let text = answer.text[start.upperBound...].prefix { $0 != "<" }
        return try #require(JSON(parsing: Array(text.utf8)))
    }

    @Test func popupReceivesTheResultAsOneMessage() async throws {
        let answer = try await consent(try await page([("response_mode", "web_message")]))
        let message = try message(answer)
        #expect(message["method"] == "oauthDone")
        let authorization = message["data"]?["authorization"]
        #expect(authorization?["state"] == "the-state")
        #expect(authorization?["code"]?.stringValue?.isEmpty == false)
        #expect(JSON.token(authorization?["id_token"]?.stringValue).claims["sub"] != nil)
        #expect(message["data"]?["user"]?["email"] == "ada@example.com")
    }

    @Test func unknownPageAsksToStartAgain() async throws {
        #expect(try await consent("nonsense").status == 400)
        #expect(try await fixture.form("/auth/authorize/person", [("page", "nonsense")]).status == 400)
        #expect(try await fixture.get("/auth/authorize/consent").status == 405)
    }
}
