import AppleSimulator
import Coding
import Testing

@Suite struct DeletionTests {
    /// The account page's own way: its form, ticked.
    private func delete(_ browser: Browser) async throws {
        let page = try await browser.get("/account/delete", from: .sameOrigin)
        let form = Form(hiddenFieldsOf: page.text).setting("confirm", "yes")
        let response = try await browser.post("/account/delete", form)
        #expect(response.status == 303)
        #expect(response["location"] == "/account/deleted?apple=told")
        #expect(response.setCookie(Browser.sessionName)?.isRemoval == true)
    }

    /// The job looks once a second.
    private static let patience = Duration.seconds(20)

    private func hasConsent(_ site: Site, _ person: String) async throws -> Bool {
        let people = try await site.apple.control("GET", "people")["items"]?.arrayValue ?? []
        let teams = people.first { $0["id"]?.stringValue == person }?["teams"]?.arrayValue
        return teams?.first?["consented"]?.boolValue ?? false
    }

    private func revocations(_ site: Site) async throws -> Int { try await site.apple.requests(to: "revoke") }

    /// Until the queue has one revocation of which this holds.
    private func awaitRevocation(_ site: Site, _ condition: String) async throws {
        try await eventually(within: Self.patience, condition) {
            try await site.query("SELECT count(*) FROM revocation WHERE \(condition)") == "1"
        }
    }

    @Test func tokenIsRevokedAtApple() async throws {
        try await withSite { (site: Site) async throws in
            let (browser, other) = (site.browser(), site.browser())
            try await browser.signIn(as: "ada")
            try await other.signIn(as: "ada")
            let subject = try await site.apple.subject(of: "ada")
            try await delete(browser)
            #expect(try await other.verify().status == 401)
            #expect(try await site.count("user") == 0)
            try await eventually(within: Self.patience, "Apple knows") { try await !hasConsent(site, "ada") }
            try await eventually(within: Self.patience, "the token is gone") {
                try await site.query("SELECT count(*) FROM revocation WHERE sealed_refresh_token IS NOT NULL") == "0"
            }
            #expect(try await revocations(site) == 1)
            #expect(site.log.text.contains("token revoked at Apple after deletion"))
            // The page that says so, to the browser and to the second of two taps.
            #expect(try await browser.get("/account/deleted").text.contains("Your account is deleted"))
            // The next sign-in is a first one: Apple sends the name again.
            site.clock.advance(seconds: 1)
            try await browser.signIn(as: "ada")
            #expect(try await browser.session()?["user"]?["name"]?["given"]?.stringValue == "Ada")
            for secret in [subject, "ada@example.com", "Byron"] { #expect(!site.log.text.contains(secret)) }
        }
    }

    @Test func appleThatDoesNotAnswerIsAskedAgainAlsoAfterARestart() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            try await site.apple.control("PUT", "faults/revoke", ["status": 503])
            try await delete(browser)
            try await eventually(within: Self.patience, "the first attempt failed") {
                site.log.text.contains("token revocation at Apple failed")
            }
            try await awaitRevocation(site, "next_attempt_at IS NOT NULL AND attempts = 1")
            site.clock.advance(seconds: 5)
            try await awaitRevocation(site, "failure = 'provider_unavailable' AND attempts = 2")
            #expect(try await hasConsent(site, "ada"))
            try await site.stop()
            try await site.apple.control("DELETE", "faults")
            try await site.restart()
            site.clock.advance(seconds: 20)
            try await eventually(within: Self.patience, "Apple knows") { try await !hasConsent(site, "ada") }
        }
    }

    @Test func signInMeanwhileCancelsTheRevocation() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            try await site.apple.control("PUT", "faults/revoke", ["status": 503])
            try await delete(browser)
            try await awaitRevocation(site, "failure = 'provider_unavailable' AND attempts = 1")
            try await browser.signIn(as: "ada")
            #expect(try await site.count("revocation") == 0)
            try await site.apple.control("DELETE", "faults")
            #expect(try await hasConsent(site, "ada"))
            #expect(try await browser.session() != nil)
        }
    }

    @Test func signInWhileAppleIsAskedIsRefusedAndThenAFirstOne() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            try await site.apple.control("PUT", "faults/revoke", ["hang": true])
            try await delete(browser)
            try await eventually(within: Self.patience, "Apple is asked") {
                try await site.apple.control("GET", "state")["hanging"]?.integer == 1
            }
            // Everything is in order but for the revocation, which may end at Apple what this sign-in brings.
            let refused = try await browser.postCallback(browser.consent(as: "ada"))
            #expect(refused.status == 400)
            #expect(refused.text.contains("Permission was withdrawn"))
            #expect(try await site.count("session") == 0)
            #expect(try await site.count("user") == 0)
            try await site.apple.control("DELETE", "faults")
            try await awaitRevocation(site, "failure = 'done'")
            site.clock.advance(seconds: 1)
            try await browser.signIn(as: "ada")
            #expect(try await hasConsent(site, "ada"))
            #expect(try await browser.session()?["user"]?["name"]?["given"]?.stringValue == "Ada")
        }
    }
}
