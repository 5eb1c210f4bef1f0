import AppleSimulator
import Coding
import Strangers
import Testing

/// The API for backends through the running server, over the real database.
@Suite struct BackendAPI {
    @Test func sessionEndsForBackendsWhereverItIsEnded() async throws {
        try await withSite(SiteOptions(loops: 2)) { (site: Site) async throws in
            let backend = try Backend(site)
            for end in ["sign-out", "one", "all", "disabled", "deleted"] {
                let browser = try await site.signedIn(as: "ada")
                let token = browser.sessionToken
                let answer = try #require(try await backend.introspect(token))
                #expect(answer["active"]?.boolValue == true)
                let user = try #require(answer["sub"]?.stringValue)
                let session = try #require(answer["sid"]?.stringValue)
                #expect(try await browser.session()?["user"]?["id"]?.stringValue == user)
                #expect(try await browser.verify().status == 204)
                switch end {
                case "sign-out": try await browser.post("/logout")
                case "one":
                    let path = "/api/v1/users/\(user)/sessions/\(session)"
                    #expect(try await backend.send("DELETE", path).status == 204)
                case "all": #expect(try await backend.send("DELETE", "/api/v1/users/\(user)/sessions").status == 204)
                case "disabled": #expect(try await backend.patch(user, #"{"state":"disabled"}"#).status == 200)
                default: #expect(try await backend.send("DELETE", "/api/v1/users/\(user)").status == 202)
                }
                let thief = site.browser()
                thief.setCookie(Browser.sessionName, token)
                #expect(try await backend.introspect(token) == ["active": false], "\(end)")
                #expect(try await thief.verify().status == 401, "\(end)")
                if end == "disabled" {
                    #expect(try await browser.postCallback(browser.consent(as: "ada")).status == 403)
                    #expect(try await backend.patch(user, #"{"state":"active"}"#).status == 200)
                }
            }
            #expect(try await site.count("user") == 0)
        }
    }
}
