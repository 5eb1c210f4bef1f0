import Coding
import HTTP
import HTTPTypes
import Testing
import Web

@testable import Accounts

/// With a `publicURL` that has a path, everything lives below it: no answer leads out of it, whatever was asked.
@Suite struct PublicPathTests {
    private static let base = "/sign-in"

    private func site(_ adjust: @escaping (inout WebConfiguration) -> Void = { _ in }) throws -> Site {
        try Site(publicURL: "https://login.example.com/sign-in", adjust: adjust)
    }

    /// Where an answer leads on this host: its `Location`, and what a page links to, loads and posts to.
    private func ways(_ response: ServerResponse) -> [String] {
        let page = response.text.matches(of: /(?:href|src|srcset|action|data-attempt-url|data-callback)="([^"]*)"/)
        let all = [response.location].compactMap { $0 } + page.map { String($0.1) }
        return all.compactMap { way in
            let own =
                way.hasPrefix("https://login.example.com")
                ? String(way.dropFirst("https://login.example.com".count)) : way
            return own.hasPrefix("/") && !own.hasPrefix("//") ? own : nil
        }
    }

    private static let pages = [
        "", "/", "/login", "/login?ui_locales=de", "/login/apple", "/login/attempt", "/account", "/account/export",
        "/account/delete", "/account/deleted", "/logout", "/auth/verify?redirect=true", "/auth/forbidden",
        "/oauth2/auth", "/oauth2/start", "/oauth2/sign_in", "/oauth2/sign_out", "/.well-known/change-password",
        "/nothing",
        "/link/lnk_00000000000000000000000001",
    ]

    @Test("Every Location, link, script, style and form stays below the path", arguments: pages)
    func staysBelow(_ path: String) async throws {
        for isSignedIn in [false, true] {
            for place in ["same-origin", "cross-site"] {
                let site = try site()
                if isSignedIn { site.signIn() }
                var fields: HTTPFields = [
                    .secFetchSite: place, .secFetchMode: "navigate", .accept: "text/html",
                ]
                if isSignedIn { fields[.cookie] = site.cookie }
                let response = await site.get(Self.base + path, fields)
                for way in ways(response) {
                    #expect(way == Self.base || way.hasPrefix(Self.base + "/"), "\(path) leads to \(way)")
                }
                #expect(response.setCookies.allSatisfy { $0.contains("; Path=/;") })
            }
        }
    }

    @Test("Signing in and out, ending sessions and deleting lead below the path")
    func changes() async throws {
        let site = try site()
        let binding = "__Host-bramley-login=\(Site.binding)"
        let attempt = await site.get("/sign-in/login/attempt", cookie: binding)
        let state = attempt.json?["state"]?.stringValue ?? ""
        let done = await site.post(
            "/sign-in/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")], [.cookie: binding])
        #expect(done.location == "/sign-in/account")
        for (path, form) in [
            ("/account/sessions/revoke-all", []), ("/account/delete", []), ("/logout", []),
            ("/account/sessions/revoke", [("session", "ses_00000000000000000000000001")]),
        ] as [(String, [(String, String)])] {
            site.signIn()
            let answer = await site.post(
                Self.base + path, form: form, [.cookie: site.cookie, .secFetchSite: "same-origin"])
            #expect(answer.status == .seeOther)
            #expect(answer.location?.hasPrefix("/sign-in/") == true, "\(path): \(answer.location ?? "")")
        }
    }
}
