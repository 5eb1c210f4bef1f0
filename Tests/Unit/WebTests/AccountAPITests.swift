import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// `DELETE /api/v1/account`.
@Suite struct AccountAPITests {
    private func people(_ site: Site) -> Int { site.database.users.count }

    @Test("The answer says whether Apple is told, so that an app can say what else to do", arguments: [1, 0])
    func saysWhetherAppleIsTold(tokens: Int) async throws {
        let site = try Site()
        let expected = "{\"appleNotified\":\(tokens > 0)}"
        site.signIn()
        site.addUser(2)
        site.database.giveTokens(tokens)
        let page: HTTPFields = [.cookie: site.cookie, .secFetchSite: "same-origin"]
        let response = await site.send(.delete, "/api/v1/account", page)
        #expect(response.status == .accepted)
        #expect(response.fields[.contentType] == "application/json")
        #expect(response.text == expected)
        let key = site.bearer(site.makeKey([.usersDelete]))
        let byBackend = await site.send(.delete, "/api/v1/users/\(Site.userID(2))", key)
        #expect(byBackend.status == .accepted)
        #expect(byBackend.text == expected)
    }

    @Test func appDeletesTheAccountItIsSignedInTo() async throws {
        let site = try Site.signedIn(kind: .native)
        let fields = site.bearer(Site.nativeToken)
        let response = await site.send(.delete, "/api/v1/account", fields)
        #expect(response.status == .accepted)
        #expect(response.setCookies.isEmpty)
        #expect(people(site) == 0)
        #expect(await site.send(.delete, "/api/v1/account", fields).code == "signed_out")
    }

    @Test func pageDeletesTheAccountAndTheCookie() async throws {
        let site = try Site.signedIn()
        site.signIn(kind: .native)
        let response = await site.send(
            .delete, "/api/v1/account", [.cookie: site.cookie, .secFetchSite: "same-origin"])
        #expect(response.status == .accepted)
        #expect(response.setCookies.first?.hasPrefix("__Host-bramley=; Max-Age=0;") == true)
        #expect(people(site) == 0)
        #expect(await site.get("/api/v1/session", site.bearer(Site.nativeToken)).status == .unauthorized)
    }

    @Test("Another site's page deletes nothing", arguments: ["cross-site", "same-site", "none", ""])
    func crossSite(_ value: String) async throws {
        let site = try Site(adjust: { $0.apiOrigins = ["https://app.example.com"] })
        site.signIn()
        for origin in ["https://evil.example", "https://app.example.com", "null", "https://login.example.com"] {
            var fields: HTTPFields = [.cookie: site.cookie, .origin: origin]
            fields[.secFetchSite] = value
            let response = await site.send(.delete, "/api/v1/account", fields)
            #expect(response.code == "cross_site")
        }
        #expect(await site.send(.delete, "/api/v1/account", [.cookie: site.cookie]).code == "cross_site")
        #expect(people(site) == 1)
    }

    @Test("The sign-in may be ten minutes old and not older", arguments: [(599, 202), (600, 403)] as [(Int64, Int)])
    func freshness(_ age: Int64, status: Int) async throws {
        let site = try Site.signedIn(kind: .native)
        site.clock.advance(seconds: age)
        let response = await site.send(.delete, "/api/v1/account", site.bearer(Site.nativeToken))
        #expect(response.status.code == status)
        #expect(response.code == (status == 403 ? "fresh_sign_in_required" : nil))
        #expect(people(site) == (status == 403 ? 1 : 0))
    }

    @Test("The clock that went back makes nothing fresh", arguments: [(60, 202), (61, 403)] as [(Int64, Int)])
    func sessionFromTheFuture(_ ahead: Int64, status: Int) async throws {
        let site = try Site.signedIn(kind: .native)
        site.clock.advance(seconds: -ahead)
        let response = await site.send(.delete, "/api/v1/account", site.bearer(Site.nativeToken))
        #expect(response.status.code == status)
        #expect(people(site) == (status == 403 ? 1 : 0))
    }

    @Test(
        "Pending and disabled people cannot delete their account",
        arguments: [(User.State.pending, "user_pending"), (.disabled, "user_disabled")])
    func notActive(_ state: User.State, code: String) async throws {
        let site = try Site.signedIn(state: state, kind: .native)
        #expect(await site.send(.delete, "/api/v1/account", site.bearer(Site.nativeToken)).code == code)
        #expect(people(site) == 1)
    }

    @Test("Neither kind of session works the other's way", arguments: [SessionKind.browser, .native])
    func kinds(_ kind: SessionKind) async throws {
        let site = try Site.signedIn(kind: kind)
        let fields: HTTPFields =
            kind == .native
            ? [.cookie: "__Host-bramley=" + Site.nativeToken, .secFetchSite: "same-origin"]
            : site.bearer(Site.browserToken)
        #expect(await site.send(.delete, "/api/v1/account", fields).status == .unauthorized)
        #expect(people(site) == 1)
    }

    @Test func nothingIsAcknowledgedThatWasNotWritten() async throws {
        let site = try Site.signedIn(kind: .native)
        site.database.faults.fail()
        #expect(
            await site.send(.delete, "/api/v1/account", site.bearer(Site.nativeToken)).status == .serviceUnavailable)
    }
}
