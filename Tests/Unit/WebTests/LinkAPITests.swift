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
    @Test("A link is created for its backend, and its page names the account")
    func creation() async throws {
        let site = try LinkSite()
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

    @Test("By ticket in a browser: Apple's answer, the code, the backend, the user")
    func browser() async throws {
        let site = try LinkSite()
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
    @Test("A link that fails before Apple's token is verified leaves the name with its browser, and takes it up again")
    func keepsTheName() async throws {
        let site = try LinkSite()
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

    @Test("A link's callback that is one too many of its address leaves the name, and leads back to the link")
    func turnedAway() async throws {
        let site = try LinkSite(adjust: { $0.limits.signInsPerMinute = 1 })
        let link = try await site.link(key: try await site.key())
        let refused = try await site.callback(await site.get(link.url, site.browser()), user: "Anna")
        #expect(refused.status == .tooManyRequests && refused.fields[.retryAfter] != nil)
        #expect(refused.setCookies.count == 1 && refused.setCookies.first?.hasPrefix("__Host-bramley-name=") == true)
        #expect(refused.text.contains("href=\"/link/\(link.id)\"") && !refused.text.contains("Anna"))
    }

    @Test("By ticket from an app: the same request is given the same code, another one none")
    func app() async throws {
        let site = try LinkSite()
        let key = try await site.key()
        let link = try await site.link(key: key)
        let path = "/api/v1/links/\(link.id)/authorize"
        let bearer: HTTPFields = [.authorization: "bearer \(link.ticket)"]
        let body = site.authorization("ada", link.nonce)
        let first = await site.json(path, body, bearer)
        #expect(first.status == .ok)
        let code = try #require(first.json?["code"]?.stringValue)
        #expect(await site.json(path, body, bearer).json?["code"]?.stringValue == code)
        #expect(await site.json(path, site.authorization("eve", link.nonce, code: "c2"), bearer).code == "nonce_used")
        let done = await site.complete(link.id, code, key)
        #expect(done.json?["user"]?.objectValue?["appleSubject"]?.stringValue == "ada")
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

    @Test("A link is authorized with its own ticket alone")
    func tickets() async throws {
        let site = try LinkSite()
        let key = try await site.key()
        let (link, other) = (try await site.link(key: key), try await site.link("43", key: key))
        let path = "/api/v1/links/\(link.id)/authorize"
        let body = site.authorization("ada", link.nonce)
        let none = await site.json(path, body)
        #expect(none.status == .unauthorized && none.code == "token_required")
        #expect(none.fields[.wwwAuthenticate] == "Bearer")
        for value in [
            "Bearer \(other.ticket)", "Bearer brt_" + String(repeating: "A", count: 43), "Bearer", "Bearer x",
            "Basic \(link.ticket)", "Bearer \(link.ticket)A", key[.authorization] ?? "",
        ] {
            let response = await site.json(path, body, [.authorization: value])
            #expect(response.status == .notFound && response.code == "link_unknown", "\(value)")
        }
        var twice = HTTPFields()
        for _ in 0..<2 { twice.append(HTTPField(name: .authorization, value: "Bearer \(link.ticket)")) }
        #expect(await site.json(path, body, twice).code == "link_unknown")
        // Nor does a cookie stand for it.
        #expect(await site.json(path, body, [.cookie: "__Host-bramley=\(link.ticket)"]).code == "token_required")
        // The nonce is this link's.
        let swapped = await site.json(
            path, site.authorization("ada", other.nonce), [.authorization: "Bearer \(link.ticket)"])
        #expect(swapped.code == "identity_token")
        #expect(await site.json(path, body, [.authorization: "Bearer \(link.ticket)"]).status == .ok)
    }

    @Test("Keys need the scope, and replacing needs its own")
    func scopes() async throws {
        let site = try LinkSite()
        let links = try await site.key()
        let others = try await site.key(APIScope.allCases.filter { $0 != .links })
        let link = try await site.link(key: links)
        for (path, body) in [
            ("/api/v1/links", #"{"externalID":"1","kind":"link","displayName":"x"}"#),
            ("/api/v1/links/\(link.id)/complete", #"{"code":"x"}"#),
        ] {
            #expect(await site.json(path, body).code == "api_key_required")
            let response = await site.json(path, body, others)
            #expect(response.status == .forbidden && response.code == "insufficient_scope")
        }
        func connect(_ subject: String, _ code: String, key: HTTPFields) async throws -> ServerResponse {
            let link = try await site.link(key: key)
            let answer = await site.json(
                "/api/v1/links/\(link.id)/authorize", site.authorization(subject, link.nonce, code: code),
                [.authorization: "Bearer \(link.ticket)"])
            let secret = try #require(answer.json?["code"]?.stringValue)
            return await site.complete(link.id, secret, key)
        }
        #expect(try await connect("ada", "c1", key: links).status == .ok)
        let refused = try await connect("eve", "c2", key: links)
        #expect(refused.status == .conflict && refused.code == "account-already-linked")
        #expect(try await connect("eve", "c3", key: try await site.key([.links, .linksReplace])).status == .ok)
        #expect(try await site.database.user(externalID: "42")?.appleSubject == AppleSubject("eve"))
    }

    @Test(
        "A malformed link is refused with the reason",
        arguments: [
            "", "[]", "{}", #"{"externalID":"1","kind":"link"}"#, #"{"externalID":"","kind":"link","displayName":"x"}"#,
            #"{"externalID":"1","kind":"LINK","displayName":"x"}"#,
            #"{"externalID":"1","kind":"link","displayName":"x","ticket":"brt_x"}"#,
            #"{"externalID":"1","kind":"link","displayName":"x","returnTo":"https://evil.example/"}"#,
            #"{"externalID":"1","kind":"link","displayName":"x","returnTo":"//evil.example/"}"#,
            #"{"externalID":"1","kind":"link","displayName":"x\u0000"}"#,
            #"{"externalID":"1","externalID":"2","kind":"link","displayName":"x"}"#,
            #"{"externalID":"1","kind":"link","displayName":"x","mayReplace":true}"#,
            #"{"externalID":1,"kind":"link","displayName":"x"}"#,
            #"{"externalID":"a\u0000","kind":"link","displayName":"x"}"#,
            #"{"externalID":"\#(String(repeating: "a", count: 256))","kind":"link","displayName":"x"}"#,
            #"{"externalID":"1","kind":"link","displayName":""}"#,
            #"{"externalID":"1","kind":"link","displayName":"\#(String(repeating: "a", count: 129))"}"#,
        ])
    func refusals(_ body: String) async throws {
        let site = try LinkSite()
        let response = await site.json("/api/v1/links", body, try await site.key())
        #expect(response.status == .badRequest && response.code == "invalid_request")
        #expect(response.json?["detail"]?.stringValue?.isEmpty == false)
    }

    @Test("A link to replace a password is a link: its page says so, and its end is told")
    func upgrade() async throws {
        let site = try LinkSite()
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
        #expect(events.map(\.link?.rawValue) == [nil, link.id])
        let listed = await site.get("/api/v1/events", try await site.key([.eventsRead]))
        #expect(listed.items.map { $0["data"]?.objectValue?["link"]?.stringValue } == [nil, link.id])
    }

    @Test(
        "A completed link whose account Apple does not open says why",
        arguments: [
            (UserPatch(state: .disabled), 403, "user_disabled"), (UserPatch(state: .pending), 403, "user_pending"),
            (UserPatch(externalID: .some(nil)), 409, "link_ended"),
            (UserPatch(externalID: .some("43")), 409, "link_ended"),
        ])
    func closed(patch: UserPatch, status: Int, code: String) async throws {
        let site = try LinkSite()
        let key = try await site.key()
        let link = try await site.link(kind: "upgrade", key: key)
        let secret = try await site.code(of: link)
        func complete() async -> ServerResponse {
            await site.complete(link.id, secret, key)
        }
        #expect(await complete().status == .ok)
        let user = try #require(try await site.database.user(externalID: "42"))
        _ = try await site.database.patchUser(user.id, patch, at: site.clock.now())
        let refused = await complete()
        #expect(refused.status.code == status && refused.code == code)
        _ = try await site.database.patchUser(
            user.id, UserPatch(externalID: .some("42"), state: .active), at: site.clock.now())
        #expect(await complete().status == .ok)
        _ = try await site.database.deleteUser(user.id, at: site.clock.now())
        #expect(await complete().code == "link_unknown")
    }

    @Test("A withdrawn consent is a refusal like that of a sign-in")
    func withdrawn() async throws {
        let site = try LinkSite()
        let key = try await site.key()
        let link = try await site.link(kind: "upgrade", key: key)
        let code = try await site.code(of: link)
        let body = #"{"code":"\#(code)"}"#
        #expect(await site.json("/api/v1/links/\(link.id)/complete", body, key).status == .ok)
        site.clock.advance(seconds: 60)
        let told = AppleNotification(
            id: "n", kind: .consentRevoked, type: "consent-revoked", clientID: ClientID("com.example.web"),
            subject: AppleSubject("ada"), eventTime: site.clock.now(), payload: "{}")
        _ = try await site.database.apply(told, team: TeamID("TEAM123456"), at: site.clock.now())
        let refused = await site.json("/api/v1/links/\(link.id)/complete", body, key)
        #expect(refused.status == .badRequest && refused.code == "revoked")
    }

    @Test(
        "The former routes for passwords answer 404",
        arguments: ["/upgrade", "/upgrade/second-factor", "/api/v1/upgrades"])
    func noPasswords(path: String) async throws {
        let site = try LinkSite()
        #expect(await site.get(path, site.browser()).status == .notFound)
        #expect(await site.json(path, #"{"username":"ada","password":"x"}"#, site.browser()).status == .notFound)
    }

    @Test("Unknown, ended and expired links have their codes, and their pages lead on")
    func ends() async throws {
        let site = try LinkSite()
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

    @Test("Posts of other sites do nothing, whatever cookies they bring")
    func crossSite() async throws {
        let site = try LinkSite(asksExisting: true)
        let link = try await site.link(key: try await site.key())
        _ = await site.get(link.url, site.browser())
        for path in [link.page, "/login/existing"] {
            for (name, value) in [
                (HTTPField.Name.secFetchSite, "cross-site"), (.secFetchSite, "same-site"), (.secFetchSite, "none"),
                (.origin, "https://evil.example"), (.origin, "null"),
            ] {
                var fields = site.browser()
                fields[.secFetchSite] = nil
                fields[name] = value
                let response = await site.post(path, form: [("choice", "connect")], fields)
                #expect(response.status == .forbidden, "\(path) \(name) \(value)")
            }
        }
    }

    @Test("The page without scripts, and the one that stays open")
    func attempts() async throws {
        let site = try LinkSite()
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
    @Test("The id alone opens a link in no browser but the one that opened its address")
    func idAlone() async throws {
        let site = try LinkSite()
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

    @Test("The page names who is signed in here")
    func signedIn() async throws {
        let site = try LinkSite()
        let answer = try await site.callback(await site.get("/login", site.browser()), subject: "zoe")
        let cookie = try #require(answer.setCookies.first { $0.hasPrefix("__Host-bramley=") })
        let session = String(cookie.dropFirst(15).prefix { $0 != ";" })
        let link = try await site.link(key: try await site.key())
        let page = await site.get(link.url, site.browser(session: session))
        #expect(page.text.contains("In this browser, <bdi>zoe@example.com</bdi> is signed in"))
        #expect(page.text.contains("ada@orchard"))
    }
}
