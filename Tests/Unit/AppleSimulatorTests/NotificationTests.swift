import AppleSimulator
import Coding
import HTTP
import HTTPTypes
import Synchronization
import Testing

@Suite struct NotificationTests {
    private let fixture = Fixture()

    private func events(_ claims: JSON) -> JSON? {
        claims["events"]?.stringValue.flatMap { JSON(parsing: Array($0.utf8)) }
    }

    private func claims(_ request: ClientRequest) -> JSON {
        JSON.token(JSON(parsing: request.body)?["payload"]?.stringValue).claims
    }

    @Test func notificationGoesToTheServerAsApplesDo() async throws {
        let sub = try await fixture.claims("boris")["sub"]
        try await fixture.control(.post, "notifications", ["type": "email-disabled", "person": "boris"])
        let request = try #require(fixture.transport.state.withLock { $0.requests.first })
        #expect(request.method == .post)
        #expect(
            request.url == ClientURL(isSecure: false, host: "localhost", port: 8080, target: "/apple/notifications"))
        #expect(request.fields[.contentType] == "application/json")
        let claims = claims(request)
        #expect(claims["iss"] == "https://appleid.apple.com" && claims["aud"] == "com.example.app")
        #expect(claims["iat"]?.integer == ClientSecrets.now && claims["exp"]?.integer == ClientSecrets.now + 86_400)
        #expect(claims["jti"]?.stringValue?.isEmpty == false)
        let event = try #require(events(claims))
        #expect(event["type"] == "email-disabled" && event["sub"] == sub)
        #expect(event["event_time"]?.integer == ClientSecrets.now * 1000)
        #expect(event["is_private_email"] == "true")
        #expect(event["email"]?.stringValue?.hasSuffix("@privaterelay.appleid.com") == true)
    }

    @Test func documentedFormIsAnObjectInSeconds() async throws {
        let sent = try await fixture.control(
            .post, "notifications",
            [
                "type": "account-deleted", "person": "ada", "events": "object", "unit": "seconds", "eventOffset": -60,
                "deliver": false,
            ]
        ).json
        let event = JSON.token(sent["payload"]?.stringValue).claims["events"]
        #expect(event?["type"] == "account-deleted")
        #expect(event?["event_time"]?.integer == ClientSecrets.now - 60)
        #expect(event?["email"] == nil)
        #expect(fixture.transport.state.withLock { $0.requests.isEmpty })
    }

    @Test func copiesAreTheSameNotification() async throws {
        let sent = try await fixture.control(
            .post, "notifications", ["type": "consent-revoked", "person": "ada", "copies": 3]
        ).json
        #expect(sent["deliveries"]?.arrayValue?.count == 3)
        let bodies = fixture.transport.state.withLock { $0.requests.map(\.body) }
        #expect(bodies.count == 3 && Set(bodies).count == 1)
    }

    @Test func keptNotificationsAreDeliveredInAnyOrder() async throws {
        var ids: [String] = []
        for type in ["email-disabled", "email-enabled"] {
            let sent = try await fixture.control(
                .post, "notifications", ["type": .string(type), "person": "boris", "deliver": false])
            ids.append(sent.json["id"]?.stringValue ?? "")
        }
        for id in ids.reversed() { try await fixture.control(.post, "notifications/\(id)/deliver") }
        let types = fixture.transport.state.withLock { $0.requests }.map { events(claims($0))?["type"]?.stringValue }
        #expect(types == ["email-enabled", "email-disabled"])
        #expect(try await fixture.control(.post, "notifications/unknown/deliver").status == 404)
    }

    @Test func outcomeIsRecorded() async throws {
        fixture.transport.state.withLock { $0.answer = .success(.serviceUnavailable) }
        let refused = try await fixture.control(.post, "notifications", ["type": "x", "person": "ada"]).json
        #expect(refused["deliveries"]?.arrayValue?.first?["status"] == 503)
        fixture.transport.state.withLock { $0.answer = .failure(.timeout) }
        let failed = try await fixture.control(.post, "notifications", ["type": "x", "person": "ada"]).json
        #expect(failed["deliveries"]?.arrayValue?.first?["failure"] == "no complete answer in time")
        #expect(failed["deliveries"]?.arrayValue?.first?["status"] == .null)
    }

    @Test(arguments: ["consent-revoked", "account-delete", "account-deleted"])
    func endOfConsentAppliesAtAppleToo(_ type: String) async throws {
        let tokens = try await fixture.exchange(try await fixture.code()).json
        try await fixture.control(.post, "notifications", ["type": .string(type), "person": "ada"])
        #expect(try await fixture.refresh(tokens["refresh_token"]?.stringValue ?? "").json["error"] == "invalid_grant")
    }

    @Test func effectCanBeLeftOut() async throws {
        _ = try await fixture.signIn()
        try await fixture.control(
            .post, "notifications", ["type": "consent-revoked", "person": "ada", "effect": false])
        #expect(try await fixture.signIn()["user"] == nil)
    }

    @Test func everythingInItCanBeReplaced() async throws {
        let sent = try await fixture.control(
            .post, "notifications",
            [
                "type": "consent-revoked", "sub": "somebody", "jti": "the-jti", "aud": "com.example.other",
                "claims": ["iss": "https://example.com", "exp": .null], "event": ["event_time": "soon"],
                "header": ["alg": "none"], "deliver": false,
            ]
        ).json
        let (header, claims) = JSON.token(sent["payload"]?.stringValue)
        #expect(header["alg"] == "none")
        #expect(claims["iss"] == "https://example.com" && claims["exp"] == nil && claims["jti"] == "the-jti")
        #expect(claims["aud"] == "com.example.other")
        #expect(events(claims)?["sub"] == "somebody" && events(claims)?["event_time"] == "soon")
    }

    @Test func revokingWithNoticeSendsOne() async throws {
        _ = try await fixture.signIn()
        let answer = try await fixture.control(.post, "consents/revoke", ["person": "ada", "notify": true]).json
        #expect(answer["revoked"] == true)
        #expect(fixture.transport.state.withLock { $0.requests.count } == 1)
    }
}
