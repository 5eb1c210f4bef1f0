import Coding
import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct AccountDeletionRouteTests {
    private let site: Site

    init() throws { site = try Site.signedIn() }

    private static let user = "usr_00000000000000000000000001"

    private func fields(_ site: Site) -> HTTPFields { [.cookie: site.cookie, .secFetchSite: "same-origin"] }

    private func delete(
        _ site: Site, confirm: String? = "yes", account: String? = user
    ) async -> ServerResponse {
        var form: [(String, String)] = []
        if let confirm { form.append(("confirm", confirm)) }
        if let account { form.append(("account", account)) }
        return await site.post("/account/delete", form: form, fields(site))
    }

    private func exists(_ site: Site) -> Bool { !site.database.users.isEmpty }

    @Test func thePageShowsWhoseAccountItIsAndAsks() async throws {
        let response = await site.get("/account/delete", fields(site))
        #expect(response.status == .ok)
        #expect(response.fields[.cacheControl] == "no-store")
        let page = response.text
        #expect(page.contains("Anna Appleseed"))
        #expect(page.contains("anna@example.com"))
        #expect(page.contains("type=\"checkbox\" name=\"confirm\" value=\"yes\" required"))
        #expect(page.contains("name=\"account\" value=\"\(Self.user)\""))
        #expect(!page.contains("Sign in again to continue"))
    }

    @Test(
        "After confirmation the account and cookies are deleted, and the page says what Apple is told",
        arguments: [(2, "told", "Apple is being told"), (0, "untold", "We could not tell Apple")])
    func confirmed(tokens: Int, apple: String, words: String) async throws {
        site.database.giveTokens(tokens)
        let response = await delete(site)
        #expect(response.status == .seeOther)
        #expect(response.location == "/account/deleted?apple=\(apple)")
        #expect(response.setCookies == ["__Host-bramley=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax"])
        #expect(!exists(site))
        let all = ["Apple is being told", "We could not tell Apple", "This account had already been deleted"]
        let page = await site.get("/account/deleted?apple=\(apple)").text
        #expect(page.contains("Your account is deleted"))
        #expect(all.filter(page.contains) == [words])
        #expect(page.contains("Sign-In and Security"))
        // The second of two taps, the cookie still being sent, does not know what the first one knew.
        #expect(await delete(site).location == "/account/deleted")
        for address in ["/account/deleted", "/account/deleted?apple=TOLD", "/account/deleted?apple=told&apple=told"] {
            let text = await site.get(address).text
            #expect(all.filter(text.contains) == [all[2]])
        }
    }

    @Test(
        "Before the deletion the page says whether Apple can be told, and otherwise how to do it",
        arguments: [2, 0])
    func saidBeforehand(tokens: Int) async throws {
        site.database.giveTokens(tokens)
        let page = await site.get("/account/delete", fields(site)).text
        #expect(page.contains("we tell Apple that you no longer use it here") == (tokens > 0))
        #expect(page.contains("We cannot tell Apple") == (tokens == 0))
        #expect(page.contains("Sign-In and Security") == (tokens == 0))
        #expect(page.contains("href=\"https://account.apple.com/\"") == (tokens == 0))
    }

    @Test(
        "A sign-in within ten minutes is needed",
        arguments: [(0, true), (599, true), (600, false), (86_400, false)] as [(Int64, Bool)])
    func freshness(_ age: Int64, passes: Bool) async throws {
        site.clock.advance(seconds: age)
        let page = await site.get("/account/delete", fields(site)).text
        #expect(page.contains("name=\"confirm\"") == passes)
        #expect(page.contains("Sign in again to continue") == !passes)
        #expect(page.contains("href=\"/login/apple?return_to=%2Faccount%2Fdelete\"") == !passes)
        let response = await delete(site)
        #expect(exists(site) == !passes)
        if !passes {
            #expect(response.location == "/account/delete")
            #expect(response.setCookies.isEmpty)
        }
    }

    @Test("A clock set back does not make a sign-in recent", arguments: [(60, true), (61, false)] as [(Int64, Bool)])
    func sessionFromTheFuture(_ ahead: Int64, passes: Bool) async throws {
        site.clock.advance(seconds: -ahead)
        _ = await delete(site)
        #expect(exists(site) == !passes)
    }

    @Test("Without the tick nothing is deleted", arguments: [nil, "", "no", "YES", "yes ", "on", "true"])
    func unconfirmed(_ value: String?) async throws {
        let response = await delete(site, confirm: value)
        #expect(response.location == "/account/delete?done=unconfirmed")
        #expect(exists(site))
        let page = await site.get("/account/delete?done=unconfirmed", fields(site)).text
        #expect(page.contains("please tick the box first"))
        #expect(!page.contains(" checked"))
    }

    @Test(
        "A page shown for another person deletes nobody",
        arguments: [nil, "", "usr_00000000000000000000000002", "usr_1", "ses_00000000000000000000000001"])
    func otherAccount(_ account: String?) async throws {
        let response = await delete(site, account: account)
        #expect(response.location == "/account/delete?done=other-account")
        #expect(exists(site))
        #expect(await site.get("/account/delete?done=other-account", fields(site)).text.contains("Nothing was deleted"))
    }

    @Test func signedInVisitorIsNotToldOfADeletion() async throws {
        #expect(await site.get("/account/deleted", fields(site)).location == "/account")
        // A session that has merely ended is not told that the account is gone.
        site.database.execute("DELETE FROM session")
        #expect(await delete(site).location == "/login?return_to=%2Faccount%2Fdelete")
        #expect(exists(site))
    }

    @Test func signedOutVisitorsGoToTheLoginAndBack() async throws {
        let site = try Site()
        #expect(await site.get("/account/delete").location == "/login?return_to=%2Faccount%2Fdelete")
        #expect(await site.get("/account/export").location == "/login?return_to=%2Faccount")
    }

    @Test func returnFromAppleIsNotALoop() async throws {
        site.clock.advance(seconds: 601)
        for _ in 0..<2 {
            let response = await site.get("/login/apple?return_to=%2Faccount%2Fdelete", fields(site))
            #expect(response.status == .seeOther)
            #expect(response.location?.contains("/auth/authorize") == true)
        }
    }
}

@Suite struct AccountExportTests {
    /// Regression: another site's link, which takes the cookie along, wrote into the audit log that its person asked for it.
    @Test(arguments: [("cross-site", false), ("same-site", false), ("same-origin", true), ("none", true)])
    func anotherSiteGetsNoExport(site from: String, isGiven: Bool) async throws {
        let site = try Site.signedIn()
        let response = await site.get("/account/export", [.cookie: site.cookie, .secFetchSite: from])
        #expect(response.status == (isGiven ? .ok : .seeOther))
        if !isGiven { #expect(response.location == "/account") }
    }

    /// Regression: in a loop, each read everything and wrote a durable line.
    @Test func exportsAreLimited() async throws {
        let site = try Site(adjust: { $0.limits.exportsPerMinute = 2 })
        site.signIn()
        for _ in 0..<2 { #expect(await site.get("/account/export", cookie: site.cookie).status == .ok) }
        #expect(await site.get("/account/export", cookie: site.cookie).status == .tooManyRequests)
    }

    @Test func theDownloadIsAFileOfEverything() async throws {
        let site = try Site.signedIn(PersonName(given: "\u{202E}<script>", family: "李"), groups: ["a&b"])
        let response = await site.get("/account/export", cookie: site.cookie)
        #expect(response.status == .ok)
        #expect(response.fields[.contentType] == "application/json")
        #expect(response.fields[.contentDisposition] == "attachment; filename=\"bramley-account.json\"")
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(response.fields[.xContentTypeOptions] == "nosniff")
        let document = try #require(response.json)
        #expect(
            document.members.map(\.name) == [
                "exportedAt", "complete", "user", "updatedAt", "emailForwardingChangedAt", "appleIdentities",
                "sessions", "programs", "programSessions", "consents", "notifications", "events",
            ])
        let name = document["user"]?.objectValue?["name"]?.objectValue
        #expect(name?["given"]?.stringValue == "\u{202E}<script>")
        #expect(document["sessions"]?.arrayValue?.first?.objectValue?["address"]?.stringValue == "203.0.113.5")
        #expect(!response.text.contains("<"))
        for secret in ["brs_", "tokenHash", "sealed"] { #expect(!response.text.contains(secret)) }
    }

    @Test func everyMemberOfARecordIsWritten() async throws {
        let moment = Timestamp(seconds: 1_790_000_000)
        let user = UserID(unchecked: "usr_00000000000000000000000001")
        let record = AccountRecord(
            user: User(id: user, state: .active, appleSubject: AppleSubject("001.sub"), createdAt: moment),
            updatedAt: moment,
            identities: [
                AccountRecord.Identity(
                    team: TeamID("TEAM123456"), subject: AppleSubject("001.sub"), transferSubject: "002",
                    credential: CredentialStatus(state: .revoked, changedAt: moment, cause: .tokenDead),
                    lastSignInAt: moment, createdAt: moment,
                    credentials: [
                        AccountRecord.Credential(
                            clientID: ClientID("com.example.web"), state: "revoked", cause: "consent_revoked",
                            issuedAt: moment, holdsToken: false)
                    ], unfinishedName: PersonName(given: "Ann"), unfinishedSince: moment)
            ], isComplete: false)
        let items: [AccountList: [AccountItem]] = [
            .programs: [
                .program(
                    AccountRecord.Program(
                        clientID: "grafana", scopes: ["openid", "email"],
                        redirectURI: "https://grafana.example.com/cb",
                        session: SessionID(unchecked: "ses_00000000000000000000000001"), signedInAt: moment,
                        expiresAt: moment, isOffline: true))
            ],
            .programSessions: [
                .participant(
                    AccountRecord.Participant(
                        clientID: "grafana", session: SessionID(unchecked: "ses_00000000000000000000000001")))
            ],
            .consents: ["", "https://api.example.com"].map {
                .consent(
                    Consent(
                        client: OpenIDClientID(unchecked: "claude"), service: $0, scopes: [.openid], givenAt: moment))
            },
            .notifications: [
                .notification(
                    AccountRecord.Notification(
                        type: "consent-revoked", clientID: ClientID("com.example.app"), eventTime: moment,
                        receivedAt: moment, outcome: "applied"))
            ],
            .events: [
                .event(
                    JournalEntry(
                        id: EventID(unchecked: "evt_00000000000000000000000001"), kind: .sessionEnded, time: moment,
                        user: user, cause: .consentRevoked))
            ],
        ]
        let time = "2026-09-21T14:13:20.000Z"
        let expected = """
            {"exportedAt":"\(time)","complete":false,"user":{"id":"\(user)","state":"active","externalID":null,\
            "appleSubject":"001.sub","email":null,"emailVerified":false,"isPrivateEmail":false,"emailForwarding":null,\
            "name":{"given":null,"family":null},"realUserStatus":null,"organizationID":null,\
            "credentialState":"authorized","credentialChangedAt":"\(time)",\
            "credentialCause":"sign_in","groups":[],\
            "createdAt":"\(time)"},"updatedAt":"\(time)","emailForwardingChangedAt":null,"appleIdentities":[{"teamID":"TEAM123456","subject":"001.sub",\
            "transferSubject":"002","credentialState":"revoked","credentialChangedAt":"\(time)",\
            "credentialCause":"token_dead","lastSignInAt":"\(time)","createdAt":"\(time)",\
            "credentials":[{"clientID":"com.example.web",\
            "state":"revoked","cause":"consent_revoked","issuedAt":"\(time)","refreshTokenStored":false}],\
            "unfinishedName":{"given":"Ann","family":null,"savedAt":"\(time)"}}],\
            "sessions":[],"programs":[{"clientID":"grafana","scope":"openid email","services":[],\
            "redirectURI":"https://grafana.example.com/cb","session":"ses_00000000000000000000000001",\
            "signedInAt":"\(time)","expiresAt":"\(time)","offline":true}],\
            "programSessions":[{"clientID":"grafana","session":"ses_00000000000000000000000001"}],\
            "consents":[{"clientID":"claude","service":null,"scope":"openid","givenAt":"\(time)"},\
            {"clientID":"claude","service":"https://api.example.com","scope":"openid","givenAt":"\(time)"}],\
            "notifications":[{"type":"consent-revoked","clientID":"com.example.app",\
            "eventTime":"\(time)","receivedAt":"\(time)","outcome":"applied"}],"events":[{"id":"evt_00000000000000000000000001","type":"session.ended",\
            "time":"\(time)","data":{"user":"\(user)","cause":"consent_revoked"}}]}
            """
        var export = AccountExport(record, at: moment, reading: Self.reading(items))
        var bytes: [UInt8] = []
        while let piece = try await export.next() { bytes += piece }
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test("a long export is one document, and is truncated if the person is deleted meanwhile")
    func longExport() async throws {
        let moment = Timestamp(seconds: 1_790_000_000)
        let user = UserID(unchecked: "usr_00000000000000000000000001")
        let record = AccountRecord(
            user: User(id: user, state: .active, appleSubject: AppleSubject("001.sub"), createdAt: moment),
            identities: [])
        let events = (0..<2_345).map { number in
            AccountItem.event(
                JournalEntry(
                    id: EventID(sequence: Int64(number), salt: [UInt8](repeating: 1, count: 10)), kind: .userUpdated,
                    time: moment, user: user))
        }
        var export = AccountExport(record, at: moment, reading: Self.reading([.events: events]))
        var bytes: [UInt8] = []
        while let piece = try await export.next() {
            #expect(piece.count <= 65_536)
            bytes += piece
        }
        let found = try JSONReader.parse(bytes).objectValue?["events"]?.arrayValue
        #expect(found?.count == 2_345)
        #expect(Set((found ?? []).compactMap { $0.objectValue?["id"]?.stringValue }).count == 2_345)

        var broken = AccountExport(
            record, at: moment, reading: Self.reading([.events: events], isGoneAfter: 3))
        await #expect(throws: Failure.self) { while try await broken.next() != nil {} }
    }

    /// Somebody's data, a page at a time.
    private static func reading(
        _ items: [AccountList: [AccountItem]], isGoneAfter last: Int = .max
    ) -> AccountExport.Reading {
        { list, place, limit in
            var start = 0
            if case .event(let sequence) = place { start = Int(sequence) }
            guard start / limit < last else { return nil }
            let all = items[list] ?? []
            let page = Array(all.dropFirst(start).prefix(limit))
            let end = start + page.count
            return Page(items: page, next: end < all.count ? .event(sequence: Int64(end)) : nil)
        }
    }

    @Test func failingStoreGivesNoFile() async throws {
        let site = try Site.signedIn(isFailing: true)
        let response = await site.get("/account/export", cookie: site.cookie)
        #expect(response.status == .serviceUnavailable)
        #expect(response.fields[.contentDisposition] == nil)
    }
}
