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

    // MARK: Ending sessions

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

    @Test func sessionsOfOthersAreNotEndedAndNotTold() async throws {
        let site = try Site.signedIn()
        site.addUser(2)
        let stranger = addSession(site, 1, user: "usr_00000000000000000000000002")
        for id in [stranger, "ses_00000000000000000000000099"] {
            let response = await site.post("/account/sessions/revoke", form: [("session", id)], fields(site))
            #expect(response.location == "/account?done=session-ended")
        }
        #expect(live(site) == [Self.current, stranger])
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

    // MARK: Who may, and from where

    private static let changes: [(path: String, form: [(String, String)])] = [
        ("/account/sessions/revoke", [("session", "ses_00000000000000000000000011")]),
        ("/account/sessions/revoke-all", []),
        ("/account/delete", [("confirm", "yes"), ("account", user)]),
    ]

    @Test(
        "Nothing is changed from elsewhere",
        arguments: [
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
            ["Sec-Fetch-Site": "same-site", "Origin": "https://login.example.com"], ["Origin": "null"],
            ["Origin": "https://app.example.com"], ["Origin": "http://login.example.com"], [:],
            ["Referer": "https://login.example.com/account"],
        ])
    func crossSite(_ values: [String: String]) async throws {
        for change in Self.changes {
            let site = try Site.signedIn()
            addSession(site, 1)
            let before = live(site)
            var origin = HTTPFields()
            for (name, value) in values { origin[HTTPField.Name(name)!] = value }
            let response = await site.post(change.path, form: change.form, fields(site, origin))
            #expect(response.status == .forbidden, "\(change.path)")
            #expect(response.setCookies.isEmpty)
            #expect(live(site) == before)
            #expect(site.database.users.count == 1)
        }
    }

    @Test func withoutTheCookieNothingIsChanged() async throws {
        for change in Self.changes {
            let credentials: [HTTPFields] = [
                [:], [.authorization: "Bearer \(Site.browserToken)"], [.authorization: "Bearer \(Site.nativeToken)"],
                [.cookie: "__Host-bramley=brs_" + String(repeating: "X", count: 43)],
                [.cookie: "__Host-bramley=\(Site.browserToken); __Host-bramley=\(Site.browserToken)"],
                [.cookie: "__Secure-bramley=\(Site.browserToken)"],
            ]
            for credential in credentials {
                let site = try Site.signedIn()
                site.signIn(kind: .native)
                addSession(site, 1)
                let before = live(site)
                var all = credential
                all[.secFetchSite] = "same-origin"
                let response = await site.post(change.path, form: change.form, all)
                #expect(response.status == .seeOther)
                #expect(response.location?.hasPrefix("/login?return_to=%2Faccount") == true, "\(change.path)")
                #expect(live(site) == before)
                #expect(site.database.users.count == 1)
            }
        }
    }

    @Test("Users who may not be here change nothing", arguments: [User.State.pending, .disabled])
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

    @Test(
        "A form is one of ours or nothing",
        arguments: [
            ("session=", .badRequest), ("", .badRequest), ("session=1", .badRequest),
            ("session=ses_0000000000000000000000001l", .badRequest),
            ("session=ses_00000000000000000000000011&session=ses_00000000000000000000000011", .badRequest),
            ("session=usr_00000000000000000000000011", .badRequest),
            ("session=ses_00000000000000000000000011%00", .badRequest),
            ("SESSION=ses_00000000000000000000000011", .badRequest),
            (String(repeating: "a", count: 4097), .contentTooLarge),
            ("session=ses_00000000000000000000000011" + String(repeating: "&a=b", count: 32), .badRequest),
        ] as [(String, HTTPResponse.Status)])
    func malformed(_ body: String, status: HTTPResponse.Status) async throws {
        let site = try Site.signedIn()
        addSession(site, 1)
        var all = fields(site)
        all[.contentType] = "application/x-www-form-urlencoded"
        #expect(await site.send(.post, "/account/sessions/revoke", all, body: body).status == status)
        #expect(live(site).count == 2)
    }

    @Test func onlyFormsAreRead() async throws {
        for change in Self.changes {
            for type in ["application/json", "multipart/form-data; boundary=x", "text/plain", ""] {
                let site = try Site.signedIn()
                addSession(site, 1)
                var all = fields(site)
                all[.contentType] = type.isEmpty ? nil : type
                let body = #"{"session":"ses_00000000000000000000000011"}"#
                #expect(await site.send(.post, change.path, all, body: body).status == .unsupportedMediaType)
                #expect(live(site).count == 2)
            }
        }
    }

    @Test func readingMethodsChangeNothing() async throws {
        for change in Self.changes {
            for method in [HTTPRequest.Method.get, .head, .put, .delete] {
                let site = try Site.signedIn()
                addSession(site, 1)
                _ = await site.send(method, change.path + "?session=ses_00000000000000000000000011", fields(site))
                #expect(live(site).count == 2)
                #expect(site.database.users.count == 1)
            }
        }
    }

    @Test func storeThatDoesNotAnswerIsNotConfirmed() async throws {
        for change in Self.changes {
            let site = try Site.signedIn()
            site.database.faults.fail()
            let response = await site.post(change.path, form: change.form, fields(site))
            #expect(response.status == .serviceUnavailable)
            #expect(response.setCookies.isEmpty)
        }
    }

    // MARK: What the page says

    @Test(
        "Each page says only what was done there",
        arguments: [
            ("session-ended", true), ("others-ended", true), ("unconfirmed", false), ("other-account", false),
        ])
    func noticesOfEachPage(code: String, isOfAccount: Bool) async throws {
        let site = try Site.signedIn()
        for (page, isSaid) in [("/account", isOfAccount), ("/account/delete", !isOfAccount)] {
            let plain = await site.get(page, fields(site)).text.ranges(of: "<p").count
            let told = await site.get("\(page)?done=\(code)", fields(site)).text.ranges(of: "<p").count
            #expect(told == plain + (isSaid ? 1 : 0), "\(page)")
        }
    }

    @Test("Only known words are said, and to nobody another site sent here")
    func notices() async throws {
        let site = try Site.signedIn()
        for code in ["<script>", "session-ended%20", "SESSION-ENDED", "", "otherAccount"] {
            #expect(await !site.get("/account?done=\(code)", fields(site)).text.contains("<p>That browser"))
        }
        let twice = await site.get("/account?done=session-ended&done=session-ended", fields(site)).text
        #expect(!twice.contains("That browser"))
        for (origin, isSaid) in [("same-origin", true), ("none", true), ("cross-site", false), ("same-site", false)] {
            let page = await site.get("/account?done=session-ended", fields(site, [.secFetchSite: origin])).text
            #expect(page.contains("That browser or app is signed out.") == isSaid, "\(origin)")
        }
    }

    @Test func othersHaveTheirButtonsAndThisOneNone() async throws {
        let site = try Site.signedIn()
        var page = await site.get("/account", cookie: site.cookie).text
        #expect(!page.contains("/account/sessions/revoke"))
        #expect(page.contains("You are signed in nowhere else."))
        let other = addSession(site, 1)
        page = await site.get("/account", cookie: site.cookie).text
        #expect(page.contains("name=\"session\" value=\"\(other)\""))
        #expect(page.contains("aria-label=\"Sign out curl\""))
        #expect(!page.contains(Self.current))
        #expect(page.contains("action=\"/account/sessions/revoke-all\""))
        #expect(page.contains("203.0.113.1"))
    }

    @Test func linksStayBelowTheBasePath() async throws {
        let site = try Site(publicURL: "https://login.example.com/id")
        site.signIn()
        addSession(site, 1)
        let page = await site.get("/id/account", cookie: site.cookie).text
        for link in ["/account/sessions/revoke\"", "/account/sessions/revoke-all\"", "/account/export\"", "/logout\""] {
            #expect(page.contains("\"/id\(link)"), "\(link)")
        }
        let response = await site.post(
            "/id/account/sessions/revoke", form: [("session", "ses_00000000000000000000000011")], fields(site))
        #expect(response.location == "/id/account?done=session-ended")
        site.clock.advance(seconds: 601)
        let deletion = await site.get("/id/account/delete", cookie: site.cookie).text
        #expect(deletion.contains("href=\"/id/login/apple?return_to=%2Fid%2Faccount%2Fdelete\""))
    }
}
