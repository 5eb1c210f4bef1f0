import AppleSimulator
import Coding
import Foundation
import Testing

/// The end of an account through the running server, to Apple and back.
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

    @Test func appleIsTold() async throws {
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
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "ada")
            try await site.apple.control("PUT", "faults/revoke", ["status": 503])
            try await delete(browser)
            try await eventually(within: Self.patience, "the first attempt failed") {
                site.log.text.contains("token revocation at Apple failed")
            }
            try await eventually(within: Self.patience, "it is queued again") {
                try await site.query(
                    "SELECT count(*) FROM revocation WHERE next_attempt_at IS NOT NULL AND attempts = 1") == "1"
            }
            site.clock.advance(seconds: 5)
            try await eventually(within: Self.patience, "the second attempt failed") {
                try await site.query(
                    "SELECT count(*) FROM revocation WHERE failure = 'provider_unavailable' AND attempts = 2") == "1"
            }
            #expect(try await hasConsent(site, "ada"))
            try await site.stop()
            try await site.apple.control("DELETE", "faults")
            try await site.restart()
            site.clock.advance(seconds: 20)
            try await eventually(within: Self.patience, "Apple knows") { try await !hasConsent(site, "ada") }
        }
    }

    @Test(.onSQLite) func whatAppleRefusesForAWeekIsGivenUpAndSaid() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "ada")
            try await site.apple.control("PUT", "faults/revoke", ["error": "invalid_client"])
            try await delete(browser)
            try await eventually(within: Self.patience, "the first attempt failed") {
                try await site.query(
                    "SELECT count(*) FROM revocation WHERE failure = 'client_refused' AND attempts = 1") == "1"
            }
            site.clock.advance(seconds: 7 * 86_400)
            try await eventually(within: Self.patience, "given up") {
                site.log.text.contains("token revocation at Apple abandoned")
            }
            try await eventually(within: Self.patience, "the token is erased") {
                try await site.query("SELECT sealed_refresh_token IS NULL FROM revocation") == "1"
            }
            let line = try #require(site.log.lines.first { $0.contains("token revocation at Apple abandoned") })
            #expect(line.contains("\"error\"") && line.contains("client_refused"))
            #expect(try await revocations(site) == 2)
        }
    }

    @Test func signInMeanwhileStopsIt() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "ada")
            try await site.apple.control("PUT", "faults/revoke", ["status": 503])
            try await delete(browser)
            try await eventually(within: Self.patience, "the first attempt failed") {
                try await site.query(
                    "SELECT count(*) FROM revocation WHERE failure = 'provider_unavailable' AND attempts = 1") == "1"
            }
            try await browser.signIn(as: "ada")
            #expect(try await site.count("revocation") == 0)
            try await site.apple.control("DELETE", "faults")
            #expect(try await hasConsent(site, "ada"))
            #expect(try await browser.session() != nil)
        }
    }

    @Test func signInWhileAppleIsAskedIsRefusedAndThenAFirstOne() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "ada")
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
            try await eventually(within: Self.patience, "Apple knows") {
                try await site.query("SELECT count(*) FROM revocation WHERE failure = 'done'") == "1"
            }
            site.clock.advance(seconds: 1)
            try await browser.signIn(as: "ada")
            #expect(try await hasConsent(site, "ada"))
            #expect(try await browser.session()?["user"]?["name"]?["given"]?.stringValue == "Ada")
        }
    }

    @Test func nothingPersonalIsLeft() async throws {
        try await withSite { (site: Site) async throws in
            try await site.apple.control(
                "POST", "people",
                [
                    "id": "zyx", "givenName": "Zyxomma", "familyName": "Petiolatum", "email": "zyxomma@example.com",
                ])
            try await site.apple.control("PUT", "behaviour", ["notifiesOnRevoke": true])
            let browser = site.browser()
            let form = try await browser.consent(as: "zyx")
            try await browser.postCallback(form, [("User-Agent", "Gastrolith/7.77")])
            let subject = try await site.apple.subject(of: "zyx")
            let address = try await site.query("SELECT address FROM session")
            let told = try await site.apple.notification("email-disabled", about: "zyx")
            let notified = WireRequest(
                method: "POST", target: "/apple/notifications", fields: [("Content-Type", "application/json")],
                body: told, context: .program)
            #expect(try await site.browser().send(notified).status == 200)
            try await delete(browser)
            try await eventually(within: Self.patience, "the echo of the revocation has come") {
                try await site.query("SELECT count(*) FROM notification") == "2"
            }
            try await site.stop()
            var files = ""
            for name in try FileManager.default.contentsOfDirectory(atPath: site.directory + "/data") {
                let content = try Data(contentsOf: URL(filePath: site.directory + "/data/" + name))
                files += String(decoding: content, as: UTF8.self)
            }
            let traces = ["Zyxomma", "Petiolatum", "zyxomma@example.com", "Gastrolith", subject, address]
            for trace in traces {
                #expect(!trace.isEmpty)
                #expect(!files.contains(trace), "\(trace)")
                // The address of a browser is the test's own and may be logged for what is refused.
                if trace != address { #expect(!site.log.text.contains(trace), "\(trace)") }
            }
        }
    }

    @Test func onlyOnesOwnSessionsEndAndFromOnesOwnPagesAlone() async throws {
        try await withSite { (site: Site) async throws in
            let (ada, second, boris) = (site.browser(), site.browser(), site.browser())
            try await ada.signIn(as: "ada")
            try await second.signIn(as: "ada")
            try await boris.signIn(as: "boris")
            let target = try #require(try await boris.session()?["session"]?["id"]?.stringValue)
            let own = try #require(try await second.session()?["session"]?["id"]?.stringValue)
            #expect(try await ada.post("/account/sessions/revoke", Form([("session", target)])).status == 303)
            #expect(try await boris.verify().status == 204)
            for context in [RequestContext.otherSite("https://evil.example"), .program, .addressBar] {
                let posts = [
                    ("/account/sessions/revoke", Form([("session", own)])), ("/account/sessions/revoke-all", Form()),
                    ("/account/delete", Form([("confirm", "yes")])),
                ]
                for (path, form) in posts {
                    #expect(try await ada.post(path, form, from: context).status == 403, "\(path)")
                }
            }
            #expect(try await second.verify().status == 204)
            #expect(try await ada.post("/account/sessions/revoke", Form([("session", own)])).status == 303)
            #expect(try await second.verify().status == 401)
            try await second.signIn(as: "ada")
            #expect(try await ada.post("/account/sessions/revoke-all").status == 303)
            #expect(try await second.verify().status == 401)
            #expect(try await ada.verify().status == 204)
            #expect(try await boris.verify().status == 204)
        }
    }

    @Test func deletionIsAskedForAgainAfterTenMinutes() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "ada")
            site.clock.advance(seconds: 600)
            let page = try await browser.get("/account/delete", from: .sameOrigin)
            #expect(page.text.contains("Sign in again to continue"))
            let account = try #require(try await browser.session()?["user"]?["id"]?.stringValue)
            let late = try await browser.post("/account/delete", Form([("confirm", "yes"), ("account", account)]))
            #expect(late["location"] == "/account/delete")
            #expect(try await site.count("user") == 1)
            let back = try await browser.signIn(as: "ada", returnTo: "/account/delete")
            #expect(back["location"] == "/account/delete")
            #expect(try await site.count("session") == 1)
            try await delete(browser)
            #expect(try await site.count("user") == 0)
        }
    }
}
