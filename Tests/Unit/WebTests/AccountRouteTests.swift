import Coding
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct AccountRouteTests {
    @Test func accountNamesThePersonAndTheirSessions() async throws {
        let site = try Site.signedIn()
        let response = await site.get("/account", cookie: site.cookie)
        #expect(response.status == .ok)
        let page = response.text
        #expect(page.contains("<h1><bdi>Anna Appleseed</bdi></h1>"))
        #expect(page.contains("anna@example.com"))
        #expect(page.contains("Safari on Mac"))
        #expect(page.contains("This browser"))
        #expect(page.matches(of: /aria-current="true"/).count == 1)
        #expect(page.contains("<form method=\"post\" action=\"/logout\">"))
        #expect(page.contains("<time datetime=\"2026-09-21T"))
    }

    @Test("sessions come in pages of 25, this browser's first")
    func sessionPages() async throws {
        let site = try Site()
        let own = site.signIn().session.id
        let others = site.addSessions(60)
        var found: [String] = []
        var target: String? = "/account"
        for count in [25, 25, 11] {
            let page = await site.get(try #require(target), cookie: site.cookie).text
            let ids = page.matches(of: /name="session" value="(ses_[0-9a-z]+)"/).map { String($0.1) }
            #expect(page.matches(of: /<p class="device">/).count == count)
            #expect(page.contains("aria-current=\"true\"") == found.isEmpty)
            #expect(page.contains("Sign out everywhere else"))
            found += ids
            target = page.firstMatch(of: /href="(\/account\?after=[A-Za-z0-9_-]+)#sessions"/).map { String($0.1) }
        }
        #expect(target == nil && found == others.map(\.rawValue) && !found.contains(own.rawValue))
        let first = await site.get("/account?after=nonsense", cookie: site.cookie).text
        #expect(first.contains("aria-current=\"true\""))
        #expect(await site.get("/account?after=a&after=b", cookie: site.cookie).status == .badRequest)
    }

    @Test("A later page whose sessions have ended meanwhile has no empty list")
    func emptyLaterPage() async throws {
        let site = try Site()
        let own = site.signIn()
        _ = site.addSessions(30)
        let first = await site.get("/account", cookie: site.cookie).text
        let next = try #require(first.firstMatch(of: /href="(\/account\?after=[A-Za-z0-9_-]+)#sessions"/)).1
        _ = try await site.store.endSessions(
            of: own.user.id, except: own.session.id, cause: .signOut, at: site.clock.now())
        let page = await site.get(String(next), cookie: site.cookie).text
        #expect(page.contains("id=\"session-list\"") && !page.contains("<ul class=\"sessions\">"))
    }

    @Test("a private relay is explained, and said not to forward when it does not", arguments: [nil, false] as [Bool?])
    func privateRelay(forwarding: Bool?) async throws {
        let address = EmailAddress(address: "x@privaterelay.appleid.com", isVerified: true, isPrivate: true)
        let site = try Site.signedIn(email: address, forwarding: forwarding)
        let page = await site.get("/account", cookie: site.cookie).text
        #expect(page.contains("A private relay address"))
        #expect(page.contains("is not passing on mail") == (forwarding == false))
    }

    @Test func nothingSharedIsSaidPlainly() async throws {
        let site = try Site.signedIn(PersonName(), email: nil)
        let page = await site.get("/account", cookie: site.cookie).text
        #expect(page.contains("<h1><bdi>Your account</bdi></h1>"))
        #expect(page.matches(of: /Not shared/).count == 2)
    }

    @Test func unverifiedAddressIsMarked() async throws {
        let site = try Site.signedIn(email: EmailAddress(address: "a@b.example", isVerified: false, isPrivate: false))
        #expect(await site.get("/account", cookie: site.cookie).text.contains("not verified"))
    }

    @Test(
        "Users who are not active are told why",
        arguments: [
            (User.State.pending, "Waiting for approval"), (.disabled, "switched off"),
        ])
    func states(_ state: User.State, title: String) async throws {
        let site = try Site.signedIn(state: state)
        let response = await site.get("/account", cookie: site.cookie)
        #expect(response.status == .forbidden)
        #expect(response.text.contains(title))
        #expect(await site.get("/api/v1/session", cookie: site.cookie).status == .forbidden)
    }

    @Test func bearerTokensDoNotSignInOnPages() async throws {
        let site = try Site.signedIn(kind: .native)
        let bearer: HTTPFields = [.authorization: "Bearer \(Site.nativeToken)"]
        #expect(await site.get("/account", bearer).location == "/login?return_to=%2Faccount")
    }

    @Test func storeThatDoesNotAnswerSignsNobodyOut() async throws {
        let site = try Site.signedIn(isFailing: true)
        let response = await site.get("/account", cookie: site.cookie)
        #expect(response.status == .serviceUnavailable)
        #expect(response.setCookies.isEmpty)
        #expect(response.fields[.retryAfter] != nil)
        #expect(response.text.contains("We will be back in a moment"))
        #expect(!response.text.contains("disk full"))
        #expect(site.log.lines.contains { $0.hasPrefix("error") && $0.contains("disk full") })
    }

    @Test func beingSeenIsWrittenOnceAMinuteAndMayFail() async throws {
        let site = try Site.signedIn()
        let signedInAt = site.clock.now()
        site.clock.advance(seconds: 59)
        #expect(await site.get("/account", cookie: site.cookie).status == .ok)
        #expect(site.database.sessions.map(\.lastSeenAt) == [signedInAt])
        site.clock.advance(seconds: 1)
        #expect(await site.get("/account", cookie: site.cookie).status == .ok)
        #expect(site.database.sessions.map(\.lastSeenAt) == [site.clock.now()])
        site.clock.advance(seconds: 60)
        site.database.faults.fail(at: "UPDATE session SET last_seen_at")
        #expect(await site.get("/account", cookie: site.cookie).status == .ok)
        #expect(site.database.faults.failures == 1)
    }
}

@Suite struct LogoutRouteTests {
    @Test func signOutEndsTheSessionClearsTheCookieAndSaysSo() async throws {
        let site = try Site()
        let signedIn = site.signIn()
        let response = await site.post("/logout", [.cookie: site.cookie, .secFetchSite: "same-origin"])
        #expect(response.status == .seeOther)
        #expect(response.location == "/logout")
        #expect(response.setCookies == ["__Host-bramley=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax"])
        #expect(site.database.ended.first?.session == signedIn.session.id)
        #expect(site.database.ended.first?.cause == .signOut)
        #expect(await site.get("/logout", cookie: site.cookie).text.contains("You are signed out"))
    }

    @Test func failedSignOutIsNotConfirmed() async throws {
        let site = try Site.signedIn(isFailing: true)
        let response = await site.post("/logout", [.cookie: site.cookie, .secFetchSite: "same-origin"])
        #expect(response.status == .serviceUnavailable)
        #expect(response.setCookies.isEmpty)
    }

    @Test func gettingTheLogoutPageEndsNothing_AndSignOutMayLeadBack() async throws {
        let site = try Site.signedIn()
        #expect(await site.get("/logout", cookie: site.cookie).text.contains("<form method=\"post\""))
        #expect(await site.get("/api/v1/session", cookie: site.cookie).status == .ok)
        let page = await site.get("/logout?return_to=https%3A%2F%2Fapp.example.com%2Fbye", cookie: site.cookie)
        #expect(page.text.contains("name=\"return_to\" value=\"https://app.example.com/bye\""))
        let fields: HTTPFields = [.cookie: site.cookie, .secFetchSite: "same-origin"]
        let evil = await site.post("/logout", form: [("return_to", "https://evil.example/")], fields)
        #expect(evil.status == .badRequest)
        let out = await site.post("/logout", form: [("return_to", "https://app.example.com/bye")], fields)
        #expect(out.location == "https://app.example.com/bye")
    }
}
