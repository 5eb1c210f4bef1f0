import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// A link belongs to the API key that began it, and to the browser that goes to it first.
@Suite struct LinkOwnerTests {
    private let site: LinkSite

    init() throws { site = try LinkSite() }

    @Test("Another key's link is unknown, and its tries are not used up")
    func belongsToItsKey() async throws {
        let (key, other) = (try await site.key(), try await site.key([.links, .linksReplace]))
        let link = try await site.link(key: key)
        let code = try await site.code(of: link)
        let unknown = await site.complete("lnk_00000000000000000000000009", code, other)
        for guess in [code, "x", "x", "x", "x", "x", "x"] {
            let answer = await site.complete(link.id, guess, other)
            #expect(answer.status == .notFound && answer.code == unknown.code)
        }
        #expect(try await site.database.user(externalID: "42") == nil)
        #expect(await site.complete(link.id, code, key).status == .ok)
        #expect(await site.complete(link.id, code, other).code == "link_unknown")
        #expect(await site.complete(link.id, code, key).status == .ok)
    }

    @Test("A link ends with its key: its page says so, and no other key completes it")
    func endsWithItsKey() async throws {
        let key = try await site.key()
        let stored = try #require(try await site.database.apiKeys().first)
        let other = try await site.key()
        let open = try await site.link("1", key: key)
        let authorized = try await site.link("2", key: key)
        let kept = try await site.link("3", key: other)
        let code = try await site.code(of: authorized)
        #expect(try await site.database.revokeAPIKey(stored.id, at: site.clock.now()))
        #expect(await site.get(open.url, site.browser()).status == .conflict)
        #expect(await site.complete(authorized.id, code, other).status == .notFound)
        #expect(await site.complete(authorized.id, code, key).code == "invalid_token")
        #expect(await site.get(kept.url, site.browser()).status == .ok)
    }

    @Test(
        "A preview of a link does not claim it for its browser",
        arguments: [
            (HTTPRequest.Method.head, "", "", 200), (.get, "Sec-Purpose", "prefetch", 503),
            (.get, "Sec-Purpose", "prefetch;prerender", 503),
            (.get, "Sec-Purpose", "prefetch;anonymous-client-ip", 503),
            (.get, "Purpose", "prefetch", 503), (.get, "X-Purpose", "preview", 503), (.get, "X-Moz", "prefetch", 503),
            (.get, "Sec-Fetch-Mode", "no-cors", 200), (.get, "Sec-Fetch-Mode", "cors", 200),
        ])
    func previewClaimsNothing(_ method: HTTPRequest.Method, name: String, value: String, status: Int) async throws {
        let link = try await site.link(key: try await site.key())
        var fields = site.browser(LinkSite.otherBinding)
        if let name = HTTPField.Name(name) { fields[name] = value }
        let look = await site.send(method, link.url, fields)
        #expect(look.status.code == status)
        #expect(look.setCookies.isEmpty)
        if method == .get, status == 200 {
            // What the page holds is of no use to who looked.
            let (state, nonce) = try site.attempt(look)
            let answer = await site.post(
                "/apple/callback", form: [("state", state), ("code", "c1"), ("id_token", "001|\(nonce)|c1")], fields)
            #expect(answer.status == .badRequest)
        }
        // Without the token nothing is shown.
        for path in ["", "/apple", "/attempt"] {
            let look = await site.send(method, link.page + path, fields)
            #expect(look.status.code == (status == 200 ? 400 : status), "\(path)")
            #expect(!look.text.contains("ada@orchard"))
        }
        let page = await site.get(link.url, site.browser())
        #expect(page.status == .ok)
        #expect(try await site.callback(page).parameter("code") != nil)
    }

    @Test("A visit claims the link: the next browser is refused")
    func visitClaims() async throws {
        let link = try await site.link(key: try await site.key())
        var fields = site.browser()
        fields[.init("Sec-Fetch-Mode")!] = "navigate"
        #expect(await site.get(link.url, fields).status == .ok)
        #expect(await site.get(link.url, site.browser(LinkSite.otherBinding)).status == .badRequest)
        #expect(await site.send(.head, link.url, site.browser()).status == .ok)
    }
}
