import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct MigrationTests {
    private let fixture = Fixture()
    private let sender = [("client_id", "com.example.web"), ("client_secret", ClientSecrets.named("good"))]
    private let recipient = [
        ("client_id", "com.example.recipient"), ("client_secret", ClientSecrets.named("recipient")),
    ]

    private func bearer(_ client: [(String, String)]) async throws -> HTTPFields {
        let answer = try await fixture.form(
            "/auth/token", client + [("grant_type", "client_credentials"), ("scope", "user.migration")])
        #expect(answer.status == 200 && answer.json["id_token"] == nil && answer.json["refresh_token"] == nil)
        return [.authorization: "Bearer " + (answer.json["access_token"]?.stringValue ?? "")]
    }

    @Test func personMovesFromTeamToTeam() async throws {
        let signIn = try await fixture.signIn("boris")
        let sub = JSON.token(signIn["id_token"]?.stringValue).claims["sub"]?.stringValue ?? ""
        let sent = try await fixture.form(
            "/auth/usermigrationinfo", sender + [("sub", sub), ("target", "TEAM654321")], try await bearer(sender))
        let transfer = try #require(sent.json["transfer_sub"]?.stringValue)
        let received = try await fixture.form(
            "/auth/usermigrationinfo", recipient + [("transfer_sub", transfer)], try await bearer(recipient))
        #expect(received.json["is_private_email"] == true)
        let there = try await fixture.claims("boris", [("client_id", "com.example.recipient")])
        #expect(there["transfer_sub"]?.stringValue == transfer)
        #expect(received.json["sub"] == there["sub"])
        #expect(received.json["email"] == there["email"])
    }

    @Test func transferEndsAfterSixtyDays() async throws {
        _ = try await fixture.signIn("ada")
        try await fixture.control(.post, "transfers", ["person": "ada", "to": "TEAM654321"])
        let client: [(String, JSON)] = [("client_id", "com.example.recipient")]
        func claims() async throws -> JSON {
            try await fixture.claims("ada", client)
        }
        #expect(try await claims()["transfer_sub"] != nil)
        fixture.clock.advance(milliseconds: 60 * 86_400_000)
        #expect(try await claims()["transfer_sub"] == nil)
    }

    @Test func strangersAndRevokedPeopleAreRefused() async throws {
        let sub = try await fixture.claims("ada")["sub"]?.stringValue ?? ""
        let token = try await bearer(sender)
        func ask(_ pairs: [(String, String)], _ fields: HTTPFields) async throws -> JSON? {
            try await fixture.form("/auth/usermigrationinfo", sender + pairs, fields).json["error"]
        }
        #expect(try await ask([("sub", sub), ("target", "TEAM654321")], [:]) == "invalid_client")
        #expect(try await ask([("sub", "unknown"), ("target", "TEAM654321")], token) == "invalid_request")
        #expect(try await ask([("sub", sub), ("target", "TEAM123456")], token) == "invalid_request")
        #expect(try await ask([("transfer_sub", "unknown")], token) == "invalid_request")
        try await fixture.control(.post, "consents/revoke", ["person": "ada"])
        #expect(try await ask([("sub", sub), ("target", "TEAM654321")], token) == "invalid_request")
        let scope = try await fixture.form(
            "/auth/token", sender + [("grant_type", "client_credentials"), ("scope", "openid")])
        #expect(scope.json["error"] == "invalid_scope")
    }
}
