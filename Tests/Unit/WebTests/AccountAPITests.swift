import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// `DELETE /api/v1/account`.
@Suite struct AccountAPITests {
    private func people(_ site: Site) -> Int { site.database.users.count }

    @Test("The answer says whether Apple is notified, so that an app can explain what else to do", arguments: [1, 0])
    func saysWhetherAppleIsNotified(tokens: Int) async throws {
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

    @Test func failedDeletionIsNotAcknowledged() async throws {
        let site = try Site.signedIn(kind: .native)
        site.database.faults.fail()
        #expect(
            await site.send(.delete, "/api/v1/account", site.bearer(Site.nativeToken)).status == .serviceUnavailable)
    }
}
