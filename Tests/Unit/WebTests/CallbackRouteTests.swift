import Coding
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Stores
import Synchronization
import Testing
import Web

@testable import Accounts

@Suite struct CallbackRouteTests {
    static let binding = "__Host-bramley-login=\(Site.binding)"

    @Test func completedSignInSetsTheSessionAndSendsOn() async throws {
        let site = try Site()
        let state = try await site.state(returnTo: "/account?x=1")
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c1"), ("id_token", "t")],
            [.cookie: Self.binding, .origin: "https://appleid.apple.com"])
        #expect(response.status == .seeOther)
        #expect(response.location == "/account?x=1")
        #expect(response.setCookies.count == 1)
        let cookie = try #require(response.setCookies.first)
        let pattern = /__Host-bramley=brs_[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=\/; Secure; HttpOnly; SameSite=Lax/
        #expect(cookie.wholeMatch(of: pattern) != nil)
        #expect(response.bytes.isEmpty)
        let value = String(cookie.prefix { $0 != ";" })
        #expect(await site.get("/api/v1/session", cookie: value).status == .ok)
    }

    @Test(
        "A form's media type may have parameters and any case",
        arguments: ["application/x-www-form-urlencoded; charset=UTF-8", "Application/X-WWW-Form-Urlencoded"])
    func contentType(_ type: String) async throws {
        let site = try Site()
        let response = await site.send(.post, "/apple/callback", [.contentType: type], body: "state=x")
        #expect(response.status == .badRequest)
    }

    @Test func repostHoldsTheKnownFieldsEscapedAndSetsNoCookie() async throws {
        let site = try Site()
        let state = try await site.state(returnTo: "https://app.example.com/x")
        let hostile = #"{"name":{"firstName":"</textarea><script>alert(1)</script>\"'{{x}}"}}"#
        let response = await site.post(
            "/apple/callback",
            form: [("state", state), ("code", "c\"&<"), ("id_token", "t"), ("user", hostile), ("evil", "field")],
            [.origin: "https://appleid.apple.com"])
        #expect(response.status == .ok)
        #expect(response.setCookies.isEmpty)
        #expect(response.fields[.referrerPolicy] == "same-origin")
        #expect(response.fields[.cacheControl] == "no-store")
        let page = response.text
        #expect(page.contains("<form id=\"repost\" method=\"post\" action=\"/apple/callback\">"))
        #expect(page.contains("<input type=\"hidden\" name=\"bramley_repost\" value=\"1\">"))
        #expect(page.contains("name=\"code\" value=\"c&quot;&amp;&lt;\""))
        #expect(page.contains("&lt;/textarea&gt;&lt;script&gt;"))
        #expect(page.contains("{{x}}"))
        #expect(!page.contains("<script>alert"))
        #expect(!page.contains("evil"))
        #expect(page.matches(of: /type="hidden"/).count == 5)
        #expect(page.contains("<button"))
        let nonce = try #require(page.firstMatch(of: /<script nonce="([^"]+)" src="\/assets\/repost\.js/)?.1)
        #expect(response.policy.contains("script-src 'nonce-\(nonce)';"))
        #expect(response.policy.contains("form-action 'self' https://app.example.com;"))
    }

    @Test func cancelledIsCalmAndLeadsBackToTheSameTarget() async throws {
        let site = try Site()
        let state = try await site.state(returnTo: "https://app.example.com/x")
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("error", "user_cancelled_authorize")],
            [.cookie: Self.binding])
        #expect(response.status == .badRequest)
        #expect(response.text.contains("You cancelled the sign-in"))
        #expect(response.text.contains("href=\"/login?return_to=https%3A%2F%2Fapp.example.com%2Fx\""))
        #expect(!response.text.contains("Error number"))
    }

    @Test("Every failure has its page, its text, a next step, and one log line", arguments: ReasonCode.signIns)
    func failurePage(_ reason: ReasonCode) async throws {
        let (failure, code) = (Failure(reason, "secret-detail"), reason.entry.status)
        let site = try Site()
        let state = try await site.state(returnTo: "/account?again")
        site.apple.exchangeFailure.withLock { $0 = failure }
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")], [.cookie: Self.binding])
        #expect(response.status.code == code)
        #expect(response.setCookies.isEmpty)
        #expect((response.fields[.retryAfter] != nil) == (code == 503))
        let page = response.text
        #expect(!page.contains("errors."), "a text is missing")
        #expect(!page.contains("{"), "a placeholder is left")
        #expect(!page.contains("secret-detail"))
        #expect(page.contains("href=\"/login?return_to=%2Faccount%3Fagain\">Try again</a>"))
        let lines = site.log.lines.filter { $0.contains("reason=\(failure.code.rawValue)") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("route=/apple/callback") == true)
        if let id = page.firstMatch(of: /<code>([0-9A-F]{5}-[0-9A-F]{5})<\/code>/)?.1 {
            #expect(lines.first?.contains("error_id=\(id)") == true)
        } else {
            #expect(["cancelled", "malformed_callback", "invalid_state"].contains(failure.code.rawValue))
        }
    }

    @Test(
        "People who may not sign in get a page and no session",
        arguments: [
            (SignUpPolicy.approval, nil, "Waiting for approval"), (.open, .pending, "Waiting for approval"),
            (.open, .disabled, "switched off"), (.closed, nil, "No new accounts"),
        ] as [(SignUpPolicy, User.State?, String)])
    func notAdmitted(_ policy: SignUpPolicy, known: User.State?, title: String) async throws {
        let site = try Site(signUp: policy)
        if let known { site.signIn(state: known) }
        let response = try await site.callback()
        #expect(response.status == .forbidden)
        #expect(response.setCookies.isEmpty)
        #expect(response.text.contains(title))
        // Which Apple Account it was, for the person alone, and a number that finds them in the log.
        #expect(response.text.contains("Apple Account: <bdi>") == (policy != .closed))
        if known != nil { #expect(response.text.contains("Anna Appleseed (")) }
        #expect(response.text.contains("Sign in as somebody else") == (policy != .closed))
        let number = try #require(response.text.firstMatch(of: /<code>([0-9A-F-]{11})<\/code>/)).1
        let line = try #require(site.log.lines.first { $0.contains("error_id=\(number)") })
        #expect(line.contains("detail=usr_") == (policy != .closed))
        #expect(!line.contains("Appleseed"))
    }

    @Test(
        "Somebody who cancelled finds the way back",
        arguments: [
            (nil, "/account", nil), (nil, "https://app.example.com/x", "https://app.example.com/"),
            ("https://www.example.com/", "https://app.example.com/x", "https://www.example.com/"),
        ] as [(String?, String, String?)])
    func wayBack(_ home: String?, returnTo: String, link: String?) async throws {
        let site = try Site(adjust: { $0.site.homeURL = home })
        let state = try await site.state(returnTo: returnTo)
        let form = [("state", state), ("error", "user_cancelled_authorize")]
        let page = await site.post("/apple/callback", form: form, [.cookie: Site.bindingCookie]).text
        let links = page.matches(of: /<a class="button[^"]*" href="([^"]+)">([^<]+)<\/a>/).map { "\($0.2) \($0.1)" }
        #expect(links.count == (link == nil ? 1 : 2) && links.first?.hasPrefix("Try again") == true)
        if let link { #expect(links.last == "Go back \(link)") }
    }
}

@Suite struct NotificationRouteTests {
    @Test(
        "Status by outcome",
        arguments: [
            (nil, 200), (.notificationRefused, 400), (.keysUnavailable, 503), (.unavailable, 503),
        ] as [(ReasonCode?, Int)])
    func status(_ reason: ReasonCode?, code: Int) async throws {
        let site = try Site()
        site.apple.notificationFailure.withLock { $0 = reason.map { Failure($0, "x") } }
        let response = await site.send(.post, "/apple/notifications", [.contentType: "application/json"], body: "{}")
        #expect(response.status.code == code)
        if code != 200 { #expect(response.fields[.contentType] == "application/problem+json") }
    }

    @Test func onlyFailedVerificationsAreCharged() async throws {
        let site = try Site(adjust: { $0.limits.failedNotificationsPerMinute = 2 })
        for _ in 0..<10 { #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .ok) }
        site.apple.notificationIsOfOtherApp.withLock { $0 = true }
        for _ in 0..<10 { #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .badRequest) }
        site.apple.notificationFailure.withLock { $0 = Failure(.notificationRefused, "x") }
        for _ in 0..<2 { #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .badRequest) }
        let refused = await site.send(.post, "/apple/notifications", body: "{}")
        #expect(refused.status == .tooManyRequests)
        #expect(refused.fields[.retryAfter] != nil)
        #expect(await site.send(.post, "/apple/notifications", body: "{}", client: .v4(9)).status == .badRequest)
    }

    /// Regression: thirty of an attacker behind the same balancer, or of Apple's own while its keys could not be fetched,
    /// and Apple's next was answered 429 without a look at it.
    @Test func failedNotificationsDoNotBlockGoodOnesOfTheSameAddress() async throws {
        let site = try Site(adjust: { $0.limits.failedNotificationsPerMinute = 2 })
        site.apple.notificationFailure.withLock { $0 = Failure(.keysUnavailable, "unknown kid within the cool-down") }
        for _ in 0..<9 { #expect(await site.send(.post, "/apple/notifications").status == .serviceUnavailable) }
        site.apple.notificationFailure.withLock { $0 = Failure(.notificationRefused, "x") }
        for _ in 0..<2 { #expect(await site.send(.post, "/apple/notifications").status == .badRequest) }
        #expect(await site.send(.post, "/apple/notifications").status == .tooManyRequests)
        site.apple.notificationFailure.withLock { $0 = nil }
        #expect(await site.send(.post, "/apple/notifications").status == .ok)
    }

    @Test func storeFailuresAreNotTheSendersFault() async throws {
        let site = try Site(adjust: { $0.limits.failedNotificationsPerMinute = 2 })
        site.database.faults.fail()
        for _ in 0..<9 { #expect(await site.send(.post, "/apple/notifications").status == .serviceUnavailable) }
    }
}
