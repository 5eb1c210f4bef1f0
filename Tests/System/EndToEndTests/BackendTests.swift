import AppleSimulator
import Coding
import Foundation
import Strangers
import Testing

/// The API for backends through the running server, over the real database.
@Suite struct BackendAPI {
    // MARK: Sessions

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

    // MARK: Keys

    @Test func revokedKeyIsRefusedAtOnceAlsoWhenAnotherProcessRevokesIt() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            #expect(try await backend.send("GET", "/api/v1/users").status == 200)
            #expect(try await site.query("SELECT last_used_at FROM api_key") == String(site.clock.milliseconds()))
            try site.writeBeside { try $0("UPDATE api_key SET revoked_at = 1", []) }
            let response = try await backend.send("GET", "/api/v1/users")
            #expect(response.status == 401)
            #expect(response["www-authenticate"] == "Bearer realm=\"bramley\", error=\"invalid_token\"")
            try await site.restart()
            #expect(try await backend.send("GET", "/api/v1/users").status == 401)
            #expect(!site.log.text.contains(backend.key))
        }
    }

    @Test("Credentials as the wire carries them")
    func wire() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            let key = backend.key
            let basic = Data("backend:\(key)".utf8).base64EncodedString()
            let cases: [([(name: String, value: String)], Int)] = [
                ([("AUTHORIZATION", "BASIC \(basic)")], 200), ([("Authorization", "  Bearer \(key) \t ")], 200),
                ([("Authorization", "Bearer \(key)\u{A0}")], 401), ([("Authorization", "Basic \(basic)=")], 401),
                ([("Proxy-Authorization", "Bearer \(key)")], 401), ([("X-Authorization", "Bearer \(key)")], 401),
            ]
            for (fields, status) in cases {
                let response = try await backend.send("GET", "/api/v1/users", fields)
                #expect(response.status == status, "\(fields)")
            }
            for target in ["/api/v1/users?access_token=\(key)", "/api/v1/users?token=\(key)"] {
                #expect(try await backend.send("GET", target, []).status == 401)
            }
        }
    }

    // MARK: Content

    @Test("A name such as admin, or in another script, goes in and comes out as it is")
    func names() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            let users = try site.addUsers(6)
            let names = ["admin", "李雷", "é", "e\u{301}", "<script>\"&", "usr_' OR 1=1 --"]
            for (user, name) in zip(users, names) {
                let body: JSON = ["externalID": .string(name), "groups": [.string(name)]]
                let response = try await backend.patch(user, String(decoding: body.bytes, as: UTF8.self))
                #expect(response.status == 200)
                #expect(JSON(parsing: response.body)?["externalID"]?.stringValue?.utf8.elementsEqual(name.utf8) == true)
            }
            for (user, name) in zip(users, names) {
                for query in ["externalID=", "group="] {
                    let page = try await backend.page("/api/v1/users?" + query + Form.escape(name))
                    #expect(page["items"]?.arrayValue?.map { $0["id"]?.stringValue } == [user], "\(query)\(name)")
                }
            }
            let taken = try await backend.patch(users[0], #"{"externalID":"李雷"}"#)
            #expect(taken.status == 409)
        }
    }

    // MARK: Pages

    @Test func everythingLivesBelowThePathOfPublicURL() async throws {
        try await withSite(SiteOptions(basePath: "/auth")) { (site: Site) async throws in
            let backend = try Backend(site)
            try site.addUsers(1)
            #expect(try await backend.page("/api/v1/users")["items"]?.arrayValue?.count == 1)
            let outside = try await backend.browser.get("/api/v1/users", [("Authorization", "Bearer \(backend.key)")])
            #expect(outside.status == 404)
        }
    }
}
