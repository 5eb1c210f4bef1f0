import Coding
import Crypto
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// What the account page lets a person change: who may, from where, and what comes of it.
@Suite struct AccountChangeTests {
    private static let own: HTTPFields = [.secFetchSite: "same-origin"]
    private static let current = "ses_00000000000000000000000001"
    private static let user = "usr_00000000000000000000000001"

    private func fields(_ site: Site, _ more: HTTPFields = own) -> HTTPFields {
        var fields = more
        fields[.cookie] = site.cookie
        return fields
    }

    /// Another session; `user` nil makes it the same person's.
    @discardableResult
    private func addSession(_ site: Site, _ number: Int, user: String = user) -> String {
        let id = "ses_0000000000000000000000001\(number)"
        let session = Session(
            id: SessionID(unchecked: id), tokenHash: SHA256.hash(utf8: "token \(number)"), kind: .browser,
            user: UserID(unchecked: user), clientID: ClientID("com.example.web"),
            device: Device(userAgent: "curl/8", address: "203.0.113.\(number)"), issuedAt: site.clock.now(),
            createdAt: site.clock.now(), lastSeenAt: site.clock.now(),
            expiresAt: site.clock.now().adding(seconds: 2_592_000))
        site.database.put(session)
        return id
    }

    private func live(_ site: Site) -> Set<String> {
        Set(site.database.sessions.map(\.id.rawValue))
    }

    @Test func oneSessionIsEndedAndThePageSaysSo() async throws {
        let site = try Site.signedIn()
        let other = addSession(site, 1)
        let third = addSession(site, 2)
        // Twice: the second tap is answered as the first.
        for _ in 0..<2 {
            let response = await site.post("/account/sessions/revoke", form: [("session", other)], fields(site))
            #expect(response.status == .seeOther)
            #expect(response.location == "/account?done=session-ended")
            #expect(response.setCookies.isEmpty)
        }
        #expect(live(site) == [Self.current, third])
        #expect(site.database.ended.map(\.cause) == [.revokedByUser])
        let page = await site.get("/account?done=session-ended", fields(site)).text
        #expect(page.contains("That browser or app is signed out."))
    }

    @Test func endingTheCurrentSessionIsASignOut() async throws {
        let site = try Site.signedIn()
        let response = await site.post("/account/sessions/revoke", form: [("session", Self.current)], fields(site))
        #expect(response.location == "/logout")
        #expect(response.setCookies.first?.hasPrefix("__Host-bramley=; Max-Age=0") == true)
        #expect(live(site).isEmpty)
        #expect(site.database.ended.map(\.cause) == [.signOut])
    }

    @Test func allOthersAreEndedAndThisOneStays() async throws {
        let site = try Site.signedIn()
        addSession(site, 1)
        addSession(site, 2)
        site.addUser(2)
        let stranger = addSession(site, 3, user: "usr_00000000000000000000000002")
        for _ in 0..<2 {
            let response = await site.post("/account/sessions/revoke-all", fields(site))
            #expect(response.location == "/account?done=others-ended")
        }
        #expect(live(site) == [Self.current, stranger])
    }

    private static let changes: [(path: String, form: [(String, String)])] = [
        ("/account/sessions/revoke", [("session", "ses_00000000000000000000000011")]),
        ("/account/sessions/revoke-all", []),
        ("/account/delete", [("confirm", "yes"), ("account", user)]),
    ]

    @Test("Users who are not active change nothing", arguments: [User.State.pending, .disabled])
    func states(_ state: User.State) async throws {
        for change in Self.changes {
            let site = try Site.signedIn(state: state)
            let response = await site.post(change.path, form: change.form, fields(site))
            #expect(response.status == .forbidden)
            #expect(live(site) == [Self.current])
        }
        let site = try Site.signedIn(state: state)
        for path in ["/account/export", "/account/delete"] {
            #expect(await site.get(path, cookie: site.cookie).status == .forbidden)
        }
    }

    @Test func storeThatDoesNotAnswerIsNotConfirmed() async throws {
        for change in Self.changes {
            let site = try Site.signedIn(isFailing: true)
            let response = await site.post(change.path, form: change.form, fields(site))
            #expect(response.status == .serviceUnavailable)
            #expect(response.setCookies.isEmpty)
        }
    }

    @Test func onlyOtherSessionsHaveButtons() async throws {
        let site = try Site.signedIn()
        var page = await site.get("/account", cookie: site.cookie).text
        #expect(!page.contains("/account/sessions/revoke"))
        #expect(page.contains("No other sessions."))
        let other = addSession(site, 1)
        page = await site.get("/account", cookie: site.cookie).text
        #expect(page.contains("name=\"session\" value=\"\(other)\""))
        #expect(page.contains("aria-label=\"Sign out curl\""))
        #expect(!page.contains(Self.current))
        #expect(page.contains("action=\"/account/sessions/revoke-all\""))
        #expect(page.contains("203.0.113.1"))
    }
}
