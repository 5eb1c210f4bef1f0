import AppleSimulator
import Coding
import Foundation
import Testing

@Suite struct AuthorizationRequestAndCallback {
    @Test func everyAttemptHasAStateAndNonceOfItsOwn() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            var states: Set<String> = []
            var nonces: Set<String> = []
            for _ in 0..<40 {
                let query = Query(url: try await browser.begin())
                #expect(query["response_mode"] == "form_post")
                #expect(query["response_type"] == "code id_token")
                #expect(query["scope"] == "name email")
                states.insert(try #require(query["state"]))
                // 256 bits in base64url.
                let nonce = try #require(query["nonce"])
                #expect(nonce.utf8.count == 43)
                nonces.insert(nonce)
            }
            #expect(states.count == 40)
            #expect(nonces.count == 40)
        }
    }

    @Test func stateOfAnotherBrowserIsRefusedBeforeAndAfterItsUse() async throws {
        try await withSite { (site: Site) async throws in
            let (owner, thief) = (site.browser(), site.browser())
            let form = try await owner.consent()
            _ = try await thief.begin()
            let response = try await thief.postCallback(form)
            #expect(response.status == 400)
            #expect(response.text.contains("Started in another browser"))
            #expect(thief.sessionToken == nil)
            #expect(try await site.count("session") == 0)
            #expect(try await site.count("user") == 0)
            // Nothing was used up: its owner completes it.
            #expect(try await owner.postCallback(form).status == 303)
            // A replay is refused likewise.
            _ = try await thief.begin()
            #expect(try await thief.postCallback(form).status == 400)
            #expect(thief.sessionToken == nil)
        }
    }

    /// Login CSRF: the attacker's own sign-in, posted in the victim's browser, must not sign the victim in as them.
    @Test(arguments: [true, false])
    func attackersCallbackDoesNotSignTheVictimIn(victimIsSignedIn: Bool) async throws {
        try await withSite { (site: Site) async throws in
            let (attacker, victim) = (site.browser(), site.browser())
            if victimIsSignedIn { try await victim.signIn(as: "boris") } else { _ = try await victim.begin() }
            let before = victim.sessionToken
            let form = try await attacker.consent(as: "ada")
            let response = try await victim.postCallback(form, from: .otherSite("https://evil.example"))
            #expect(response.status == 400)
            #expect(response.setCookie(Browser.sessionName) == nil)
            #expect(victim.sessionToken == before)
            #expect(try await victim.session()?["user"]?["email"]?.stringValue?.contains("ada@") != true)
        }
    }

    @Test func missingBindingGetsOneRepostPageAndThenRefusal() async throws {
        try await withSite { (site: Site) async throws in
            let form = try await site.browser().consent()
            let victim = site.browser()
            let page = try await victim.postCallback(form)
            #expect(page.status == 200)
            #expect(page.setCookies.isEmpty)
            #expect(page["cache-control"] == "no-store")
            let again = Form(hiddenFieldsOf: page.text)
            #expect(Set(again.pairs.map(\.name)) == ["state", "code", "id_token", "user", "bramley_repost"])
            #expect(again["state"] == form["state"])
            #expect(again["user"] == form["user"])
            // Still without the cookie, now from our own page: the end of it, not another page.
            let refusal = try await victim.post("/apple/callback", again, from: .sameOrigin)
            #expect(refusal.status == 400)
            #expect(Form(hiddenFieldsOf: refusal.text)["bramley_repost"] == nil)
            #expect(victim.sessionToken == nil)
            #expect(try await site.count("session") == 0)
        }
    }

    @Test func repostFromOurOwnPageWithTheCookieCompletes() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            // A browser that holds back even SameSite=None on the cross-site post.
            let cookieless = site.browser()
            let page = try await cookieless.postCallback(form)
            // The same binding check as for any other post.
            let other = site.browser()
            _ = try await other.begin()
            #expect(
                try await other.post("/apple/callback", Form(hiddenFieldsOf: page.text), from: .sameOrigin).status
                    == 400)
            let response = try await browser.post("/apple/callback", Form(hiddenFieldsOf: page.text), from: .sameOrigin)
            #expect(response.status == 303)
            #expect(try await browser.session() != nil)
        }
    }

    @Test(arguments: [
        RequestContext.otherSite("https://appleid.apple.com"), .otherSite("null"), .otherSite("http://localhost:1"),
        .addressBar, .program,
    ])
    func flaggedPostThatIsNotSameOriginIsRefused(context: RequestContext) async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            for flag in ["1", "0", ""] {
                let response = try await browser.postCallback(form.setting("bramley_repost", flag), from: context)
                #expect(response.status == 400)
                #expect(response.setCookies.isEmpty)
            }
            #expect(try await site.count("session") == 0)
        }
    }

    @Test func staleStateWithoutBindingGetsNoRepostPage() async throws {
        try await withSite { (site: Site) async throws in
            let form = try await site.browser().consent()
            site.clock.advance(seconds: 600)
            let response = try await site.browser().postCallback(form)
            #expect(response.status == 400)
            #expect(Form(hiddenFieldsOf: response.text)["bramley_repost"] == nil)
        }
    }

    @Test(arguments: [
        "", "x", "AAAA", String(repeating: "A", count: 200), String(repeating: "A", count: 5000), "..", "%00",
    ])
    func inventedStateIsRefused(state: String) async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            #expect(try await browser.postCallback(form.setting("state", state)).status == 400)
            #expect(try await browser.postCallback(form.setting("state", nil)).status == 400)
            #expect(try await site.browser().postCallback(form.setting("state", state)).status == 400)
            #expect(browser.sessionToken == nil)
        }
    }

    @Test func everyFlippedByteOfTheStateIsRefused() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            let state = Array(try #require(form["state"]).utf8)
            for text in ["\(form["state"] ?? "")A", "=\(form["state"] ?? "")"] {
                #expect(try await browser.postCallback(form.setting("state", text)).status == 400)
            }
            for index in stride(from: 0, to: state.count, by: 7) {
                var changed = state
                changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                let text = String(decoding: changed, as: UTF8.self)
                // A browser of its own address for each few: the sign-in routes count.
                #expect(try await browser.postCallback(form.setting("state", text)).status == 400)
            }
            #expect(try await site.count("session") == 0)
        }
    }

    @Test func fiftyParallelPostsMakeOneSessionAndOneToken() async throws {
        try await withSite(SiteOptions(loops: 2)) { (site: Site) async throws in
            let (browser, form) = try await site.consent()
            // Apple takes its time, so that they overlap.
            try await site.apple.control("PUT", "faults/token", ["delay": 300])
            let responses = try await withThrowingTaskGroup(of: WireResponse.self) { group in
                for _ in 0..<50 { group.addTask { try await browser.postCallback(form) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(responses.map(\.status) == Array(repeating: 303, count: 50))
            #expect(Set(responses.compactMap { $0.setCookie(Browser.sessionName)?.value }).count == 1)
            #expect(try await site.count("session") == 1)
            #expect(try await site.count("user") == 1)
            #expect(try await site.apple.requests(to: "token") == 1)
            #expect(try await browser.session() != nil)
        }
    }

    /// The same attempt with fifty different codes: not duplicates, and still one session.
    @Test func oneStateWithDifferentCodesMakesOneSession() async throws {
        try await withSite(SiteOptions(loops: 2)) { (site: Site) async throws in
            let browser = site.browser()
            let url = try await browser.begin()
            var forms: [Form] = []
            for _ in 0..<10 { forms.append(try await site.apple.authorize(url)) }
            try await site.apple.control("PUT", "faults/token", ["delay": 200])
            let all = forms
            let responses = try await withThrowingTaskGroup(of: WireResponse.self) { group in
                for form in all { group.addTask { try await browser.postCallback(form) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(responses.compactMap { $0.setCookie(Browser.sessionName)?.value }).count == 1)
            #expect(try await site.count("session") == 1)
            #expect(try await browser.session() != nil)
        }
    }

    @Test func laterReplayRedirectsWithoutACookieWhileTheSessionLives() async throws {
        try await withSite { (site: Site) async throws in
            let (browser, form) = try await site.consent(returnTo: "/account")
            try await browser.postCallback(form)
            let token = try #require(browser.sessionToken)
            for seconds: Int64 in [31, 600] {
                site.clock.advance(seconds: seconds)
                let replay = try await browser.postCallback(form)
                #expect(replay.status == 303)
                #expect(replay["location"] == "/account")
                #expect(replay.setCookies.isEmpty)
            }
            #expect(browser.sessionToken == token)
            #expect(try await site.count("session") == 1)
            #expect(try await site.apple.requests(to: "token") == 1)
        }
    }

    @Test func replayAfterSignOutIsRefused() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            try await browser.postCallback(form)
            try await browser.post("/logout")
            for seconds: Int64 in [31, 600] {
                site.clock.advance(seconds: seconds)
                let replay = try await browser.postCallback(form)
                #expect(replay.status == 400)
                #expect(replay.setCookie(Browser.sessionName) == nil)
            }
            #expect(try await browser.session() == nil)
        }
    }

    /// Within the half minute an identical post shares the answer; that answer must not outlive a sign-out.
    @Test func replayRightAfterSignOutGivesNoLivingSession() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            try await browser.postCallback(form)
            try await browser.post("/logout")
            try await browser.postCallback(form)
            #expect(try await browser.session() == nil)
        }
    }

    @Test func usedAttemptStaysUsedAfterARestart() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            let url = try await browser.begin()
            let (first, second) = (try await site.apple.authorize(url), try await site.apple.authorize(url))
            try await browser.postCallback(first)
            try await browser.post("/logout")
            try await site.restart()
            #expect(try await browser.postCallback(second).status == 400)
            #expect(browser.sessionToken == nil)
        }
    }

    @Test func stateIsValidToTheLastMillisecond() async throws {
        try await withSite { (site: Site) async throws in
            let (early, late) = (site.browser(), site.browser())
            let (first, second) = (try await early.consent(as: "ada"), try await late.consent(as: "boris"))
            site.clock.advance(milliseconds: 599_999)
            // The code of a real Apple is older than its five minutes by now; the simulator's clock is the same one.
            let response = try await early.postCallback(first)
            #expect(response.status != 303 || early.sessionToken != nil)
            #expect(response.text.contains("stale") == false)
            site.clock.advance(milliseconds: 1)
            let refused = try await late.postCallback(second)
            #expect(refused.status == 400)
            #expect(late.sessionToken == nil)
            #expect(site.log.text.contains("stale_state"))
            // Asked only for the first: a stale state never reaches Apple.
            #expect(try await site.apple.requests(to: "token") == 1)
        }
    }

    @Test func stateLivesNoLongerThanConfigured() async throws {
        try await withSite(SiteOptions(configuration: [("login", ["attemptLifetime": 60])])) {
            (site: Site) async throws in
            let (early, late) = (site.browser(), site.browser())
            let (first, second) = (try await early.consent(as: "ada"), try await late.consent(as: "boris"))
            site.clock.advance(milliseconds: 59_999)
            #expect(try await early.postCallback(first).status == 303)
            site.clock.advance(milliseconds: 1)
            #expect(try await late.postCallback(second).status == 400)
        }
    }

    @Test(.onSQLite) func databaseHoldsOnlyTheHashOfAToken() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            try await browser.postCallback(form)
            let token = try #require(browser.sessionToken)
            let binding = try #require(browser.binding)
            var stored: [UInt8] = []
            for suffix in ["", "-wal"] {
                stored += FileManager.default.contents(atPath: site.databasePath + suffix).map { Array($0) } ?? []
            }
            #expect(stored.count > 4096)
            for secret in [token, String(token.dropFirst(4)), binding, form["code"] ?? "", form["id_token"] ?? ""] {
                #expect(!secret.isEmpty)
                #expect(!contains(stored, Array(secret.utf8)))
            }
        }
    }

    @Test func severalBindingCookiesAreInvalid() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            let good = try #require(browser.binding)
            let name = Browser.bindingName
            let bad = String(repeating: "A", count: 43)
            for cookies in [
                "\(name)=\(good); \(name)=\(bad)", "\(name)=\(bad); \(name)=\(good)",
                "\(name)=\(good); \(name)=\(good)",
                "\(name)=\(good);\(name)=", "\(name) =\(good); \(name)=\(good)",
            ] {
                let response = try await browser.postCallback(form, [("Cookie", cookies)])
                #expect(response.status == 400, "\(cookies)")
                #expect(response.setCookie(Browser.sessionName) == nil)
            }
            // In two fields, which is one list (RFC 9113 §8.2.3).
            let split = try await browser.postCallback(
                form, [("Cookie", "\(name)=\(good)"), ("Cookie", "\(name)=\(bad)")])
            #expect(split.status == 400)
            #expect(try await site.count("session") == 0)
        }
    }

    /// What a sibling host can set has another name: it neither counts nor gets in the way.
    @Test func foreignCookiesChangeNothing() async throws {
        try await withSite { (site: Site) async throws in
            let (owner, attacker) = (site.browser(), site.browser())
            let form = try await owner.consent()
            let own = try #require(owner.binding)
            _ = try await attacker.begin()
            let tossed = [
                "bramley-login=\(own)", "__host-bramley-login=\(own)", "__Secure-bramley-login=\(own)",
                "__Host-bramley-login2=\(own)", " =__Host-bramley-login=\(own)",
            ]
            for cookie in tossed {
                let asCookie = try await site.browser().postCallback(form, [("Cookie", cookie)])
                #expect(asCookie.setCookie(Browser.sessionName) == nil, "\(cookie)")
                #expect(Form(hiddenFieldsOf: asCookie.text)["bramley_repost"] == "1", "\(cookie)")
                let beside = try await attacker.postCallback(
                    form, [("Cookie", "\(cookie); \(Browser.bindingName)=\(attacker.binding ?? "")")])
                #expect(beside.status == 400, "\(cookie)")
            }
            let mixed = tossed.joined(separator: "; ") + "; \(Browser.bindingName)=\(own)"
            #expect(try await owner.postCallback(form, [("Cookie", mixed)]).status == 303)
        }
    }

    @Test func malformedBindingCookieIsNotMissing() async throws {
        try await withSite { (site: Site) async throws in
            let form = try await site.browser().consent()
            for value in ["", "x", String(repeating: "A", count: 42), String(repeating: "A", count: 44), "\"x\""] {
                let response = try await site.browser().postCallback(
                    form, [("Cookie", "\(Browser.bindingName)=\(value)")])
                #expect(response.status == 400, "\(value)")
            }
        }
    }
}

/// The parameters of a URL, decoded; `+` is not a space.
struct Query: Sendable {
    private let pairs: [(String, String)]

    init(url: String) {
        let query = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        pairs = query.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(halves[0]), halves.count > 1 ? String(halves[1]).removingPercentEncoding ?? "" : "")
        }
    }

    /// nil when it is absent or there twice.
    subscript(name: String) -> String? {
        let values = pairs.filter { $0.0 == name }
        return values.count == 1 ? values[0].1 : nil
    }
}

func contains(_ bytes: [UInt8], _ wanted: [UInt8]) -> Bool {
    Data(bytes).range(of: Data(wanted)) != nil
}
