import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// `POST /api/v1/introspect` (RFC 7662).
@Suite struct IntrospectionTests {
    private static let inactive = #"{"active":false}"#

    @Test func browserSession() async throws {
        let site = try Site.signedIn(groups: ["staff", "李"])
        let response = await site.introspect(Site.browserToken, key: site.makeKey([.introspect]))
        #expect(response.fields[.contentType] == "application/json")
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(
            response.text == #"{"active":true,"sub":"usr_00000000000000000000000001","username":"anna@example.com","#
                + #""client_id":"com.example.web","token_type":"Bearer","iss":"https://login.example.com","#
                + #""iat":1790000000,"exp":1790604800,"sid":"ses_00000000000000000000000001","#
                + #""session_kind":"browser","email":"anna@example.com","email_verified":true,"groups":["staff","李"]}"#)
    }

    @Test func nativeSessionWithoutAnAddress() async throws {
        let site = try Site(publicURL: "https://login.example.com/auth")
        site.signIn(email: nil, kind: .native)
        site.database.update(Site.userID(1)) { $0.externalID = "42" }
        let response = await site.post(
            "/auth/api/v1/introspect", form: [("token", Site.nativeToken)], site.bearer(site.makeKey([.introspect])))
        let json = try #require(response.json)
        #expect(json["session_kind"]?.stringValue == "native")
        #expect(json["external_id"]?.stringValue == "42")
        #expect(json["iss"]?.stringValue == "https://login.example.com/auth")
        for name in ["username", "email", "email_verified"] { #expect(json[name] == nil) }
    }

    /// An unverified address names nobody.
    @Test func usernameIsAVerifiedAddress() async throws {
        let site = try Site.signedIn(
            email: EmailAddress(address: "a@school.example", isVerified: false, isPrivate: false))
        let json = try #require(await site.introspect(Site.browserToken, key: site.makeKey([.introspect])).json)
        #expect(json["username"] == nil)
        #expect(json["email_verified"]?.boolValue == false)
    }

    @Test("Inactive people all get the same answer", arguments: [User.State.pending, .disabled])
    func inactiveUsers(_ state: User.State) async throws {
        let site = try Site.signedIn(state: state)
        #expect(await site.introspect(Site.browserToken, key: site.makeKey([.introspect])).text == Self.inactive)
    }

    @Test(
        "Introspection of anything but a live session answers inactive",
        arguments: [
            "brs_" + String(repeating: "z", count: 43), "brs_", "x", "brk_" + String(repeating: "k", count: 43),
            String(repeating: "A", count: 43), "BRS_" + String(repeating: "A", count: 43),
            "brs_" + String(repeating: "A", count: 44), " brs_" + String(repeating: "A", count: 43),
            "brs_" + String(repeating: "A", count: 43) + "\u{0}", "usr_00000000000000000000000001", "é", "\u{FFFD}",
        ])
    func noSession(_ token: String) async throws {
        let site = try Site.signedIn()
        let response = await site.introspect(token, key: site.makeKey([.introspect]))
        #expect(response.status == .ok)
        #expect(response.text == Self.inactive)
    }

    @Test func introspectionOfTheOwnKeyAnswersInactive() async throws {
        let site = try Site()
        let key = site.makeKey([.introspect])
        #expect(await site.introspect(key, key: key).text == Self.inactive)
    }

    @Test func endsWithTheSession() async throws {
        let site = try Site(adjust: { $0.sessionLimits = SessionLimits(lifetime: 3600, idleTimeout: 600) })
        let key = site.makeKey([.introspect])
        site.signIn()
        site.clock.advance(seconds: 599)
        #expect(await site.introspect(Site.browserToken, key: key).json?["active"]?.boolValue == true)
        // Being introspected is being used.
        #expect(site.database.sessions.map(\.lastSeenAt) == [site.clock.now()])
        site.clock.advance(seconds: 600)
        #expect(await site.introspect(Site.browserToken, key: key).text == Self.inactive)
    }

    @Test func tokenTypeHintAndFurtherParametersAreIgnored() async throws {
        let site = try Site.signedIn()
        let fields = site.bearer(site.makeKey([.introspect]))
        let response = await site.post(
            "/api/v1/introspect",
            form: [
                ("token_type_hint", "refresh_token"), ("token", Site.browserToken), ("client_id", "x"), ("a", "1"),
                ("a", "2"),
            ], fields)
        #expect(response.json?["active"]?.boolValue == true)
    }

    @Test("Content may have 16 KiB and not one byte more", arguments: [(16_384, 200), (16_385, 413)])
    func bound(_ size: Int, status: Int) async throws {
        let site = try Site()
        let body = "token=" + String(repeating: "x", count: size - 6)
        var fields = site.bearer(site.makeKey([.introspect]))
        fields[.contentType] = "application/x-www-form-urlencoded"
        #expect(await site.send(.post, "/api/v1/introspect", fields, body: body).status.code == status)
    }
}
