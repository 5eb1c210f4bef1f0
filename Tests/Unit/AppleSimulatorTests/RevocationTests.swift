import AppleSimulator
import Coding
import HTTPTypes
import Synchronization
import Testing

@Suite struct RevocationTests {
    private let fixture = Fixture()

    private func tokens() async throws -> JSON {
        try await fixture.exchange(try await fixture.code()).json
    }

    private func revoke(
        _ token: String?, hint: String? = nil, secret: String = "good"
    ) async throws -> Answer {
        var pairs = [("client_id", "com.example.web"), ("client_secret", ClientSecrets.named(secret))]
        if let token { pairs.append(("token", token)) }
        if let hint { pairs.append(("token_type_hint", hint)) }
        return try await fixture.form("/auth/revoke", pairs)
    }

    @Test(arguments: ["refresh_token", "access_token"])
    func revokingEndsConsentAndTokens(_ kind: String) async throws {
        let tokens = try await tokens()
        let answer = try await revoke(tokens[kind]?.stringValue, hint: kind)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(try await fixture.refresh(tokens["refresh_token"]?.stringValue ?? "").json["error"] == "invalid_grant")
        #expect(try await fixture.signIn()["user"] != nil)
    }

    @Test func badParametersAreErrors_AndAnUnknownTokenIsNone() async throws {
        let refresh = try await tokens()["refresh_token"]?.stringValue
        #expect(try await revoke(nil).json["error"] == "invalid_request")
        #expect(try await revoke(refresh, hint: "id_token").json["error"] == "invalid_request")
        #expect(try await revoke(refresh, hint: "access_token").json["error"] == "invalid_request")
        #expect(try await revoke(refresh, secret: "expired").json["error"] == "invalid_client")
        #expect(try await fixture.refresh(refresh ?? "").status == 200)
        let answer = try await revoke("garbage")
        #expect(answer.status == 200 && answer.body.isEmpty)
    }

    @Test func revokedTokenMayBeAnInvalidRequest() async throws {
        let refresh = try await tokens()["refresh_token"]?.stringValue ?? ""
        try await fixture.control(.put, "behaviour", ["errorAfterRevocation": "invalid_request"])
        try await fixture.control(.post, "consents/revoke", ["person": "ada"])
        #expect(try await fixture.refresh(refresh).json["error"] == "invalid_request")
        #expect(try await fixture.refresh("garbage").json["error"] == "invalid_grant")
    }

    @Test func aNewPasswordKillsTheTokensAndNotTheConsent() async throws {
        let refresh = try await tokens()["refresh_token"]?.stringValue ?? ""
        _ = try await tokens()
        let changed = try await fixture.control(.post, "passwords", ["person": "ada"])
        #expect(changed.json == ["refreshTokens": 2])
        #expect(try await fixture.refresh(refresh).json["error"] == "invalid_grant")
        // Not the first sign-in: there is no name. What it brings lives.
        let again = try await fixture.signIn()
        #expect(again["user"] == nil)
        let fresh =
            try await fixture.exchange(again["code"]?.stringValue ?? "").json["refresh_token"]?.stringValue ?? ""
        #expect(try await fixture.refresh(fresh).status == 200)
        let notified = try await fixture.control(.get, "notifications").json["items"]
        #expect(notified == [])
        #expect(try await fixture.control(.post, "passwords", ["person": "nobody"]).status == 404)
        #expect(try await fixture.control(.post, "passwords", ["person": "ada", "team": "x"]).status == 400)
    }

    @Test func codeOfARevokedConsentIsDead() async throws {
        let code = try await fixture.code()
        try await fixture.control(.post, "consents/revoke", ["person": "ada"])
        #expect(try await fixture.exchange(code).json["error"] == "invalid_grant")
    }

    @Test func revokingNotifiesTheServerOnlyOnRequest() async throws {
        _ = try await revoke(try await tokens()["refresh_token"]?.stringValue)
        #expect(fixture.transport.state.withLock { $0.requests.isEmpty })
        try await fixture.control(.put, "behaviour", ["notifiesOnRevoke": true])
        _ = try await revoke(try await tokens()["refresh_token"]?.stringValue)
        #expect(fixture.transport.state.withLock { $0.requests.count } == 1)
    }
}
