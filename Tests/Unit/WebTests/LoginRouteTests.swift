import Coding
import HTTP
import HTTPTypes
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct LoginRouteTests {
    @Test func pageCarriesAFreshAttempt() async throws {
        let site = try Site()
        let first = await site.get("/login")
        #expect(first.status == .ok)
        let state = try #require(meta("state", first.text))
        let nonce = try #require(meta("nonce", first.text))
        #expect(state.utf8.count > 100)
        #expect(nonce.utf8.count == 43)
        #expect(meta("client-id", first.text) == "com.example.web")
        #expect(meta("redirect-uri", first.text) == "https://login.example.com/apple/callback")
        #expect(meta("scope", first.text) == "name")
        #expect(meta("use-popup", first.text) == "false")
        let second = await site.get("/login")
        #expect(meta("state", second.text) != state)
        #expect(meta("nonce", second.text) != nonce)
    }

    @Test func popupIsOfferedWithTheRedirectAsFallback() async throws {
        let site = try Site(adjust: { $0.login.opensWindow = true })
        let page = await site.get("/login?return_to=%2Fx").text
        #expect(meta("use-popup", page) == "true")
        // Apple gets the same return URL, and the exchange repeats it.
        #expect(meta("redirect-uri", page) == "https://login.example.com/apple/callback")
        #expect(page.contains("data-callback=\"/apple/callback\""))
        #expect(page.matches(of: /href="\/login\/apple\?return_to=%2Fx"/).count == 2)
        #expect(page.firstMatch(of: /<script nonce="[^"]{22}" src="\/assets\/popup\.js\?v=/) != nil)
        let redirect = await (try Site()).get("/login").text
        #expect(!redirect.contains("popup.js") && !redirect.contains("data-callback"))
        #expect(redirect.matches(of: /href="\/login\/apple\?/).count == 1)
    }

    @Test func allPlaceholdersAreFilled() async throws {
        let site = try Site.signedIn()
        for target in ["/login", "/login?return_to=%2Fx", "/account", "/logout", "/nothing"] {
            for cookie in ["", site.cookie] {
                let page = await site.get(target, cookie: cookie).text
                #expect(!page.contains("{{"))
                #expect(!page.contains("}}"))
                #expect(!page.contains("\u{E000}"), "a gap is left: \(target)")
                #expect(!page.contains("{site}"))
            }
        }
    }

    @Test func plainLinkLeadsToAppleWithThePictureOfItsButton() async throws {
        let site = try Site()
        let page = await site.get("/login?return_to=%2Fa%3Fb%3D1%26c").text
        #expect(page.contains("href=\"/login/apple?return_to=%2Fa%3Fb%3D1%26c\""))
        #expect(page.contains("src=\"https://appleid.cdn-apple.com/appleid/button?color=black&amp;"))
        #expect(page.contains("<span>Sign in with Apple</span>"))
        #expect(page.contains("data-attempt-url=\"/login/attempt?return_to=%2Fa%3Fb%3D1%26c\""))
        let response = await site.get("/login/apple")
        #expect(response.status == .seeOther)
        #expect(response.location?.hasPrefix("https://appleid.apple.com/auth/authorize?") == true)
    }

    @Test func buttonAttributesFollowTheConfiguration() async throws {
        let site = try Site(adjust: {
            ($0.button.color, $0.button.kind, $0.button.border) = (.white, .continue, true)
            ($0.button.borderRadius, $0.button.width, $0.button.height) = (4, 200, 40)
        })
        let page = await site.get("/login").text
        #expect(
            page.contains(
                "<div id=\"appleid-signin\" data-mode=\"center-align\" data-type=\"continue\" data-color=\"white\" "
                    + "data-border=\"true\" data-border-radius=\"4\" data-width=\"100%\" data-height=\"100%\">"))
        #expect(page.contains("style=\"width:200px;height:40px\""))
        #expect(!page.contains("data-follows-scheme"))
    }

    @Test func passwordLinkIsShownWhenConfigured() async throws {
        let without = try Site()
        #expect(!(await without.get("/login").text.contains("password instead")))
        let with = try Site(adjust: { $0.login.passwordURL = "https://example.com/password?a=1&b=2" })
        #expect(await with.get("/login").text.contains("href=\"https://example.com/password?a=1&amp;b=2\""))
    }

    @Test(
        "The login page says what is shared, by the scopes",
        arguments: [
            ([], "learns neither your name nor"), (["name"], "asks for your name, which"),
            (["email"], "choose to hide it"),
            (["name", "email"], "change the name and hide the address"),
        ])
    func sharing(_ scopes: [String], text: String) async throws {
        #expect(await (try Site(scopes: scopes)).get("/login").text.contains(text))
    }

    @Test func returnToAnotherSiteIsNamed() async throws {
        let site = try Site()
        let page = await site.get("/login?return_to=https%3A%2F%2Fapp.example.com%2Fx")
        #expect(page.status == .ok)
        #expect(page.text.contains("go back to <bdi>https://app.example.com</bdi>"))
    }

    @Test func attemptIsJSONForThePage() async throws {
        let site = try Site()
        let response = await site.get("/login/attempt")
        let json = try #require(response.json)
        #expect(json["state"]?.stringValue?.isEmpty == false)
        #expect(json["nonce"]?.stringValue?.utf8.count == 43)
        #expect(json["expiresAt"]?.stringValue?.hasSuffix("Z") == true)
        // Before the attempt is half as old as it may be.
        #expect((json["renewAfter"]?.int64Value ?? 600) < 300)
        #expect(response.fields[.contentType] == "application/json")
        let refused = await site.get("/login/attempt?return_to=//evil")
        #expect(refused.fields[.contentType] == "application/problem+json")
        #expect(refused.json?["code"]?.stringValue == "return_to_refused")
    }

    @Test func signedInVisitorIsRedirectedOnceThenInformed() async throws {
        let site = try Site.signedIn()
        let target = "/login?return_to=https%3A%2F%2Fapp.example.com%2Fx"
        let first = await site.get(target, cookie: site.cookie)
        #expect(first.status == .seeOther)
        #expect(first.location == "https://app.example.com/x")
        site.clock.advance(seconds: 9)
        let bounced = await site.get(target, cookie: site.cookie)
        #expect(bounced.status == .ok)
        #expect(bounced.location == nil)
        #expect(bounced.text.contains("You came straight back"))
        #expect(bounced.text.contains("href=\"https://app.example.com/x\""))
        #expect(await site.get(target, cookie: site.cookie).status == .seeOther)
        site.clock.advance(seconds: 10)
        #expect(await site.get(target, cookie: site.cookie).status == .seeOther)
    }

    @Test func browserWithoutItsSessionIsInformedToo() async throws {
        let site = try Site()
        let binding = Site.bindingCookie
        let done = try await site.callback(returnTo: "https://app.example.com/x")
        #expect(done.location == "https://app.example.com/x")
        for path in ["/login", "/login/apple"] {
            let target = path + "?return_to=https%3A%2F%2Fapp.example.com%2Fx"
            let back = await site.get(target, cookie: binding)
            #expect(back.text.contains("You came straight back") == (path == "/login"), "told once")
        }
    }

    /// Every way to end one's own session, for good or with the account.
    private static let endings: [(method: HTTPRequest.Method, path: String, form: [String], status: Int)] = [
        (.post, "/logout", [], 303), (.delete, "/api/v1/session", [], 204),
        (.post, "/account/sessions/revoke", ["session"], 303),
        (.post, "/account/delete", ["confirm", "account"], 303), (.delete, "/api/v1/account", [], 202),
    ]

    @Test(arguments: endings.indices)
    func signingOutAndInAgainIsNotALoop(ending: Int) async throws {
        let ending = Self.endings[ending]
        let site = try Site()
        let binding = Site.bindingCookie
        let done = try await site.callback(returnTo: "/account")
        let session = String(try #require(done.setCookies.first).prefix { $0 != ";" })
        let fields: HTTPFields = [.cookie: "\(binding); \(session)", .secFetchSite: "same-origin"]
        let own = try #require(site.database.sessions.first)
        let values = ["session": own.id.rawValue, "confirm": "yes", "account": own.user.rawValue]
        let response =
            ending.method == .post
            ? await site.post(ending.path, form: ending.form.map { ($0, values[$0] ?? "") }, fields)
            : await site.send(ending.method, ending.path, fields)
        #expect(response.status.code == ending.status)
        for cookie in [binding, "\(binding); \(session)"] {
            let page = await site.get("/login?return_to=%2Faccount", cookie: cookie)
            #expect(page.status == .ok)
            #expect(!page.text.contains("You came straight back"))
        }
    }

    @Test func endedSessionIsNotALoop() async throws {
        let site = try Site()
        let binding = Site.bindingCookie
        let done = try await site.callback(returnTo: "/account")
        let session = String(try #require(done.setCookies.first).prefix { $0 != ";" })
        site.database.execute("DELETE FROM session")
        let page = await site.get("/login?return_to=%2Faccount", cookie: "\(binding); \(session)")
        #expect(!page.text.contains("You came straight back"))
        #expect(await site.get("/login?return_to=%2Faccount", cookie: binding).text.contains("You came straight back"))
    }

    @Test func signedInVisitorWithoutTargetMayContinueOrSignInAnew() async throws {
        let site = try Site.signedIn()
        let page = await site.get("/login", cookie: site.cookie)
        #expect(page.status == .ok)
        #expect(page.text.contains("already signed in as <bdi>Anna Appleseed</bdi>"))
        #expect(meta("state", page.text) != nil)
    }

    /// Signed in to the default target a moment ago: opening the login page again is not a circle.
    @Test func loginPageWithoutTargetIsNotALoop() async throws {
        let site = try Site()
        let binding = Site.bindingCookie
        let done = try await site.callback()
        #expect(done.location == "/account")
        site.signIn()
        let page = await site.get("/login", cookie: "\(binding); \(site.cookie)")
        #expect(page.text.contains("already signed in as"))
        #expect(!page.text.contains("You came straight back"))
    }

    @Test func everythingLivesBelowTheBasePath_WhichLeadsToTheAccountOrTheLogin() async throws {
        let site = try Site(publicURL: "https://example.com/sign-in")
        #expect(await site.get("/login").status == .notFound)
        let page = await site.get("/sign-in/login").text
        #expect(page.contains("href=\"/sign-in/login/apple?return_to=\""))
        #expect(page.contains("src=\"/sign-in/assets/login.js?v="))
        #expect(meta("redirect-uri", page) == "https://example.com/sign-in/apple/callback")
        #expect(await site.get("/sign-in/").location == "/sign-in/login")
        #expect(await site.get("/sign-in").location == "/sign-in/login")
        site.signIn()
        #expect(await site.get("/sign-in/", cookie: site.cookie).location == "/sign-in/account")
    }

    @Test func simulatorOverrideIsShownOnEveryPage() async throws {
        let site = try Site(adjust: { $0.apple.isSimulatedByOverride = true })
        site.signIn()
        for target in ["/login", "/account", "/logout", "/nothing"] {
            #expect(await site.get(target, cookie: site.cookie).text.contains("a simulator stands in for Apple"))
        }
        #expect(!(await (try Site()).get("/login").text.contains("simulator")))
    }

    private func meta(_ name: String, _ page: String) -> String? {
        guard let start = page.firstRange(of: "<meta name=\"appleid-signin-\(name)\" content=\"") else { return nil }
        return String(page[start.upperBound...].prefix { $0 != "\"" })
    }
}
