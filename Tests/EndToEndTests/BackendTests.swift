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
                let browser = site.browser()
                try await browser.signIn(as: "ada")
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

    @Test func accountIsDeletedByItsOwnerWithinTenMinutes() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            let (browser, other) = (site.browser(), site.browser())
            try await browser.signIn()
            let token = browser.sessionToken
            site.clock.advance(seconds: 600)
            try await other.signIn()
            func delete(_ browser: Browser, from context: RequestContext) async throws -> WireResponse {
                try await browser.send(WireRequest(method: "DELETE", target: "/api/v1/account", context: context))
            }
            let late = try await delete(browser, from: .sameOrigin)
            #expect(late.status == 403)
            #expect(late.text.contains("fresh_sign_in_required"))
            // Browsers send no cookie from another site.
            #expect(try await delete(other, from: .otherSite("https://evil.example")).status == 401)
            #expect(try await site.count("user") == 1)
            let done = try await delete(other, from: .sameOrigin)
            #expect(done.status == 202)
            #expect(done.setCookie(Browser.sessionName)?.isRemoval == true)
            #expect(try await site.count("user") == 0)
            #expect(try await site.count("session") == 0)
            // The other device is signed out with it.
            #expect(try await browser.session() == nil)
            #expect(try await backend.isActive(token) == false)
        }
    }

    // MARK: Keys

    @Test("A key beyond its scope changes nothing, on any route")
    func scopes() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn()
            let user = try #require(try await browser.session()?["user"]?["id"]?.stringValue)
            let session = try #require(try await browser.session()?["session"]?["id"]?.stringValue)
            let routes = [
                ("introspect", "POST", "/api/v1/introspect"), ("users:read", "GET", "/api/v1/users"),
                ("users:read", "GET", "/api/v1/users/\(user)"), ("users:write", "PATCH", "/api/v1/users/\(user)"),
                ("users:delete", "DELETE", "/api/v1/users/\(user)"),
                ("users:read", "GET", "/api/v1/users/\(user)/sessions"),
                ("users:write", "DELETE", "/api/v1/users/\(user)/sessions"),
                ("users:write", "DELETE", "/api/v1/users/\(user)/sessions/\(session)"),
                ("events:read", "GET", "/api/v1/events"),
            ]
            for scope in Backend.scopes {
                let backend = try Backend(site, scopes: Backend.scopes.filter { $0 != scope })
                for (needed, method, path) in routes where needed == scope {
                    let response = try await backend.send(
                        method, path, body: method == "PATCH" ? #"{"state":"disabled"}"# : nil, type: "application/json"
                    )
                    #expect(response.status == 403, "\(method) \(path)")
                    #expect(response["www-authenticate"]?.hasSuffix("scope=\"\(scope)\"") == true)
                }
            }
            // A scope that no version of ours gave opens nothing, nor does the scope of everything.
            let odd = try Backend(site, scopes: ["*", "users", "users:", "users:read ", "USERS:READ"])
            for (_, method, path) in routes { #expect(try await odd.send(method, path).status == 403) }
            #expect(try await browser.session()?["user"]?["id"]?.stringValue == user)
            #expect(try await site.count("user") == 1)
        }
    }

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
                ([("authorization", "bearer   \(key)")], 200), ([("AUTHORIZATION", "BASIC \(basic)")], 200),
                ([("Authorization", "  Bearer \(key) \t ")], 200),
                ([("Authorization", "Bearer \(key)"), ("authorization", "Bearer \(key)")], 401),
                ([("Authorization", "Bearer \(key), Bearer \(key)")], 401),
                ([("Authorization", "Bearer \(key)\u{A0}")], 401), ([("Authorization", "Bearer \"\(key)\"")], 401),
                ([("Authorization", "Basic \(basic)=")], 401), ([("Authorization", "Bearer \(basic)")], 401),
                ([("Proxy-Authorization", "Bearer \(key)")], 401), ([("X-Authorization", "Bearer \(key)")], 401),
                ([("Cookie", "__Host-bramley=\(key)")], 401), ([("Authorization", "")], 401),
            ]
            for (fields, status) in cases {
                let response = try await backend.send("GET", "/api/v1/users", fields)
                #expect(response.status == status, "\(fields)")
            }
            for target in ["/api/v1/users?access_token=\(key)", "/api/v1/users?token=\(key)"] {
                #expect(try await backend.send("GET", target, []).status == 401)
            }
            for (target, status) in [
                ("/api/v1/users/%2e%2e/users", 400), ("/api/v1/users/..%2fusers", 400), ("/api/v1/x/../users", 400),
                ("/api/v1/users%2f", 400), ("/api/v1/users%00", 400), ("/api/v1/users/", 404), ("/api/v1/./users", 400),
                ("//api/v1/users", 404), ("/api/v1/users?limit=1&limit=1", 400),
            ] {
                #expect(try await backend.send("GET", target).status == status, "\(target)")
            }
        }
    }

    // MARK: Content

    @Test func oversizedContentIsRefusedAndChangesNothing() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            let user = try #require(try site.addUsers(1).first)
            for (size, status) in [(16_384, 200), (16_385, 413), (70_000, 413)] {
                let body = #"{"externalID":"x\#(size)"}"#
                let response = try await backend.patch(
                    user, body + String(repeating: " ", count: size - body.utf8.count))
                #expect(response.status == status)
            }
            #expect(try await backend.page("/api/v1/users/\(user)")["externalID"]?.stringValue == "x16384")
        }
    }

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

    @Test("Every user is on one page, whoever comes and goes meanwhile")
    func pagesOfUsers() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            // Many of one millisecond, so that pages end among them.
            let old = try site.addUsers(120, at: 1000) + site.addUsers(3, at: 2000)
            var seen: [String] = []
            var deleted: Set<String> = []
            var cursor: String?
            repeat {
                let page = try await backend.page(
                    "/api/v1/users?limit=25" + (cursor.map { "&cursor=\($0)" } ?? ""))
                let items = page["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
                seen += items
                cursor = page["next"]?.stringValue
                // The one the cursor stands at goes, and one that was not seen yet; others come before and after.
                let last = try #require(items.last)
                let later = old.first { !seen.contains($0) && !deleted.contains($0) }
                for user in [last, later].compactMap({ $0 }) {
                    #expect(try await backend.send("DELETE", "/api/v1/users/\(user)").status == 202)
                    deleted.insert(user)
                }
                try site.addUsers(2, at: 500)
            } while cursor != nil && seen.count < 1000
            #expect(Set(seen).count == seen.count)
            #expect(Set(old).subtracting(deleted).isSubset(of: seen))
            #expect(Set(seen).isSubset(of: old))
        }
    }

    @Test func journalIsReadOnFromAnyPlaceAndNeverAgainFromTheBeginning() async throws {
        try await withSite { (site: Site) async throws in
            let backend = try Backend(site)
            for person in ["ada", "boris"] { try await site.browser().signIn(as: person) }
            var types: [String] = []
            var after: String?
            var last = ""
            repeat {
                let page = try await backend.page("/api/v1/events?limit=1" + (after.map { "&after=\($0)" } ?? ""))
                for item in page["items"]?.arrayValue ?? [] {
                    types.append(item["type"]?.stringValue ?? "")
                    last = item["id"]?.stringValue ?? ""
                }
                after = page["next"]?.stringValue
            } while after != nil && types.count < 100
            #expect(types == ["user.created", "session.created", "user.created", "session.created"])
            #expect(try await backend.page("/api/v1/events?after=\(last)")["items"]?.arrayValue?.isEmpty == true)
            try await site.browser().signIn(as: "ada")
            let more = try await backend.page("/api/v1/events?after=\(last)")
            #expect(more["items"]?.arrayValue?.map { $0["type"]?.stringValue } == ["session.created"])
            let first = try await backend.page("/api/v1/events?limit=1")
            let second = try #require(first["next"]?.stringValue)
            try site.writeBeside { try $0("DELETE FROM event WHERE sequence <= 2", []) }
            let gone = try await backend.send("GET", "/api/v1/events?after=\(second)")
            #expect(gone.status == 410)
            #expect(gone.text.contains("cursor_expired"))
            #expect(try await backend.send("GET", "/api/v1/events?after=\(Backend.makeID("evt_"))").status == 410)
            #expect(try await backend.send("GET", "/api/v1/events?after=garbage").status == 400)
            #expect(try await backend.page("/api/v1/events")["items"]?.arrayValue?.count == 3)
        }
    }

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
