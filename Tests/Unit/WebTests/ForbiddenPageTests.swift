import Coding
import Crypto
import HTTP
import HTTPTypes
import LogRecording
import Testing
import Web

@testable import Accounts

/// What a proxy passes on to somebody who may not come in: on another site's address, with nothing to load.
@Suite struct ForbiddenPageTests {
    private func site() throws -> Site {
        let text = "{\"rules\": [{\"path\": \"/admin/*\", \"allow\": {\"groups\": [\"admins\"]}}]}"
        let rules = try AccessRulesFile.read(Array(text.utf8))
        return try Site(publicURL: "https://example.com/in", adjust: { $0.accessRules = rules })
    }

    private func fields(_ others: [String: String]) -> HTTPFields {
        var fields = VerifyRouteTests.original(.forwarded, "https", "app.example.com", "/admin/a?b=\"'&c")
        fields[HTTPField.Name("X-Forwarded-Uri")!] = "/admin/a?b=1&c=%22"
        for (name, value) in others { fields[HTTPField.Name(name)!] = value }
        return fields
    }

    static let browser = ["Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Mode": "navigate"]

    @Test("The page is self-contained", arguments: ["/in/auth/verify", "/in/auth/forbidden", "/in/oauth2/auth"])
    func page(_ target: String) async throws {
        let site = try site()
        site.signIn()
        let response = await site.send(
            .get, target, fields(Self.browser.merging(["Cookie": site.cookie]) { $1 }), trusted: true,
            // At publicURL's name, /oauth2/auth judges no other site.
            host: target.hasSuffix("/oauth2/auth") ? "127.0.0.1:8080" : "example.com")
        #expect(response.status == .forbidden)
        #expect(response.fields[.contentType] == "text/html; charset=utf-8")
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(response.text.contains("You don’t have access to this page"))
        // Links lead to us from wherever the page is shown, and back to the very page after another sign-in.
        let back = "https://app.example.com/admin/a?b=1&amp;c=%22"
        #expect(response.text.contains("action=\"https://example.com/in/logout/switch\""))
        #expect(response.text.contains("name=\"return_to\" value=\"\(back)\""))
        #expect(response.text.contains("href=\"https://example.com/in/account\""))
        for link in response.text.matches(of: /(?:href|src|action)="([^"]*)"/) {
            #expect(link.1.hasPrefix("https://example.com/in/"))
        }
        #expect(response.policy.contains("form-action https://example.com;"))
        // Our form must tell its origin, and its page must not tell more.
        #expect(response.fields[HTTPField.Name("Referrer-Policy")!] == "strict-origin")
        // The policy allows exactly the style that stands there.
        let style = try #require(response.text.firstMatch(of: /<style>([\s\S]*?)<\/style>/)).1
        let digest = Base64URL.encode(SHA256.hash(utf8: String(style)).bytes).replacing("-", with: "+")
            .replacing("_", with: "/")
        #expect(response.policy.contains("style-src 'sha256-\(digest)='"))
        #expect(response.policy.hasPrefix("default-src 'none'"))
    }

    @Test(
        "Applications get a problem document",
        arguments: [
            (["Accept": "*/*"], "text/plain; charset=utf-8"), ([:], "text/plain; charset=utf-8"),
            (["Accept": "application/json"], "application/problem+json"),
            (["Accept": "text/html", "Sec-Fetch-Mode": "cors"], "text/plain; charset=utf-8"),
            (["Accept": "text/html, application/json", "X-Requested-With": "x"], "application/problem+json"),
        ] as [([String: String], String)])
    func programs(_ others: [String: String], type: String) async throws {
        let site = try site()
        site.signIn()
        for target in ["/in/auth/verify", "/in/auth/forbidden"] {
            let response = await site.get(
                target, fields(others.merging(["Cookie": site.cookie]) { $1 }), trusted: true)
            #expect(response.status == .forbidden)
            #expect(response.fields[.contentType] == type)
            if type.hasSuffix("json") { #expect(response.json?["code"]?.stringValue == "not_allowed") }
        }
    }

    @Test("The reason fits the person's state", arguments: [User.State.pending, .disabled])
    func states(_ state: User.State) async throws {
        let site = try site()
        site.signIn(state: state)
        let response = await site.get(
            "/in/auth/forbidden", fields(Self.browser.merging(["Cookie": site.cookie]) { $1 }), trusted: true)
        #expect(response.status == .forbidden)
        #expect(response.text.contains(state == .pending ? "Waiting for approval" : "switched off"))
        #expect(response.text.contains("href=\"https://example.com/in/logout\""))
    }

    @Test func forbiddenIsForbiddenWhoeverAsks() async throws {
        let site = try site()
        let nobody = await site.get("/in/auth/forbidden", fields(Self.browser), trusted: true)
        #expect(nobody.status == .forbidden)
        #expect(nobody.location == nil)
        site.signIn(groups: ["admins"])
        let somebody = await site.get(
            "/in/auth/forbidden", fields(Self.browser.merging(["Cookie": site.cookie]) { $1 }), trusted: true)
        #expect(somebody.status == .forbidden)
        #expect(site.log.lines.contains { $0.contains("info") && $0.contains("reason=not_allowed") })
    }

    @Test func targetOfAnotherSiteIsNotLinked() async throws {
        let site = try site()
        site.signIn()
        var fields = fields(Self.browser.merging(["Cookie": site.cookie]) { $1 })
        fields[HTTPField.Name("X-Forwarded-Host")!] = "evil.example"
        let response = await site.get("/in/auth/verify", fields, trusted: true)
        #expect(response.status == .forbidden)
        #expect(response.text.contains("action=\"https://example.com/in/logout/switch\""))
        #expect(!response.text.contains("return_to"))
        #expect(!response.text.contains("evil"))
    }

    @Test("The page names the account and the log's error ID, and links to help and home")
    func whoseAndWhereTo() async throws {
        let text = "{\"rules\": [{\"path\": \"/admin/*\", \"allow\": {\"groups\": [\"admins\"]}}]}"
        let rules = try AccessRulesFile.read(Array(text.utf8))
        let site = try Site(adjust: {
            $0.accessRules = rules
            $0.site.supportURL = "/help"
            $0.site.homeURL = "https://www.example.com/"
        })
        site.signIn(PersonName(given: "Anna <b>", family: "Appleseed"))
        for target in ["/auth/verify", "/auth/forbidden"] {
            let response = await site.get(
                target, fields(Self.browser.merging(["Cookie": site.cookie]) { $1 }), trusted: true)
            #expect(response.status == .forbidden)
            #expect(
                response.text.contains(
                    "You are signed in as <bdi>Anna &lt;b&gt; Appleseed (anna@example.com)</bdi>."))
            let number = try #require(response.text.firstMatch(of: /<code>([0-9A-F-]{11})<\/code>/)).1
            #expect(site.log.lines.contains { $0.contains("error_id=\(number)") })
            #expect(response.text.contains("href=\"https://login.example.com/help\">Get help</a>"))
            #expect(response.text.contains("href=\"https://www.example.com/\""))
        }
        let nobody = await site.get("/auth/forbidden", fields(Self.browser), trusted: true)
        #expect(nobody.status == .forbidden)
        #expect(!nobody.text.contains("signed in as"))
    }

    @Test func styleThatWouldEndItsElementIsRefusedAtStart() {
        #expect(throws: PagesError.self) {
            try Site(adjust: { $0.pageOverrides = ["assets/bramley.css": Array("a{}</STYLE><script>".utf8)] })
        }
    }
}
