import AppleSimulator
import Coding
import Foundation
import Testing

@Suite struct ReturnTargetsOfALogin {
    private static let options = SiteOptions(configuration: [
        ("login", ["allowedReturnOrigins": ["https://app.example.com", "https://app.example.com:8443"]])
    ])

    static let good = [
        ("/a/b?c=d&e=https://evil.example#f", "/a/b?c=d&e=https://evil.example#f"),
        ("https://app.example.com:8443/x", "https://app.example.com:8443/x"),
        ("HTTPS://APP.example.com/X", "https://app.example.com/X"), ("/ä", "/%C3%A4"),
    ]

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

    /// Checked again when the attempt is opened: an origin removed from the list since is refused.
    @Test func targetIsCheckedAgainAtTheCallback() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let (browser, form) = try await site.consent(returnTo: "https://app.example.com/x")
            try await site.restart(with: [])
            let response = try await browser.postCallback(form)
            #expect(response.status == 303)
            #expect(response["location"] == "/account")
        }
    }
}
