import AppleSimulator
import Coding
import Foundation
import Testing

/// Where a sign-in may lead.
@Suite struct ReturnTargetsOfALogin {
    private static let options = SiteOptions(configuration: [
        ("login", ["allowedReturnOrigins": ["https://app.example.com", "https://app.example.com:8443"]])
    ])

    /// One of each kind; AccountsTests (`ReturnTargetTests`) have them all.
    static let hostile = [
        "//evil.example", "/\\evil.example", "https:evil.example", "\t//evil.example", "/%2fevil.example",
        "https://app.example.com@evil.example/", "https://app.example.com.evil.example", "http://app.example.com",
        "https://app.example.com:444", "https://аpp.example.com", "javascript:alert(1)", "/\r\nSet-Cookie: x=y",
        "/%0d%0aSet-Cookie:%20x=y", "/a\r\n\r\n<script>", "/../../evil", "evil.example",
        "/" + String(repeating: "a", count: 2000),
    ]

    static let good = [
        ("/a/b?c=d&e=https://evil.example#f", "/a/b?c=d&e=https://evil.example#f"),
        ("https://app.example.com:8443/x", "https://app.example.com:8443/x"),
        ("HTTPS://APP.example.com/X", "https://app.example.com/X"), ("/ä", "/%C3%A4"),
    ]

    @Test func hostileTargetsAreRefusedOnEveryRoute() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = try await site.signedIn()
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
}
