import Coding
import HTTP
import HTTPTypes
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct SessionAPITests {
    @Test func documentHasEveryMember() async throws {
        let site = try Site.signedIn(groups: ["staff", "a,b"], forwarding: nil)
        let response = await site.get("/api/v1/session", cookie: site.cookie)
        #expect(
            response.text == #"{"user":{"id":"usr_00000000000000000000000001","externalID":null,"#
                + #""appleSubject":"001.sub","email":"anna@example.com","emailVerified":true,"isPrivateEmail":false,"#
                + #""emailForwarding":null,"name":{"given":"Anna","family":"Appleseed"},"realUserStatus":null,"#
                + #""organizationID":null,"#
                + #""credentialState":"authorized","credentialChangedAt":"2026-09-21T14:13:20.000Z","#
                + #""credentialCause":"sign_in","groups":["staff","a,b"],"createdAt":"2026-09-21T14:13:20.000Z"},"#
                + #""session":{"id":"ses_00000000000000000000000001","createdAt":"2026-09-21T14:13:20.000Z","#
                + #""lastSeenAt":"2026-09-21T14:13:20.000Z","expiresAt":"2026-10-21T14:13:20.000Z"}}"#)
    }

    @Test func signedOutIsAProblemDocument() async throws {
        let response = await (try Site()).get("/api/v1/session")
        #expect(response.status == .unauthorized)
        #expect(response.fields[.contentType] == "application/problem+json")
        #expect(response.fields[.wwwAuthenticate] == "Bearer")
        #expect(response.json?["code"]?.stringValue == "signed_out")
        #expect(response.json?["status"]?.int64Value == 401)
        #expect(response.json?["type"]?.stringValue == "about:blank")
        #expect(response.json?["title"]?.stringValue?.isEmpty == false)
    }

    @Test func storeThatDoesNotAnswerIs503() async throws {
        let site = try Site.signedIn(isFailing: true)
        let response = await site.get("/api/v1/session", cookie: site.cookie)
        #expect(response.status == .serviceUnavailable)
        #expect(response.json?["code"]?.stringValue == "unavailable")
        #expect(!response.text.contains("disk"))
    }

    @Test func deleteByCookieSignsOut() async throws {
        let site = try Site.signedIn()
        let fields: HTTPFields = [.cookie: site.cookie, .secFetchSite: "same-origin"]
        let response = await site.send(.delete, "/api/v1/session", fields)
        #expect(response.status == .noContent)
        #expect(response.setCookies.first?.hasPrefix("__Host-bramley=; Max-Age=0;") == true)
        #expect(await site.send(.delete, "/api/v1/session", fields).status == .unauthorized)
    }

    @Test func deleteByBearerNeedsNoOrigin() async throws {
        let site = try Site.signedIn(kind: .native)
        let fields: HTTPFields = [.authorization: "Bearer \(Site.nativeToken)"]
        let response = await site.send(.delete, "/api/v1/session", fields)
        #expect(response.status == .noContent)
        #expect(response.setCookies.isEmpty)
        #expect(await site.get("/api/v1/session", fields).status == .unauthorized)
    }

    /// Being seen every minute only would end it at the minute, whatever it does.
    @Test func sessionInUseOutlivesAShortIdleLimit() async throws {
        let site = try Site(adjust: { $0.sessionLimits = SessionLimits(lifetime: 3600, idleTimeout: 60) })
        site.signIn()
        let signedInAt = site.clock.now()
        site.clock.advance(seconds: 14)
        _ = await site.get("/api/v1/session", cookie: site.cookie)
        #expect(site.database.sessions.map(\.lastSeenAt) == [signedInAt])
        site.clock.advance(seconds: 1)
        _ = await site.get("/api/v1/session", cookie: site.cookie)
        #expect(site.database.sessions.map(\.lastSeenAt) == [site.clock.now()])
    }

    @Test(
        "A change without credentials is 401 from anywhere; with a cookie from another site 403",
        arguments: ["/api/v1/session", "/api/v1/account"])
    func credentialsBeforeOrigin(_ path: String) async throws {
        let site = try Site.signedIn()
        let places: [HTTPFields] = [
            [:], [.secFetchSite: "cross-site"], [.origin: "https://evil.example"], [.secFetchSite: "same-origin"],
        ]
        for fields in places {
            let response = await site.send(.delete, path, fields)
            #expect(response.status == .unauthorized)
            #expect(response.code == "signed_out")
            #expect(response.fields[.wwwAuthenticate] == "Bearer")
        }
        let elsewhere = await site.send(.delete, path, [.cookie: site.cookie, .secFetchSite: "cross-site"])
        #expect(elsewhere.code == "cross_site")
    }
}
