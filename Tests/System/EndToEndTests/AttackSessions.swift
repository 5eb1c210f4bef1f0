import AppleSimulator
import Coding
import Foundation
import Testing

@Suite struct SessionsAndTheirEnds {
    @Test func idleLimitIsExact() async throws {
        try await withSite(SiteOptions(configuration: [("sessions", ["lifetime": 86_400, "idleTimeout": 3600])])) {
            (site: Site) async throws in
            let (early, late, seen) = (site.browser(), site.browser(), site.browser())
            for (browser, person) in [(early, "ada"), (late, "boris"), (seen, "chie")] {
                try await browser.signIn(as: person)
            }
            // In the loop's cache, which must know the limit too.
            #expect(try await late.verify().status == 204)
            site.clock.advance(seconds: 1800)
            #expect(try await seen.verify().status == 204)
            site.clock.advance(milliseconds: 1_799_999)
            #expect(try await early.session() != nil)
            site.clock.advance(milliseconds: 1)
            #expect(try await late.verify().status == 401)
            #expect(try await late.session() == nil)
            #expect(try await late.get("/account").status == 303)
            #expect(try await seen.session() != nil)
        }
    }

    @Test func sessionEndsAtItsAbsoluteLimitHoweverMuchItIsUsed() async throws {
        try await withSite(SiteOptions(configuration: [("sessions", ["lifetime": 7200, "idleTimeout": 3600])])) {
            (site: Site) async throws in
            let browser = site.browser()
            let response = try await browser.signIn()
            #expect(response.setCookie(Browser.sessionName)?.attributes["max-age"] == "7200")
            for _ in 0..<7 {
                site.clock.advance(seconds: 1000)
                #expect(try await browser.verify().status == 204)
                #expect(try await browser.session() != nil)
            }
            site.clock.advance(milliseconds: 199_999)
            #expect(try await browser.verify().status == 204)
            site.clock.advance(milliseconds: 1)
            #expect(try await browser.verify().status == 401)
            #expect(try await browser.session() == nil)
            try await site.restart()
            #expect(try await browser.session() == nil)
        }
    }

    /// `lastSeenAt` is written lazily: a restart in between must not make a used session look unused.
    @Test func useIsRememberedAcrossARestart() async throws {
        try await withSite(SiteOptions(configuration: [("sessions", ["lifetime": 86_400, "idleTimeout": 3600])])) {
            (site: Site) async throws in
            let browser = try await site.signedIn()
            site.clock.advance(seconds: 3000)
            #expect(try await browser.verify().status == 204)
            try await site.restart()
            site.clock.advance(seconds: 3000)
            #expect(try await browser.verify().status == 204)
        }
    }

    static let contexts: [(fields: [String: String], passes: Bool)] = [
        (["Sec-Fetch-Site": "same-origin"], true),
        (["Sec-Fetch-Site": "same-origin", "Origin": "OWN"], true),
        (["Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"], true),
        (["Origin": "OWN"], true),
        ([:], false),
        (["Sec-Fetch-Site": "cross-site"], false),
        (["Sec-Fetch-Site": "cross-site", "Origin": "OWN"], false),
        (["Sec-Fetch-Site": "same-site"], false),
        (["Sec-Fetch-Site": "same-site", "Origin": "OWN"], false),
        (["Sec-Fetch-Site": "none"], false),
        (["Sec-Fetch-Site": ""], false),
        (["Sec-Fetch-Site": "Same-Origin"], false),
        (["Sec-Fetch-Site": "same-origin, cross-site"], false),
        (["Origin": "null"], false),
        (["Origin": ""], false),
        (["Origin": "https://evil.example"], false),
        (["Origin": "http://localhost"], false),
        (["Origin": "http://localhost:1"], false),
        (["Origin": "OWN/"], false),
        (["Origin": "OWN.evil.example"], false),
        (["Referer": "OWN/account"], false),
        (["X-Forwarded-Host": "evil.example", "Origin": "http://evil.example", "Host": "evil.example"], false),
        (["X-Requested-With": "XMLHttpRequest"], false),
        (["X-HTTP-Method-Override": "POST"], false),
    ]

    @Test func everyOriginOfARequestThatEndsASession() async throws {
        try await withSite { (site: Site) async throws in
            for (fields, passes) in Self.contexts {
                let own = fields.map {
                    (name: $0.key, value: $0.value.replacingOccurrences(of: "OWN", with: site.origin))
                }
                let browser = try await site.signedIn()
                let form = try await browser.post("/logout", Form(), own, from: .program)
                #expect(form.status == (passes ? 303 : 403), "POST /logout \(fields)")
                #expect((form.setCookie(Browser.sessionName) != nil) == passes, "\(fields)")
                #expect(try await (browser.session() == nil) == passes, "\(fields)")
                if passes { try await browser.signIn() }
                let delete = WireRequest(method: "DELETE", target: "/api/v1/session", fields: own, context: .program)
                #expect(try await browser.send(delete).status == (passes ? 204 : 403), "DELETE \(fields)")
                #expect(try await (browser.session() == nil) == passes, "\(fields)")
            }
        }
    }

    /// Somebody else's attempt cannot be made to end this browser's session, nor this one's to end somebody else's.
    @Test func failedSignInReplacesNothing() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let form = try await browser.consent(as: "ada")
            try await site.apple.control("PUT", "faults/token", ["error": "invalid_grant"])
            #expect(try await browser.postCallback(form).status == 400)
            #expect(try await browser.session() != nil)
        }
    }
}
