import AppleSimulator
import Coding
import Foundation
import Testing

/// Apple calls itself something else, as it nearly did in June 2025: `apple.issuers` names both, and everybody stays who
/// they are.
@Suite struct IssuerChangeTests {
    private static let new = "https://account.apple.com"

    private static func accepting(_ issuers: String...) -> [(String, JSON)] {
        [("apple", ["issuers": .array(issuers.map { .string($0) })])]
    }

    private static func user(_ browser: Browser) async throws -> String? {
        try await browser.session()?["user"]?["id"]?.stringValue
    }

    private static func notify(_ site: Site, _ type: String, about person: String) async throws -> Int {
        let body = try await site.apple.notification(type, about: person)
        var request = WireRequest(method: "POST", target: "/apple/notifications", body: body, context: .program)
        request.fields.append(("Content-Type", "application/json"))
        return try await site.browser().send(request).status
    }

    @Test func thePeopleStayTheSameUnderBothNames() async throws {
        try await withSite { (site: Site) async throws in
            let ada = site.browser()
            try await ada.signIn(as: "ada")
            let id = try #require(try await Self.user(ada))

            try await site.apple.control("PUT", "behaviour", ["issuer": .string(Self.new)])
            // A name nobody configured is nobody's word: neither a sign-in nor a notification.
            let stranger = site.browser()
            #expect(try await stranger.postCallback(try await stranger.consent(as: "ada")).status == 400)
            #expect(site.log.text.contains("iss is not Apple's"))
            #expect(try await Self.notify(site, "consent-revoked", about: "ada") == 400)
            #expect(try await Self.user(ada) == id)

            // The first name is also what Bramley calls Apple: as long as Apple answers to the old one, that stays first.
            let steps = [
                (Self.accepting(Apple.issuer, Self.new), [Self.new, Apple.issuer]),
                (Self.accepting(Self.new, Apple.issuer), [Self.new]),
            ]
            for (accepted, issuers) in steps {
                try await site.restart(with: accepted)
                #expect(try await Self.user(ada) == id, "the session went on")
                for issuer in issuers {
                    try await site.apple.control("PUT", "behaviour", ["issuer": .string(issuer)])
                    // A second later by Apple's clock, as its tokens tell whole seconds.
                    site.clock.advance(seconds: 1)
                    for (person, count) in [("ada", 1), ("boris", 2)] {
                        let browser = site.browser()
                        try await browser.signIn(as: person)
                        if person == "ada" { #expect(try await Self.user(browser) == id) }
                        #expect(try await site.count("user") >= count)
                    }
                    #expect(try await site.count("user") == 2)
                    #expect(try await site.count("apple_identity") == 2)
                }
            }

            // Notifications under the new name concern the same people.
            try await site.apple.control("PUT", "behaviour", ["issuer": .string(Self.new)])
            site.clock.advance(seconds: 5)
            #expect(try await Self.notify(site, "consent-revoked", about: "ada") == 200)
            #expect(try await Self.user(ada) == nil)
        }
    }

    /// In the middle of Apple's change the two tokens of one sign-in may differ. That one fails; the next is as before.
    @Test func signInUsesOneIssuer() async throws {
        try await withSite(SiteOptions(configuration: Self.accepting(Apple.issuer, Self.new))) {
            (site: Site) async throws in
            let browser = site.browser()
            try await site.apple.control("PUT", "tokens", ["claims": ["iss": .string(Self.new)], "on": "token"])
            #expect(try await browser.postCallback(try await browser.consent()).status == 400)
            #expect(site.log.text.contains("token_mismatch"))
            #expect(try await site.count("user") == 0)
            try await site.apple.control("DELETE", "tokens")
            try await browser.signIn()
            #expect(try await site.count("user") == 1)
        }
    }
}
