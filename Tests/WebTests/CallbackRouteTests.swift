import Coding
import HTTP
import HTTPTypes
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

    @Test func aPresentedSessionIsNeverAdopted() async throws {
        let site = try Site()
        let state = try await site.state()
        let planted = "__Host-bramley=brs_" + String(repeating: "P", count: 43)
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")],
            [.cookie: Self.binding + "; " + planted])
        #expect(response.setCookies.first?.contains("PPPP") == false)
        #expect(await site.get("/api/v1/session", cookie: planted).status == .unauthorized)
    }

    @Test(
        "Only the form Apple posts is read",
        arguments: [
            ("application/x-www-form-urlencoded", HTTPResponse.Status.badRequest),
            ("application/x-www-form-urlencoded; charset=UTF-8", .badRequest),
            ("Application/X-WWW-Form-Urlencoded", .badRequest),
            ("application/json", .unsupportedMediaType), ("multipart/form-data; boundary=x", .unsupportedMediaType),
            ("text/plain", .unsupportedMediaType), ("", .unsupportedMediaType),
        ])
    func contentType(_ type: String, status: HTTPResponse.Status) async throws {
        let site = try Site()
        let response = await site.send(.post, "/apple/callback", [.contentType: type], body: "state=x")
        #expect(response.status == status)
        #expect(response.fields[.contentType] == "text/html; charset=utf-8")
    }

    @Test func missingContentTypeIsRefused() async throws {
        #expect(await (try Site()).send(.post, "/apple/callback", body: "state=x").status == .unsupportedMediaType)
    }

    @Test("The body may be as long as its limit and no longer", arguments: [(100, 400), (101, 413)])
    func bodyLimit(_ size: Int, code: Int) async throws {
        let site = try Site(adjust: { $0.limits.callbackBody = 100 })
        let response = await site.send(
            .post, "/apple/callback", [.contentType: "application/x-www-form-urlencoded"],
            body: String(repeating: "a", count: size))
        #expect(response.status.code == code)
    }

    @Test("GET and other methods are told what is allowed", arguments: [HTTPRequest.Method.get, .put, .delete, .head])
    func methods(_ method: HTTPRequest.Method) async throws {
        let response = await (try Site()).send(method, "/apple/callback?code=x&state=y")
        #expect(response.status == .methodNotAllowed)
        #expect(response.fields[.allow]?.contains("POST") == true)
        #expect(!response.text.contains("code=x"))
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

    @Test(
        "The flagged re-post passes from our own origin with the cookie, and fails otherwise",
        arguments: [
            (true, true, 303), (true, false, 400), (false, true, 400), (false, false, 400),
        ])
    func repost(sameOrigin: Bool, withCookie: Bool, code: Int) async throws {
        let site = try Site()
        let state = try await site.state()
        var fields: HTTPFields = [.secFetchSite: sameOrigin ? "same-origin" : "cross-site"]
        if withCookie { fields[.cookie] = Self.binding }
        let response = await site.post(
            "/apple/callback",
            form: [("state", state), ("code", "c"), ("id_token", "t"), ("bramley_repost", "1")], fields)
        #expect(response.status.code == code)
        #expect(response.setCookies.isEmpty == (code != 303))
    }

    @Test(
        "Another browser's attempt is refused",
        arguments: [
            "__Host-bramley-login=" + String(repeating: "C", count: 42) + "A",
            "__Host-bramley-login=nonsense",
            "\(binding); \(binding)",
            "bramley-login=\(Site.binding)x; __Host-bramley-login=",
        ])
    func wrongBrowser(_ cookie: String) async throws {
        let site = try Site()
        let state = try await site.state()
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")], [.cookie: cookie])
        #expect(response.status == .badRequest)
        #expect(response.text.contains("Started in another browser"))
        #expect(response.setCookies.isEmpty)
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

    @Test func errorTextFromOutsideIsNotRepeated() async throws {
        let site = try Site()
        let state = try await site.state()
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("error", "<script>alert(1)</script>")],
            [.cookie: Self.binding])
        #expect(response.status == .badRequest)
        #expect(!response.text.contains("alert(1)"))
    }

    static let failures: [(SignInFailure, Int)] = [
        (.malformedCallback("secret-detail"), 400), (.invalidState, 400), (.staleState, 400), (.wrongBrowser, 400),
        (.missingBinding, 400), (.replayed, 400), (.cancelled, 400), (.providerError("secret-detail"), 400),
        (.identityToken("secret-detail"), 400), (.tokenMismatch("secret-detail"), 400), (.clock("secret-detail"), 400),
        (.keysUnavailable("secret-detail"), 503), (.providerUnavailable("secret-detail"), 503),
        (.codeRefused("secret-detail"), 400), (.clientRefused("secret-detail"), 400), (.storage("secret-detail"), 503),
    ]

    @Test("Every failure has its page, its words, a way on, and one log line", arguments: failures)
    func failurePage(_ failure: SignInFailure, code: Int) async throws {
        let site = try Site()
        let state = try await site.state(returnTo: "/account?again")
        site.apple.exchangeFailure.withLock { $0 = failure }
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")], [.cookie: Self.binding])
        #expect(response.status.code == code)
        #expect((response.fields[.retryAfter] != nil) == (code == 503))
        let page = response.text
        #expect(!page.contains("errors."), "a text is missing")
        #expect(!page.contains("{"), "a placeholder is left")
        #expect(!page.contains("secret-detail"))
        #expect(page.contains("href=\"/login?return_to=%2Faccount%3Fagain\">Try again</a>"))
        let lines = site.log.all.filter { $0.contains("reason=\(failure.reason)") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("route=/apple/callback") == true)
        if let id = page.firstMatch(of: /<code>([0-9A-F]{5}-[0-9A-F]{5})<\/code>/)?.1 {
            #expect(lines.first?.contains("error_id=\(id)") == true)
        } else {
            #expect(["cancelled", "malformed_callback", "invalid_state"].contains(failure.reason))
        }
    }

    @Test func storageFailureSignsNobodyIn() async throws {
        let site = try Site()
        let state = try await site.state()
        site.database.faults.fail()
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")], [.cookie: Self.binding])
        #expect(response.status == .serviceUnavailable)
        #expect(response.setCookies.isEmpty)
    }

    @Test(
        "Those who may not come in get a page and no session",
        arguments: [
            (SignUpPolicy.approval, nil, "Waiting for approval"), (.open, .pending, "Waiting for approval"),
            (.open, .disabled, "switched off"), (.closed, nil, "No new accounts"),
        ] as [(SignUpPolicy, User.State?, String)])
    func notAdmitted(_ policy: SignUpPolicy, known: User.State?, title: String) async throws {
        let site = try Site(signUp: policy)
        if let known { site.signIn(state: known) }
        let state = try await site.state()
        let response = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")], [.cookie: Self.binding])
        #expect(response.status == .forbidden)
        #expect(response.setCookies.isEmpty)
        #expect(response.text.contains(title))
    }

    @Test func rateLimitAnswers429WithRetryAfter() async throws {
        let site = try Site(adjust: { $0.limits.signInsPerMinute = 3 })
        for _ in 0..<3 { #expect(await site.get("/login").status == .ok) }
        let refused = await site.get("/login/apple")
        #expect(refused.status == .tooManyRequests)
        #expect(Int(refused.fields[.retryAfter] ?? "").map { $0 >= 1 && $0 <= 60 } == true)
        #expect(await site.post("/apple/callback", [:]).status == .tooManyRequests)
        #expect(await site.send(.get, "/login", client: .v4(0x0A00_0002)).status == .ok)
        for _ in 0..<10 { #expect(await site.get("/auth/verify").status == .unauthorized) }
    }
}

@Suite struct NotificationRouteTests {
    @Test(
        "Status by outcome",
        arguments: [
            (nil, 200), (NotificationFailure.refused("x"), 400), (.otherAudience("x"), 400),
            (.keysUnavailable("x"), 503), (.storage("x"), 503),
        ] as [(NotificationFailure?, Int)])
    func status(_ failure: NotificationFailure?, code: Int) async throws {
        let site = try Site()
        site.apple.notificationFailure.withLock { $0 = failure }
        let response = await site.send(.post, "/apple/notifications", [.contentType: "application/json"], body: "{}")
        #expect(response.status.code == code)
        if code != 200 { #expect(response.fields[.contentType] == "application/problem+json") }
    }

    @Test func storeFailureIsNever200() async throws {
        let site = try Site()
        site.database.faults.fail()
        #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .serviceUnavailable)
    }

    @Test func onlyFailedVerificationsAreCharged() async throws {
        let site = try Site(adjust: { $0.limits.failedNotificationsPerMinute = 2 })
        for _ in 0..<10 { #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .ok) }
        site.apple.notificationFailure.withLock { $0 = .otherAudience("x") }
        for _ in 0..<10 { #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .badRequest) }
        site.apple.notificationFailure.withLock { $0 = .refused("x") }
        for _ in 0..<2 { #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .badRequest) }
        let refused = await site.send(.post, "/apple/notifications", body: "{}")
        #expect(refused.status == .tooManyRequests)
        #expect(refused.fields[.retryAfter] != nil)
        #expect(await site.send(.post, "/apple/notifications", body: "{}", client: .v4(9)).status == .badRequest)
    }

    /// Regression: thirty of an attacker behind the same balancer, or of Apple's own while its keys could not be fetched,
    /// and Apple's next was answered 429 without a look at it.
    @Test func whoFailsShutsOutNobodyElseAtTheSameAddress() async throws {
        let site = try Site(adjust: { $0.limits.failedNotificationsPerMinute = 2 })
        site.apple.notificationFailure.withLock { $0 = .keysUnavailable("unknown kid within the cool-down") }
        for _ in 0..<9 { #expect(await site.send(.post, "/apple/notifications").status == .serviceUnavailable) }
        site.apple.notificationFailure.withLock { $0 = .refused("x") }
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

    @Test func bodyBeyondItsLimitIsRefused() async throws {
        let site = try Site(adjust: { $0.limits.notificationBody = 2 })
        #expect(await site.send(.post, "/apple/notifications", body: "{}").status == .ok)
        #expect(await site.send(.post, "/apple/notifications", body: "{ }").status == .contentTooLarge)
    }
}
