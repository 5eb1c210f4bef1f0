import AppleSimulator
import Coding
import Foundation
import Testing

/// Where a sign-in may lead.
@Suite struct ReturnTargetsOfALogin {
    private static let options = SiteOptions(configuration: [
        ("login", ["allowedReturnOrigins": ["https://app.example.com", "https://app.example.com:8443"]])
    ])

    static let hostile = [
        "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "\\/evil.example",
        "https:evil.example",
        "https:/evil.example", "https:///evil.example", "https:\\\\evil.example", "\t//evil.example", " //evil.example",
        "/\t/evil.example", "/\n/evil.example", "%2f%2fevil.example", "/%2fevil.example", "/%2Fevil.example",
        "/%5cevil.example",
        "/%5Cevil.example", "@evil.example", "https://app.example.com@evil.example/",
        "https://app.example.com:x@evil.example",
        "https://evil.example", "https://evil.example/?https://app.example.com",
        "https://evil.example#https://app.example.com",
        "https://app.example.com.evil.example", "https://evilapp.example.com", "https://sub.app.example.com",
        "http://app.example.com", "https://app.example.com:444", "https://app.example.com:08443",
        "https://app.example.com\\@evil.example", "https://app.example.com%2f@evil.example",
        "https://app.example.com%00.evil.example",
        "https://app.example.com./", "https://app。example.com", "https://аpp.example.com", "javascript:alert(1)",
        "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "about:blank",
        "ftp://app.example.com",
        "/\r\nSet-Cookie: x=y", "/%0d%0aSet-Cookie:%20x=y", "/a\r\n\r\n<script>", "/%00", "/\u{0}", "/..//evil.example",
        "/../../evil", "/.%2e/evil", "/a/../..//evil.example", "/./%2fevil.example", "evil.example", "login", "?x",
        "#x", "*",
        "https://", "https://?", "https://[::1]evil.example", "https://user@app.example.com/",
        "https://app.example.com:443@evil.example", "/" + String(repeating: "a", count: 2000),
    ]

    static let good = [
        ("/account", "/account"), ("/", "/"),
        ("/a/b?c=d&e=https://evil.example#f", "/a/b?c=d&e=https://evil.example#f"),
        ("https://app.example.com", "https://app.example.com/"),
        ("https://app.example.com/x?y", "https://app.example.com/x?y"),
        ("https://app.example.com:8443/x", "https://app.example.com:8443/x"),
        ("https://app.example.com:443/x", "https://app.example.com/x"),
        ("HTTPS://APP.example.com/X", "https://app.example.com/X"),
        ("/ä", "/%C3%A4"), ("/@evil.example", "/@evil.example"), ("/a//b", "/a//b"),
        ("https://app.example.com?x", "https://app.example.com/?x"),
    ]

    @Test func hostileTargetsAreRefusedOnEveryRoute() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn()
            for target in Self.hostile {
                let query = "?return_to=" + Form.escape(target)
                for path in ["/login", "/login/apple", "/login/attempt"] {
                    let visitor = site.browser()
                    let response = try await visitor.get(path + query, from: .sameOrigin)
                    #expect(response.status == 400, "\(path) \(target.debugDescription)")
                    #expect(response["location"] == nil)
                    #expect(response.setCookies.isEmpty)
                    #expect(!response.fields.contains { $0.value.contains("x=y") })
                    #expect(!response.text.contains("evil.example"))
                }
                // Signed in, /login would go there at once; signing out would, too.
                let jump = try await browser.elsewhere().get("/login" + query)
                #expect(jump.status == 400, "\(target.debugDescription)")
                let page = try await browser.elsewhere().get("/logout" + query)
                #expect(page.status == 400, "\(target.debugDescription)")
                let out = try await browser.elsewhere().post("/logout", Form([("return_to", target)]))
                #expect(out.status == 400, "\(target.debugDescription)")
            }
            #expect(try await browser.session() != nil)
        }
    }

    @Test func goodTargetsAreReachedThroughApple() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            for (target, location) in Self.good {
                let response = try await site.browser().signIn(returnTo: target)
                #expect(response["location"] == location, "\(target)")
            }
            let own = try await site.browser().signIn(returnTo: site.publicURL + "/x")
            #expect(own["location"] == site.publicURL + "/x")
        }
    }

    @Test func severalTargetsAreRefused() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            for path in ["/login", "/login/apple", "/login/attempt"] {
                let response = try await site.browser().get(path + "?return_to=/account&return_to=/", from: .sameOrigin)
                #expect(response.status == 400)
            }
        }
    }

    /// Checked again when the attempt is opened: an origin taken off the list since is no longer one to go to.
    @Test func targetIsCheckedAgainAtTheCallback() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = site.browser()
            let form = try await browser.consent(returnTo: "https://app.example.com/x")
            try await site.restart(with: [])
            let response = try await browser.postCallback(form)
            #expect(response.status == 303)
            #expect(response["location"] == "/account")
        }
    }

    @Test func hostHeaderMakesNoOriginOurs() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let response = try await site.browser().get(
                "/login?return_to=" + Form.escape("http://evil.example/"),
                [("Host", "evil.example"), ("X-Forwarded-Host", "evil.example")])
            #expect(response.status == 400)
        }
    }

    /// A target that sends its visitor straight back is explained, not followed in circles.
    @Test func bounceIsExplainedInsteadOfFollowed() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(returnTo: "https://app.example.com/x")
            let back = try await browser.get("/login?return_to=" + Form.escape("https://app.example.com/x"))
            #expect(back.status == 200)
            site.clock.advance(seconds: 11)
            let later = try await browser.get("/login?return_to=" + Form.escape("https://app.example.com/x"))
            #expect(later.status == 303)
        }
    }
}
