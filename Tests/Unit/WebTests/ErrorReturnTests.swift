import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// `error_return`: where a sign-in leads that its visitor cancels at Apple.
@Suite struct ErrorReturnTests {
    private static let binding = "__Host-bramley-login=\(Site.binding)"
    private static let elsewhere = "https://app.example.com/cancelled?a=1#top"

    private func query(_ errorReturn: String, returnTo: String = "https://app.example.com/x") -> String {
        "?return_to=\(PercentEncoding.encodeComponent(returnTo))"
            + "&error_return=\(PercentEncoding.encodeComponent(errorReturn))"
    }

    private func state(_ site: Site, _ query: String) async throws -> String {
        let response = await site.get("/login/attempt" + query, cookie: Self.binding)
        return try #require(response.json?["state"]?.stringValue)
    }

    private func callback(
        _ site: Site, _ form: [(String, String)], _ fields: HTTPFields = [.cookie: binding]
    ) async -> ServerResponse {
        await site.post("/apple/callback", form: form, fields)
    }

    private func cancel(_ site: Site, _ query: String) async throws -> ServerResponse {
        await callback(site, [("state", try await state(site, query)), ("error", "user_cancelled_authorize")])
    }

    @Test(
        "Cancelling returns there, with only the error after its own query",
        arguments: [
            (elsewhere, "https://app.example.com/cancelled?a=1&error=user_cancelled_authorize#top"),
            ("https://app.example.com", "https://app.example.com/?error=user_cancelled_authorize"),
            ("/welcome", "/welcome?error=user_cancelled_authorize"),
            ("https://login.example.com/w?", "https://login.example.com/w?error=user_cancelled_authorize"),
        ])
    func leadsThere(_ errorReturn: String, location: String) async throws {
        let site = try Site()
        for path in ["/login/attempt", "/login/apple", "/login"] {
            let start = await site.get(path + query(errorReturn), cookie: Self.binding)
            let state: String
            switch path {
            case "/login/attempt": state = try #require(start.json?["state"]?.stringValue)
            case "/login/apple":
                let url = try #require(start.location?.firstMatch(of: /state=([^&]*)/)?.1)
                state = try #require(
                    PercentEncoding.decode(Array(url.utf8)).map { String(decoding: $0, as: UTF8.self) })
            default:
                let name = /name="appleid-signin-state" content="([^"]*)"/
                state = String(try #require(start.text.firstMatch(of: name)?.1))
            }
            let response = await callback(site, [("state", state), ("error", "user_cancelled_authorize")])
            #expect(response.status == .seeOther)
            #expect(response.location == location)
            #expect(response.setCookies.isEmpty)
            #expect(site.database.sessions.isEmpty)
            site.clock.advance(seconds: 10)
        }
    }

    @Test(
        "error_return is refused where return_to is",
        arguments: [
            "https://evil.example/", "//evil.example", "/\\evil.example", "https://app.example.com.evil.example/",
            "javascript:alert(1)", "https://app.example.com@evil.example/", "/a%0d%0ab", "http://app.example.com/",
            "/" + String(repeating: "a", count: 1_000),
        ])
    func refuses(_ errorReturn: String) async throws {
        let site = try Site()
        for path in ["/login", "/login/apple", "/login/attempt"] {
            let response = await site.get(path + query(errorReturn), cookie: Self.binding)
            #expect(response.status == .badRequest)
            #expect(response.location == nil)
        }
        let twice = await site.get("/login?error_return=/a&error_return=/b")
        #expect(twice.status == .badRequest)
    }

    @Test("A state with both longest targets and a language opens")
    func longest() async throws {
        let site = try Site(adjust: { $0.locales = ["en", "de"] })
        let errorReturn = "/" + String(repeating: "b", count: 999)
        let query = query(errorReturn, returnTo: "/" + String(repeating: "a", count: 1_999)) + "&ui_locales=de"
        #expect(try await cancel(site, query).location == errorReturn + "?error=user_cancelled_authorize")
    }

    @Test("Only this browser's cancellation returns there: other failures have a page, whose retry keeps both targets")
    func otherFailures() async throws {
        let site = try Site()
        let query = query(Self.elsewhere)
        let forms: [([(String, String)], HTTPFields)] = [
            ([("error", "server_error")], [.cookie: Self.binding]),
            ([("error", "user_cancelled_authorize")], [.cookie: "__Host-bramley-login=nonsense"]),
            ([("code", "c")], [.cookie: Self.binding]),
        ]
        for (form, fields) in forms {
            let response = await callback(site, [("state", try await state(site, query))] + form, fields)
            #expect(response.status == .badRequest)
            #expect(response.location == nil)
            #expect(response.text.contains("&amp;error_return=https%3A%2F%2Fapp.example.com%2Fcancelled%3Fa%3D1%23top"))
        }
        let forged = await callback(site, [("state", "x"), ("error", "user_cancelled_authorize")])
        #expect(forged.status == .badRequest && forged.location == nil)
        // Without the binding cookie it is posted once more, from our own origin.
        let repost = await callback(
            site, [("state", try await state(site, query)), ("error", "user_cancelled_authorize")], [:])
        #expect(repost.status == .ok && repost.text.contains("name=\"error\""))
    }

    @Test("An application that sends its visitor straight back gets the page, not a loop to Apple")
    func noLoop() async throws {
        let site = try Site()
        let query = query("https://app.example.com/again")
        _ = try await cancel(site, query)
        let back = await site.get("/login/apple" + query, cookie: Self.binding)
        #expect(back.status == .ok)
        #expect(back.text.contains("id=\"appleid-signin\""))
        // The page once; whoever then chooses Apple goes there.
        #expect(await site.get("/login/apple" + query, cookie: Self.binding).status == .seeOther)
        _ = try await cancel(site, query)
        site.clock.advance(seconds: 10)
        #expect(await site.get("/login/apple" + query, cookie: Self.binding).status == .seeOther)
    }

    @Test("The login page passes it on, escaped, also to its popup")
    func page() async throws {
        let site = try Site(adjust: { $0.login.opensWindow = true })
        let page = await site.get("/login" + query("/c?a='\"&b"), cookie: Self.binding).text
        let way = "return_to=https%3A%2F%2Fapp.example.com%2Fx&amp;error_return=%2Fc%3Fa%3D%27%22%26b"
        #expect(page.contains("href=\"/login/apple?\(way)\""))
        #expect(page.contains("data-attempt-url=\"/login/attempt?\(way)\""))
        #expect(page.contains("data-cancelled=\"/c?a=&#39;&quot;&amp;b&amp;error=user_cancelled_authorize\" hidden"))
        #expect(await site.get("/login").text.contains("data-cancelled=\"\" hidden"))
    }
}
