import Coding
import HTTP
import HTTPTypes
import Sockets
import Storage
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct VerifyFastPathTests {
    private let site: Site

    init() throws { site = try Site.signedIn() }

    @Test func answersLikeTheRoute() async throws {
        let site = try Site.signedIn(PersonName(given: "Zoë", family: nil), groups: ["a", "b c"])
        let lines = try #require(try site.prepared(site.fastPath(), ["Cookie: a=1; \(site.cookie); b=2"]))
        let route = await site.get("/auth/verify", cookie: site.cookie)
        let fields = lines.dropFirst().dropLast(2).filter { !$0.hasPrefix("Date: ") }
        #expect(lines.contains("Date: \(Site.date)"))
        #expect(Set(fields) == Set(route.fields.map { "\($0.name.rawName): \($0.value)" }))
        #expect(fields.count == route.fields.count)
    }

    static let token = Site.browserToken
    static let cookie = "Cookie: __Host-bramley=\(token)"

    @Test(
        "Unusual requests are left to the route",
        arguments: [
            [], ["Cookie: a=1"], [cookie, cookie], ["Cookie: __Host-bramley=\(token); __Host-bramley=\(token)"],
            ["Cookie: __Host-bramley=\(token); __Host-bramley =x"], ["Cookie: __Host-bramley=\(token); __Host-bramley"],
            ["Cookie: __Host-bramley=\(token)x"], ["Cookie: __Host-bramley=\"\(token)\""],
            ["Cookie: __Host-bramley=brs_\(String(repeating: "Z", count: 43))"],
            ["Cookie: __Secure-bramley=\(token)"], ["Cookie: __host-bramley=\(token)"],
            [cookie, "Authorization: Bearer x"], [cookie, "Connection: close"], [cookie, "Content-Length: 5"],
            ["Cookie: __Host-bramley=\(Site.nativeToken)"],
        ])
    func unusual(_ lines: [String]) throws {
        site.signIn(kind: .native)
        #expect(try site.prepared(site.fastPath(), lines) == nil)
    }

    @Test(
        "Plain cookie fields are read",
        arguments: [
            cookie, cookie + "; x", "Cookie: \t __Host-bramley=\(token)",
            "Cookie: __Host-bramley-login=x;__Host-bramley=\(token)",
            "Cookie: x__Host-bramley=y; __Host-bramley=\(token)",
        ])
    func plain(_ line: String) throws {
        #expect(try site.prepared(site.fastPath(), [line]) != nil)
    }

    @Test(
        "Other requests are left to the route",
        arguments: [
            "HEAD /auth/verify HTTP/1.1", "POST /auth/verify HTTP/1.1", "GET /auth/verify/ HTTP/1.1",
            "GET /auth/verif%79 HTTP/1.1", "GET /account HTTP/1.1", "GET /auth/verify HTTP/1.0",
        ])
    func otherRequests(_ line: String) throws {
        #expect(try site.prepared(site.fastPath(), [Self.cookie], request: line) == nil)
        let query = "GET /auth/verify?redirect=true HTTP/1.1"
        #expect(try site.prepared(site.fastPath(), [Self.cookie], request: query) != nil)
    }

    @Test(
        "A query that is not of plain flags goes to the route",
        arguments: [
            ("", true), ("redirect=true", true), ("cached=true", true), ("cached=1", false),
            ("redirect=false&optional=true&assertion=true", true),
            ("redirect=maybe", false), ("redirect", false), ("redirect=", false),
            ("redirect=true&redirect=true", false),
            ("redirect=true&redirect=false", false), ("redirect=true&", false), ("allowed_groups=x", false),
            ("redirect=true&allowed_groups=x", false), ("allowed_emails=x", false), ("allowed_email_domains=x", false),
            ("%61llowed_groups=x", false), ("x=1", false),
        ])
    func queries(_ query: String, isPlain: Bool) throws {
        let request = "GET /auth/verify?\(query) HTTP/1.1"
        #expect((try site.prepared(site.fastPath(), [Self.cookie], request: request) != nil) == isPlain)
        // Nor where nobody has to be signed in.
        let rules = try AccessRulesFile.read(Array("{\"rules\": [{\"allow\": \"public\"}]}".utf8))
        let open = try Site(adjust: { $0.accessRules = rules })
        let described = ["Proto: https", "Host: app.example.com", "Uri: /x", "Method: GET"].map { "X-Forwarded-\($0)" }
        #expect((try open.prepared(open.fastPath(), described, request: request, trusted: true) != nil) == isPlain)
    }

    @Test(
        "A plain description from the proxy is read, any other left to the route",
        arguments: [
            ("X-Forwarded-Uri: /a/b.c?x=%20&y=1", true), ("X-Forwarded-Host: app.example.com", true),
            ("X-Forwarded-Proto: https", true), ("X-Forwarded-Method: GET", true),
            ("X-Original-URL: https://app.example.com/x?y=z", true), ("X-Original-URI: /x?y=z", true),
            ("X-Original-URI: /x\r\nX-Original-URI: /x", false), ("X-Original-URI: /a/../b", false),
            ("X-Original-URL: https://app.example.com/x\r\nX-Original-URI: /x", false),
            ("X-Forwarded-Uri: /a/../b", false), ("X-Forwarded-Uri: /%2e", false), ("X-Forwarded-Uri: //x", false),
            ("X-Forwarded-Uri: x", false), ("X-Forwarded-Host: APP", false), ("X-Forwarded-Proto: gopher", false),
            ("X-Forwarded-Uri: /x\r\nX-Forwarded-Uri: /x", false), ("X-Original-URL: https:///x", false),
            ("X-Original-URL: gopher://x/", false),
        ])
    func description(_ line: String, isPlain: Bool) throws {
        #expect((try site.prepared(site.fastPath(), [Self.cookie, line], trusted: true) != nil) == isPlain)
        #expect(try site.prepared(site.fastPath(), [Self.cookie, line], trusted: false) != nil)
    }

    @Test("Changed rules apply to the next check, on the loop and in the route")
    func rulesThatChange() async throws {
        func rules(_ text: String) throws -> AccessRules {
            try AccessRulesFile.read(Array("{\"rules\": [\(text)]}".utf8))
        }
        let closed = try rules("{\"path\": \"/x\", \"allow\": {\"groups\": [\"staff\"]}}")
        let open = try rules("{\"path\": \"/x\", \"allow\": \"public\"}")
        let current = CurrentAccessRules(nil)
        let site = try Site(currentRules: current)
        site.signIn()
        let path = try site.fastPath(rules: current)
        let described = VerifyRouteTests.original(.forwarded, "https", "app.example.com", "/x")
        let lines = described.map { "\($0.name.rawName): \($0.value)" }
        var signedIn = described
        signedIn[.cookie] = site.cookie
        func ask() async throws -> [String] {
            let fast = [
                try site.prepared(path, lines, trusted: true),
                try site.prepared(path, lines + [Self.cookie], trusted: true),
            ].map { $0 == nil ? "left" : "204" }
            let route = [
                await site.get("/auth/verify", described, trusted: true),
                await site.get("/auth/verify", signedIn, trusted: true),
            ].map { "\($0.status.code)" }
            return fast + route
        }
        #expect(try await ask() == ["left", "204", "401", "204"])
        #expect(current.replace(with: closed))
        #expect(try await ask() == ["left", "left", "401", "403"])
        #expect(current.replace(with: open))
        #expect(try await ask() == ["204", "204", "204", "204"])
        #expect(!current.replace(with: open))
        #expect(current.replace(with: nil))
        #expect(try await ask() == ["left", "204", "401", "204"])
    }

    @Test func sessionDueToBeSeenGoesToTheRouteOnce() throws {
        let path = try site.fastPath()
        #expect(try site.prepared(path, [Self.cookie]) != nil)
        site.clock.advance(seconds: 60)
        #expect(try site.prepared(path, [Self.cookie]) == nil)
        #expect(try site.prepared(path, [Self.cookie]) != nil)
    }

    @Test("Users who are not active go to the route", arguments: [User.State.pending, .disabled])
    func states(_ state: User.State) throws {
        let site = try Site.signedIn(state: state)
        #expect(try site.prepared(site.fastPath(), [Self.cookie]) == nil)
    }

    @Test func unavailableStoreIsLeftToTheRoute() throws {
        let path = try site.fastPath()
        site.database.faults.fail()
        #expect(try site.prepared(path, [Self.cookie]) == nil)
    }

    @Test func worksBelowABasePathAndWithASharedCookie() throws {
        let site = try Site(publicURL: "https://example.com/in", adjust: { $0.cookieDomain = "example.com" })
        site.signIn()
        let request = "GET /in/auth/verify HTTP/1.1"
        #expect(try site.prepared(site.fastPath(), ["Cookie: \(site.cookie)"], request: request) != nil)
        #expect(try site.prepared(site.fastPath(), [Self.cookie], request: request) == nil)
    }
}
