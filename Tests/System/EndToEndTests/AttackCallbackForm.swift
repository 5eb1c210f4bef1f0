import AppleSimulator
import Coding
import Foundation
import Testing

@Suite struct CallbackForms {
    @Test func callbackBodyBeyondTheLimitIs413() async throws {
        try await withSite(SiteOptions(configuration: [("server", ["limits": ["body": 65_536]])])) {
            (site: Site) async throws in
            let (browser, form) = try await site.consent()
            let length = form.encoded.utf8.count + "&filler=".utf8.count
            let fits = form.setting("filler", String(repeating: "a", count: 65_536 - length))
            let tooLong = form.setting("filler", String(repeating: "a", count: 65_537 - length))
            #expect(try await browser.postCallback(tooLong).status == 413)
            #expect(browser.sessionToken == nil)
            #expect(try await browser.postCallback(fits).status == 303)
        }
    }

    @Test(arguments: ["state", "code", "id_token", "user", "error", "bramley_repost"])
    func duplicateParameterIsRefused(name: String) async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            let value = form[name] ?? "x"
            for second in [value, "", "x"] {
                var twice = form.setting(name, value)
                twice.pairs.append((name, second))
                #expect(try await browser.postCallback(twice, from: .sameOrigin).status == 400)
                twice.pairs.removeLast()
                twice.pairs.insert((name, second), at: 0)
                #expect(try await browser.postCallback(twice, from: .sameOrigin).status == 400)
            }
            #expect(browser.sessionToken == nil)
            #expect(try await site.count("session") == 0)
        }
    }

    @Test func swappedCodeAndTokenOfTwoSignInsAreRefused() async throws {
        try await withSite { (site: Site) async throws in
            let (victim, attacker) = (site.browser(), site.browser())
            let theirs = try await victim.consent(as: "boris")
            let own = try await attacker.consent(as: "ada")
            for name in ["code", "id_token"] {
                let swapped = own.setting(name, theirs[name])
                let response = try await attacker.postCallback(swapped)
                #expect(response.status == 400, "\(name)")
                #expect(attacker.sessionToken == nil)
            }
            let both = own.setting("code", theirs["code"]).setting("id_token", theirs["id_token"])
            #expect(try await attacker.postCallback(both).status == 400)
            // Code injection never reached Apple, so the victim's code is still good.
            #expect(try await victim.postCallback(theirs).status == 303)
        }
    }

    @Test(arguments: [
        "user_cancelled_authorize", "server_error", "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
        "a\r\nSet-Cookie: x=y", "\u{1b}[31m{{state}}", "%3Cscript%3E",
    ])
    func errorFromAppleIsACleanPage(error: String) async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            let state = Query(url: try await browser.begin())["state"]
            let response = try await browser.postCallback(Form([("state", state ?? ""), ("error", error)]))
            #expect(response.status == 400)
            #expect(response["content-type"] == "text/html; charset=utf-8")
            #expect(response.setCookie(Browser.sessionName) == nil)
            for hostile in ["<script>alert", "<img src=x", "{{state}}", "\u{1b}", "Set-Cookie: x"] {
                #expect(!response.text.contains(hostile))
            }
            #expect(!response.fields.contains { $0.value.contains("x=y") })
            // The attempt was not used up by it.
            #expect(try await browser.signIn().status == 303)
        }
    }

    @Test func errorWithoutAValidStateOrBesideACodeIsRefused() async throws {
        try await withSite { (site: Site) async throws in
            let invented = Form([("state", "invented"), ("error", "user_cancelled_authorize")])
            #expect(try await site.browser().postCallback(invented).status == 400)
            // Beside a code, the error decides: no session from an ambiguous post.
            let (browser, form) = try await site.consent()
            #expect(try await browser.postCallback(form.setting("error", "x")).status == 400)
            #expect(browser.sessionToken == nil)
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "\"x\"", "{\"name\":null}", "{\"name\":[]}",
        "{\"name\":{\"firstName\":1,\"lastName\":{}}}",
        "{\"name\":{\"firstName\":\"\\ud800\"}}", "{\"name\":{\"firstName\":\"a\",\"firstName\":\"b\"}}",
        String(repeating: "[", count: 20_000),
        "{\"name\":{\"firstName\":\"\(String(repeating: "A", count: 102_400))\"}}",
        "{\"name\":{\"firstName\":\"\(String(repeating: "é", count: 51_200))\",\"lastName\":\"Byron\"}}",
        "{\"name\":{\"firstName\":\"\\u0000\\u202e\"}}",
    ])
    func brokenOrHugeUserNeverBreaksALogin(user: String) async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            let response = try await browser.postCallback(form.setting("user", user))
            #expect(response.status == 303)
            #expect(try await browser.session()?["user"]?["email"]?.stringValue == "ada@example.com")
            #expect(try await browser.get("/account").status == 200)
        }
    }

    @Test func userFieldIsNeverTrustedForIdentityOrAddress() async throws {
        try await withSite { (site: Site) async throws in
            let (victim, attacker) = (site.browser(), site.browser())
            try await victim.signIn(as: "boris")
            let theirs = try await victim.session()?["user"]
            let form = try await attacker.consent(as: "dana")
            let user = """
                {"name":{"firstName":"Boris","lastName":"<b>x</b>"},"email":"\(theirs?["email"]?.stringValue ?? "")",\
                "sub":"\(theirs?["appleSubject"]?.stringValue ?? "")","email_verified":true}
                """
            try await attacker.postCallback(form.setting("user", user))
            let own = try await attacker.session()?["user"]
            #expect(own?["id"]?.stringValue != nil)
            #expect(own?["id"] != theirs?["id"])
            #expect(own?["appleSubject"] != theirs?["appleSubject"])
            // dana has no address, whatever the form says.
            #expect(own?["email"] == .null)
            #expect(own?["emailVerified"] == false)
            #expect(try await attacker.verify()["x-auth-request-email"] == "")
            #expect(!(try await attacker.get("/account").text.contains("<b>x</b>")))
            #expect(try await site.count("user") == 2)
        }
    }

    @Test func nameOfALaterPostNeverOverwrites() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let form = try await browser.consent(as: "ada")
            #expect(form["user"] == nil)
            let forged = "{\"name\":{\"firstName\":\"Mallory\",\"lastName\":\"Mallory\"}}"
            try await browser.postCallback(form.setting("user", forged))
            let name = try await browser.session()?["user"]?["name"]
            #expect(name?["given"]?.stringValue == "Ada")
            #expect(name?["family"]?.stringValue == "Byron")
        }
    }

    @Test func redirectURINeverComesFromTheRequest() async throws {
        let options = SiteOptions(configuration: [("server", ["trustedProxies": ["127.0.0.1"]])])
        for options in [SiteOptions(), options] {
            try await withSite(options) { (site: Site) async throws in
                let expected = site.publicURL + "/apple/callback"
                for fields in [
                    [("Host", "evil.example")], [("X-Forwarded-Host", "evil.example")],
                    [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Port", "1")],
                    [("Forwarded", "host=evil.example;proto=https")], [("X-Original-URL", "https://evil.example/")],
                    [("X-Host", "evil.example")], [("X-Forwarded-Prefix", "/evil")],
                ] as [[(name: String, value: String)]] {
                    let browser = site.browser(source: 0x7F00_0001)
                    let response = try await browser.get("/login/apple", fields)
                    #expect(Query(url: response["location"] ?? "")["redirect_uri"] == expected)
                    let page = try await browser.get("/login", fields)
                    #expect(page.status == 200)
                    #expect(!page.text.contains("evil.example"))
                }
            }
        }
    }

    @Test func absoluteRequestTargetOfAnotherHostChangesNothing() async throws {
        try await withSite { (site: Site) async throws in
            let response = try await site.browser().send(
                WireRequest(target: "http://evil.example/login/apple", fields: [("Host", "evil.example")]))
            if response.status == 303 {
                let uri = Query(url: response["location"] ?? "")["redirect_uri"]
                #expect(uri == site.publicURL + "/apple/callback")
            } else {
                #expect(response.status == 400)
            }
        }
    }

    @Test func callbackAnswers303WithoutSecretsInAnyURL() async throws {
        try await withSite { (site: Site) async throws in
            let (browser, form) = try await site.consent(returnTo: "/account?x=1")
            let response = try await browser.postCallback(form)
            #expect(response.status == 303)
            #expect(response["cache-control"] == "no-store")
            #expect(response["referrer-policy"] == "no-referrer")
            #expect(response["location"] == "/account?x=1")
            let failed = try await browser.postCallback(form.setting("code", "other"))
            let lost = try await site.browser().postCallback(form)
            for answer in [response, failed, lost] {
                #expect(answer["cache-control"] == "no-store")
                #expect(["no-referrer", "same-origin"].contains(answer["referrer-policy"]))
                for name in ["state", "code", "id_token"] {
                    let secret = try #require(form[name])
                    #expect(!answer.fields.contains { $0.value.contains(secret) })
                }
            }
            // A link of the error page holds none either; the re-post page holds them in its form alone.
            #expect(!failed.text.contains(form["state"] ?? "-"))
            #expect(!lost.text.contains("?state="))
            #expect(!lost.text.contains("?code="))
        }
    }
}
