import Coding
import HTTP
import HTTPTypes
import Storage
import Stores
import Synchronization
import Testing
import Web

@testable import Accounts

/// `/api/v1/links` and the page a link leads to.
@Suite struct LinkAPITests {
    private let site: LinkSite

    init() throws { site = try LinkSite() }

    @Test("A link is created for its backend, and its page names the account")
    func creation() async throws {
        let response = await site.json(
            "/api/v1/links",
            #"{"externalID":"42","kind":"link","displayName":"<b>ada","returnTo":"https://app.example.com/x"}"#,
            try await site.key())
        #expect(response.status == .created)
        let object = try #require(response.json)
        #expect(object.members.map(\.name) == ["id", "url", "ticket", "nonce", "expiresAt"])
        #expect(object["expiresAt"]?.stringValue == "2026-09-21T14:23:20.000Z")
        let url = try #require(object["url"]?.stringValue)
        #expect(response.location == url)
        let address = "https://login.example.com/link/\(object["id"]?.stringValue ?? "")?token=bra_"
        #expect(url.hasPrefix(address) && url.utf8.count == address.utf8.count + 43)
        #expect(response.fields[.cacheControl] == "no-store")
        let page = await site.get(url.replacing("https://login.example.com", with: ""), site.browser())
        #expect(page.status == .ok)
        #expect(page.text.contains("&lt;b&gt;ada") && !page.text.contains("<b>ada"))
        #expect(page.text.contains("Connect your Apple Account"))
        #expect(page.fields[.cacheControl] == "no-store")
        #expect(page.policy.contains("form-action 'self' https://app.example.com;"))
        _ = try site.attempt(page)
    }

    @Test("A browser completes a link by ticket: Apple's answer, the code, the backend, the user")
    func browser() async throws {
        let key = try await site.key()
        let link = try await site.link(key: key)
        let answer = try await site.callback(await site.get(link.url, site.browser()))
        #expect(answer.status == .seeOther)
        let code = try #require(answer.parameter("code"))
        #expect(answer.location == "https://app.example.com/done?x=1&link=\(link.id)&code=\(code)#f")
        // No session: the application has its own.
        #expect(answer.setCookies.allSatisfy { !$0.hasPrefix("__Host-bramley=") })
        #expect(try await site.database.user(externalID: "42") == nil)
        #expect(await site.json("/api/v1/links/\(link.id)/complete", #"{"code":"x"}"#, key).code == "code_invalid")
        for _ in 0..<2 {
            let done = await site.complete(link.id, code, key)
            #expect(done.status == .ok)
            #expect(done.json?["result"]?.stringValue == "success")
            #expect(done.json?["user"]?.objectValue?["externalID"]?.stringValue == "42")
            #expect(done.json?["user"]?.objectValue?["appleSubject"]?.stringValue == "ada")
        }
        #expect(await site.get(link.url, site.browser()).status == .conflict)
    }

    /// Regression: the name that Apple sends once was gone when Apple's keys could not be had at that moment.
    @Test("A link that fails before Apple's token is verified leaves the name with its browser, and uses it later")
    func keepsTheName() async throws {
        let key = try await site.key()
        let link = try await site.link(key: key)
        site.apple.verifyFailure.withLock { $0 = Failure(.keysUnavailable, "down") }
        let failed = try await site.callback(await site.get(link.url, site.browser()), user: "Anna")
        #expect(failed.status == .serviceUnavailable)
        let cookie = try #require(failed.setCookies.first { $0.hasPrefix("__Host-bramley-name=") })
        #expect(!failed.text.contains("Anna"))
        site.apple.verifyFailure.withLock { $0 = nil }
        let kept = String(cookie.prefix { $0 != ";" })
        let again = try await site.callback(await site.get(link.url, site.browser()), code: "c2", keptName: kept)
        let code = try #require(again.parameter("code"))
        #expect(again.setCookies.contains { $0.hasPrefix("__Host-bramley-name=;") })
        #expect(
            await site.complete(link.id, code, key).status == .ok)
        #expect(try await site.database.user(externalID: "42")?.name.given == "Anna")
    }

    @Test("A rate-limited callback of a link keeps the name and returns to the link")
    func turnedAway() async throws {
        let site = try LinkSite(adjust: { $0.limits.signInsPerMinute = 1 })
        let link = try await site.link(key: try await site.key())
        let refused = try await site.callback(await site.get(link.url, site.browser()), user: "Anna")
        #expect(refused.status == .tooManyRequests && refused.fields[.retryAfter] != nil)
        #expect(refused.setCookies.count == 1 && refused.setCookies.first?.hasPrefix("__Host-bramley-name=") == true)
        #expect(refused.text.contains("href=\"/link/\(link.id)\"") && !refused.text.contains("Anna"))
    }

    /// In it the link is claimed: without it the very browser that opened the page would be another one.
    @Test("The cookie that ties a link to its browser lives as long as the link, however short an attempt may be")
    func cookieOutlivesAttempts() async throws {
        let site = try LinkSite(adjust: { $0.signIn.attemptLifetime = 120 })
        let link = try await site.link(key: try await site.key())
        let opened = await site.get(link.url)
        #expect(opened.setCookies.first?.contains("; Max-Age=600;") == true)
        let login = await site.get("/login")
        #expect(login.setCookies.first?.contains("; Max-Age=120;") == true)
    }

    @Test("A link that replaces a password says so on its page, and has its event")
    func upgrade() async throws {
        let key = try await site.key()
        let link = try await site.link(kind: "upgrade", key: key)
        let page = await site.get(link.url, site.browser())
        #expect(page.text.contains("Replace your password with Apple"))
        let code = try #require(try await site.callback(page).parameter("code"))
        for _ in 0..<2 {
            let done = await site.complete(link.id, code, key)
            #expect(done.status == .ok && done.json?.members.map(\.name) == ["result", "user"])
        }
        let events = try await site.database.events(after: nil, limit: 10)
        #expect(events.map(\.kind) == [.userCreated, .accountUpgraded])
        #expect(events.map(\.externalID) == ["42", "42"])
        #expect(events.map(\.link?.rawValue) == [nil, link.id])
        let listed = await site.get("/api/v1/events", try await site.key([.eventsRead]))
        #expect(listed.items.map { $0["data"]?.objectValue?["link"]?.stringValue } == [nil, link.id])
    }

    @Test("Unknown, ended and expired links have their codes, and their pages a next step")
    func ends() async throws {
        let key = try await site.key()
        for id in ["lnk_00000000000000000000000000", "upg_00000000000000000000000000", "x", "lnk_%2e"] {
            #expect(await site.json("/api/v1/links/\(id)/complete", #"{"code":"x"}"#, key).status == .notFound)
            let page = await site.get("/link/\(id)", site.browser())
            #expect(page.status == .notFound)
            #expect(page.text.contains("class=\"button primary\""))
        }
        let link = try await site.link(key: key)
        let page = await site.get(link.url, site.browser())
        let cancelled = try await site.callback(page, error: "user_cancelled_authorize")
        #expect(cancelled.status == .badRequest)
        #expect(cancelled.text.contains("href=\"\(link.page)\""))
        #expect(cancelled.text.contains("href=\"https://app.example.com/done?x=1#f\""))
        site.clock.advance(seconds: 600)
        let late = await site.get(link.url, site.browser())
        #expect(late.status == .gone)
        #expect(
            await site.json(
                "/api/v1/links/\(link.id)/authorize", site.authorization("ada", link.nonce),
                [.authorization: "Bearer \(link.ticket)"]
            ).code == "link_expired")
        for _ in 0..<5 {
            _ = await site.json("/api/v1/links/\(link.id)/complete", #"{"code":"x"}"#, key)
        }
    }

    @Test("The page works without scripts, and when it stays open")
    func attempts() async throws {
        let link = try await site.link(key: try await site.key())
        _ = await site.get(link.url, site.browser())
        let direct = await site.get(link.page + "/apple", site.browser())
        #expect(direct.status == .seeOther)
        #expect(direct.location?.hasPrefix("https://appleid.apple.com/auth/authorize?") == true)
        // Another site's link does not go past the page that names the account.
        var elsewhere = site.browser()
        for value in ["cross-site", "same-site", "none"] {
            elsewhere[.secFetchSite] = value
            #expect(await site.get(link.page + "/apple", elsewhere).location == link.page)
        }
        let fresh = await site.get(link.page + "/attempt", site.browser())
        #expect(fresh.json?.members.map(\.name) == ["state", "nonce", "expiresAt", "renewAfter"])
        #expect(await site.get("/link/x/attempt").fields[.contentType] == "application/problem+json")
    }

    /// The id is in the log before the browser that was given the address is there.
    @Test("The ID opens a link only in the browser that opened its address")
    func idAlone() async throws {
        let link = try await site.link(key: try await site.key())
        let stranger = site.browser(LinkSite.otherBinding)
        func tryAll(_ browser: HTTPFields) async {
            for path in ["", "/attempt", "/apple"] {
                let answer = await site.get(link.page + path, browser)
                #expect(answer.status == .badRequest && !answer.text.contains("ada@orchard"), "\(path)")
                #expect(answer.location == nil && answer.json?["state"] == nil)
            }
            // There is nothing to connect with.
            #expect(await site.post(link.page, browser).location == link.page)
        }
        await tryAll(stranger)
        await tryAll([.secFetchSite: "same-origin", .contentType: "application/x-www-form-urlencoded"])
        let other = try await site.link("43", key: try await site.key())
        let token = String(try #require(other.url.split(separator: "=").last))
        for wrong in [
            "bra_" + String(repeating: "A", count: 43), "", "x", link.id, link.ticket, token, token + "&token=" + token,
        ] {
            #expect(await site.get(link.page + "?token=" + wrong, stranger).status == .notFound, "\(wrong)")
        }
        // None of it was in the way of the right one, which the id leads back to.
        #expect(await site.get(link.url, site.browser()).status == .ok)
        #expect(await site.get(link.url, site.browser()).status == .ok)
        let page = await site.get(link.page, site.browser())
        #expect(page.status == .ok && page.text.contains("ada@orchard"))
        // By then the address is worth nothing to others.
        #expect(await site.get(link.url, stranger).status == .badRequest)
        await tryAll(stranger)
        _ = try await site.callback(page)
    }
}
