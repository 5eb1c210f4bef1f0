import Coding
import HTTP
import HTTPTypes
import Sockets
import Testing
import Web

@testable import Accounts

@Suite struct SecurityHeadersTests {
    static let requests: [(HTTPRequest.Method, String)] = [
        (.get, "/"), (.get, "/login"), (.get, "/login/attempt"), (.get, "/login/apple"), (.get, "/apple/callback"),
        (.post, "/apple/callback"), (.post, "/apple/notifications"), (.get, "/account"), (.get, "/logout"),
        (.post, "/logout"), (.get, "/auth/verify"), (.get, "/auth/verify?redirect=true"), (.get, "/api/v1/session"),
        (.delete, "/api/v1/session"), (.get, "/nothing"), (.options, "/login"), (.head, "/login"),
        (.get, "/login?return_to=https://evil.example"), (.get, "/%2e%2e/x"), (.get, "/api/v1/nothing"),
        (.get, "/assets/nothing.css"), (.put, "/login"), (HTTPRequest.Method("BREW")!, "/login"), (.get, "/%zz"),
        (.get, "/auth/verify?optional=true"),
    ]

    @Test("Every response has the fields, signed in or not", arguments: requests)
    func always(_ method: HTTPRequest.Method, _ target: String) async throws {
        let site = try Site.signedIn()
        for cookie in ["", site.cookie] {
            let response = await site.send(method, target, [.cookie: cookie])
            let fields = response.fields
            #expect(fields[.strictTransportSecurity] == "max-age=31536000")
            #expect(fields[.xContentTypeOptions] == "nosniff")
            #expect(fields[.cacheControl] == "no-store")
            #expect(response.policy.contains("frame-ancestors 'none'"))
            #expect(response.policy.contains("default-src 'none'"))
            #expect(fields[.referrerPolicy] == "no-referrer" || fields[.referrerPolicy] == "same-origin")
            #expect(fields[.openerPolicy] == "same-origin")
            #expect(fields[.server] == nil)
            if !response.bytes.isEmpty {
                #expect(
                    ["text/html; charset=utf-8", "application/json", "application/problem+json"]
                        .contains(fields[.contentType]))
            }
        }
    }

    @Test func loginPolicyNamesAppleAndTheNonce() async throws {
        let site = try Site()
        let page = await site.get("/login")
        let nonce = try #require(page.text.firstMatch(of: /<script nonce="([A-Za-z0-9_-]{22})"/)?.1)
        #expect(
            page.policy
                == "default-src 'none'; script-src 'nonce-\(nonce)' https://appleid.cdn-apple.com; connect-src 'self'; "
                + "style-src 'self' 'unsafe-inline'; font-src data:; img-src 'self' https://appleid.cdn-apple.com; "
                + "base-uri 'none'; form-action 'self' https://app.example.com; frame-ancestors 'none'")
        #expect(page.fields[.referrerPolicy] == "no-referrer")
        let other = await site.get("/login")
        #expect(!other.policy.contains(nonce))
    }

    /// Apple's window answers its opener, and the page posts that answer with an Origin of its own.
    @Test func loginPageWithThePopupKeepsItsOpenerAndOrigin() async throws {
        let site = try Site(adjust: { $0.login.opensWindow = true })
        let page = await site.get("/login?return_to=%2Faccount")
        #expect(page.fields[values: .openerPolicy] == ["same-origin-allow-popups"])
        #expect(page.fields[values: .referrerPolicy] == ["same-origin"])
        #expect(page.policy.contains("form-action 'self' https://app.example.com;"))
        #expect(page.policy.contains("frame-ancestors 'none'"))
        site.signIn()
        for target in ["/login/attempt", "/login/apple", "/account", "/nothing", "/login?return_to=//evil"] {
            let other = await site.get(target, cookie: site.cookie)
            #expect(other.fields[values: .openerPolicy] == ["same-origin"], "\(target)")
        }
    }

    @Test func appleSourcesFollowTheConfiguration() async throws {
        let site = try Site(adjust: { $0.apple.scriptURL = "http://127.0.0.1:9099/appleid/1/{locale}/appleid.auth.js" })
        let page = await site.get("/login")
        #expect(page.policy.contains("' http://127.0.0.1:9099; connect-src"))
        #expect(page.policy.contains("img-src 'self' http://127.0.0.1:9099;"))
        #expect(page.text.contains("src=\"http://127.0.0.1:9099/appleid/1/en_US/appleid.auth.js\""))
        #expect(!page.text.contains("apple.com"))
    }

    @Test func pagesWithFormsKeepTheirOrigin() async throws {
        let site = try Site.signedIn()
        #expect(await site.get("/account", cookie: site.cookie).fields[.referrerPolicy] == "same-origin")
        #expect(await site.get("/logout", cookie: site.cookie).fields[.referrerPolicy] == "same-origin")
        #expect(await site.get("/logout").fields[.referrerPolicy] == "no-referrer")
    }

    @Test func onlyTheLoginPageHasInlineStylesAndNoPageScripts() async throws {
        let site = try Site.signedIn()
        for target in ["/account", "/logout", "/nothing"] {
            let page = await site.get(target, cookie: site.cookie)
            #expect(page.policy.contains("style-src 'self';"))
            #expect(!page.policy.contains("unsafe-inline"))
            #expect(!page.text.contains("style=\""))
        }
        for target in ["/login", "/account", "/logout", "/nothing"] {
            let page = await site.get(target, cookie: site.cookie).text
            #expect(page.matches(of: /<script(?![^>]*src=)/).isEmpty)
            #expect(page.matches(of: /\son[a-z]+=/).isEmpty)
            #expect(page.matches(of: /javascript:/).isEmpty)
        }
    }

    @Test func versionedAssetsAreCachedPermanently() async throws {
        let site = try Site()
        let page = await site.get("/login").text
        let link = try #require(page.firstMatch(of: /href="(\/assets\/bramley\.css\?v=[0-9a-f]+)"/)?.1)
        let asset = await site.get(String(link))
        #expect(asset.status == .ok)
        #expect(asset.fields[.contentType] == "text/css; charset=utf-8")
        #expect(asset.fields[.cacheControl] == "public, max-age=31536000, immutable")
        #expect(asset.fields[.strictTransportSecurity] != nil)
        #expect(asset.fields[.xContentTypeOptions] == "nosniff")
        let tag = try #require(asset.fields[.eTag])
        #expect(await site.get(String(link), [.ifNoneMatch: tag]).status == .notModified)
    }
}

extension HTTPField.Name {
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
    static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode")!
}
