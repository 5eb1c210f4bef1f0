import Coding
import HTTP
import HTTPTypes
import Public
import Sockets
import Testing
import Web

@testable import Accounts

@Suite struct LanguageTests {
    private static func site(_ locales: [String] = PageLanguages.builtIn) throws -> Site {
        try Site(adjust: { $0.locales = locales })
    }

    private static func language(_ site: Site, _ query: String? = nil, accept: String? = nil) async -> String? {
        var fields = HTTPFields()
        if let accept { fields[.acceptLanguage] = accept }
        let target = "/login" + (query.map { "?ui_locales=" + PercentEncoding.encodeComponent($0) } ?? "")
        return await site.get(target, fields).fields[.contentLanguage]
    }

    @Test(
        "Accept-Language chooses (RFC 9110 §12.5.4)",
        arguments: [
            ("ja", "ja"), ("ja-JP,ja;q=0.9,en-US;q=0.8", "ja"), ("de-CH", "de"), ("fr-CA,fr;q=0.9", "fr"),
            ("es-419", "es"), ("ar-EG", "ar"), ("ko-KR", "ko"), ("en-GB", "en"), ("nl", "en"), ("nl, fr;q=0.1", "fr"),
            ("de;q=0.5, fr;q=0.7", "fr"), ("DE", "de"), ("de;Q=0.5, fr;q=0.4", "de"), ("*", "en"),
            ("en;q=0, *;q=0.5", "de"), ("nl, *;q=0.1", "en"), ("", "en"), (";;q=,,", "en"), ("de;q=2, fr", "fr"),
            ("de;q=0", "en"), ("-,_,de-,deutsch", "en"), ("x-klingon, i-default", "en"), ("fr_FR", "fr"),
            // Chinese: the script decides, by region where it is not written.
            ("zh", "zh-Hans"), ("zh-CN", "zh-Hans"), ("zh-Hans-CN", "zh-Hans"), ("zh-SG", "zh-Hans"),
            ("cmn-Hans", "zh-Hans"), ("zh-TW, en;q=0.8", "en"), ("zh-Hant-HK, ja;q=0.3", "ja"),
            ("zh-HK, fr;q=0.2, de;q=0.1", "fr"), ("zh-TW, zh-CN;q=0.5", "zh-Hans"),
            // Nothing better follows: Chinese in the other script is closer than English nobody asked for.
            ("zh-TW", "zh-Hans"), ("zh-Hant, nl;q=0.5", "zh-Hans"), ("zh-TW, *;q=0.5", "en"),
        ])
    func acceptLanguage(_ field: String, expected: String) async throws {
        #expect(await Self.language(try Self.site(), accept: field) == expected)
    }

    @Test(
        "ui_locales chooses first (OpenID Connect Core §3.1.2.1)",
        arguments: [
            ("ja", "de", "ja"), ("xx ja de", "fr", "ja"), ("de-AT ja", "fr", "de"), ("nl", "fr", "fr"),
            ("", "fr", "fr"),
            ("zh-TW", "de", "de"), ("zh-TW zh-CN", "de", "zh-Hans"), ("zh-TW", "nl", "zh-Hans"), ("*", "fr", "fr"),
            ("ja,de", "fr", "fr"), ("  ar  ", "fr", "ar"), ("<script>", "fr", "fr"), ("ja\r\nx", "fr", "fr"),
        ])
    func uiLocales(_ asked: String, accept: String, expected: String) async throws {
        #expect(await Self.language(try Self.site(), asked, accept: accept) == expected)
    }

    @Test func limitsOfWhatIsRead() async throws {
        let site = try Self.site()
        func padded(_ count: Int, last: String) -> String {
            (Array(repeating: "nl", count: count - 1) + [last]).joined(separator: " ")
        }
        #expect(await Self.language(site, padded(32, last: "ja")) == "ja")
        #expect(await Self.language(site, padded(33, last: "ja")) == "en")
        #expect(await Self.language(site, "ja" + String(repeating: " ", count: 1022)) == "ja")
        #expect(await Self.language(site, "ja" + String(repeating: " ", count: 1023)) == "en")
        let list = { (count: Int) in (Array(repeating: "nl", count: count - 1) + ["ja"]).joined(separator: ",") }
        #expect(await Self.language(site, accept: list(32)) == "ja")
        #expect(await Self.language(site, accept: list(33)) == "en")
    }

    @Test func twoUILocalesAreNone() async throws {
        let page = try await Self.site().get("/login?ui_locales=ja&ui_locales=de", [.acceptLanguage: "fr"])
        #expect(page.status == .ok)
        #expect(page.fields[.contentLanguage] == "fr")
    }

    @Test func closestRegionWins() async throws {
        let english = String(decoding: EmbeddedFiles.content(of: "strings/en.json") ?? [], as: UTF8.self)
        let site = try Site(adjust: {
            $0.locales = ["de", "pt-BR", "pt", "pt-PT"]
            for tag in ["pt", "pt-BR", "pt-PT"] { $0.pageOverrides["strings/\(tag).json"] = Array(english.utf8) }
        })
        for (accept, expected) in [("pt-PT", "pt-PT"), ("pt-AO", "pt"), ("pt", "pt"), ("pt-br", "pt-BR")] {
            #expect(await Self.language(site, accept: accept) == expected)
        }
    }

    @Test func pageSaysItsLanguageEverywhere() async throws {
        let site = try Self.site()
        for (tag, direction, apple) in [
            ("ar", "rtl", "ar_SA"), ("ja", "ltr", "ja_JP"), ("ko", "ltr", "ko_KR"), ("zh-Hans", "ltr", "zh_CN"),
            ("de", "ltr", "de_DE"), ("fr", "ltr", "fr_FR"), ("es", "ltr", "es_ES"), ("en", "ltr", "en_US"),
        ] {
            let page = await site.get("/login", [.acceptLanguage: tag])
            #expect(page.text.contains("<html lang=\"\(tag)\" dir=\"\(direction)\">"))
            #expect(page.text.contains("/appleid/1/\(apple)/appleid.auth.js\""))
            #expect(page.text.contains("&amp;locale=\(apple)\""))
            #expect(page.fields[.vary] == "Accept-Language")
            let error = await site.get("/nothing", [.acceptLanguage: tag])
            #expect(error.fields[.contentLanguage] == tag)
            #expect(error.fields[.vary] == "Accept-Language")
            #expect(error.text.contains("dir=\"\(direction)\""))
        }
        let one = try await Self.site(["de"]).get("/login", [.acceptLanguage: "en"])
        #expect(one.fields[.contentLanguage] == "de")
        #expect(one.fields[.vary] == nil, "nothing varies where there is one language")
    }

    @Test func linksOfThePageCarryTheChoice() async throws {
        let site = try Self.site()
        site.signIn()
        let login = await site.get("/login?return_to=%2Fx&ui_locales=ar-EG")
        #expect(login.text.contains("href=\"/login/apple?return_to=%2Fx&amp;ui_locales=ar\""))
        #expect(login.text.contains("data-attempt-url=\"/login/attempt?return_to=%2Fx&amp;ui_locales=ar\""))
        let already = await site.get("/login?ui_locales=ar", cookie: site.cookie)
        #expect(already.text.contains("href=\"/account?ui_locales=ar\""))
        let logout = await site.get("/logout?ui_locales=ar", cookie: site.cookie)
        #expect(logout.text.contains("action=\"/logout?ui_locales=ar\""))
        #expect(logout.text.contains("href=\"/account?ui_locales=ar\""))
        let done = await site.post("/logout?ui_locales=ar", [.cookie: site.cookie, .secFetchSite: "same-origin"])
        #expect(done.location == "/logout?ui_locales=ar")
        #expect(await site.get("/?ui_locales=ar").location == "/login?ui_locales=ar")
        #expect(
            await site.get("/account?ui_locales=ar").location
                == "/login?return_to=%2Faccount%3Fui_locales%3Dar&ui_locales=ar")
        #expect(await site.get("/nothing?ui_locales=ar").text.contains("href=\"/?ui_locales=ar\""))
        // Without a choice no address changes.
        #expect(await site.get("/account", [.acceptLanguage: "ar"]).location == "/login?return_to=%2Faccount")
    }

    @Test(
        "Pages after Apple use the language in which the sign-in began",
        arguments: ["/login/attempt?ui_locales=ja", "/login/attempt"])
    func callback(_ start: String) async throws {
        let site = try Self.site()
        let binding = "__Host-bramley-login=\(Site.binding)"
        let attempt = await site.get(start + (start.contains("?") ? "&" : "?") + "return_to=%2Fx", cookie: binding)
        let state = try #require(attempt.json?["state"]?.stringValue)
        let expected = start.contains("ui_locales") ? "ja" : "de"
        func post(_ form: [(String, String)], cookie: String) async -> ServerResponse {
            await site.post("/apple/callback", form: form, [.cookie: cookie, .acceptLanguage: "de"])
        }
        let cancelled = await post([("state", state), ("error", "user_cancelled_authorize")], cookie: binding)
        #expect(cancelled.status == .badRequest)
        #expect(cancelled.fields[.contentLanguage] == expected)
        let suffix = expected == "ja" ? "&amp;ui_locales=ja" : ""
        #expect(cancelled.text.contains("href=\"/login?return_to=%2Fx\(suffix)\""))
        let repost = await post([("state", state), ("code", "c"), ("id_token", "t")], cookie: "a=b")
        #expect(repost.text.contains("bramley_repost"))
        #expect(repost.fields[.contentLanguage] == expected)
        let stranger = await post(
            [("state", state), ("code", "c"), ("id_token", "t")],
            cookie: "__Host-bramley-login=\(String(repeating: "C", count: 42))A")
        #expect(stranger.fields[.contentLanguage] == expected)
    }

    @Test("A language that is no longer offered, or a state that is not ours, falls back to the browser's")
    func unknownLanguageOfAState() async throws {
        let binding = "__Host-bramley-login=\(Site.binding)"
        let attempt = try await Self.site().get("/login/attempt?ui_locales=ja", cookie: binding)
        let state = try #require(attempt.json?["state"]?.stringValue)
        let site = try Self.site(["en", "de"])
        for value in [state, "A" + state.dropFirst(), "x"] {
            let page = await site.post(
                "/apple/callback", form: [("state", value), ("error", "server_error")],
                [.cookie: binding, .acceptLanguage: "de"])
            #expect(page.fields[.contentLanguage] == "de")
        }
    }

    @Test func valuesOfEitherDirectionStandApart() async throws {
        let site = try Site(name: "Club \u{5E2}\u{5D1}", adjust: { $0.locales = ["en", "ar"] })
        site.signIn(PersonName(given: "\u{644}\u{64A}\u{644}\u{649}", family: "<i>"))
        #expect(await site.get("/login").text.contains("Sign in to \u{2068}Club \u{5E2}\u{5D1}\u{2069}<"))
        let page = await site.get("/logout", [.cookie: site.cookie, .acceptLanguage: "ar"])
        #expect(page.text.contains("<bdi>\u{644}\u{64A}\u{644}\u{649} &lt;i&gt;</bdi>"))
        #expect(try await Site().get("/login").text.contains("Sign in to Example Orchard<"))
    }
}
