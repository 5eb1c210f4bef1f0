import Coding
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

private let ruleDocument = """
    {"rules": [
        {"host": "app.example.com", "path": "/assets/*", "allow": "public"},
        {"host": "app.example.com", "path": "/", "allow": "optional"},
        {"host": "app.example.com", "path": "/hook", "methods": ["POST"], "allow": "public"},
        {"host": "app.example.com", "path": "/admin/*", "allow": {"groups": ["admins", "owners"]}},
        {"host": "app.example.com", "path": "/ada", "allow": {"users": ["usr_other", "ada@example.com"]}},
        {"host": "app.example.com", "path": "/id", "allow": {"users": ["usr_00000000000000000000000001"]}},
        {"host": "app.example.com", "path": "/team/*", "allow": {"emailDomains": ["example.com"]}},
        {"host": "app.example.com", "path": "/é b", "allow": "public"},
        {"host": "*.sites.example.com", "allow": "public"}
    ]}
    """

/// `/auth/verify` under access rules. Each request is put to the ordinary route and to the prepared answer, which may
/// leave it but may not say anything else.
@Suite struct VerifyRulesTests {
    private func site(_ style: OriginalRequest.Style = .forwarded) throws -> Site {
        let rules = try AccessRulesFile.read(Array(ruleDocument.utf8))
        return try Site(adjust: {
            $0.accessRules = rules
            $0.forwardAuth = style
        })
    }

    private func fields(
        _ style: OriginalRequest.Style, _ url: String, method: String?, cookie: String?
    ) -> HTTPFields {
        var fields = HTTPFields()
        let rest = url.dropFirst("https://".count)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        switch style {
        case .forwarded:
            fields[HTTPField.Name("X-Forwarded-Proto")!] = "https"
            fields[HTTPField.Name("X-Forwarded-Host")!] = String(rest[..<slash])
            fields[HTTPField.Name("X-Forwarded-Uri")!] = String(rest[slash...])
            fields[HTTPField.Name("X-Forwarded-Method")!] = method
        case .original:
            fields[HTTPField.Name("X-Original-URL")!] = url
            fields[HTTPField.Name("X-Original-Method")!] = method
        }
        fields[.cookie] = cookie
        return fields
    }

    /// What the ordinary route says, held against the prepared answer.
    private func ask(
        _ site: Site, _ url: String, method: String? = "GET", style: OriginalRequest.Style = .forwarded,
        cookie: String? = nil, target: String = "/auth/verify"
    ) async throws -> ServerResponse {
        let fields = fields(style, url, method: method, cookie: cookie)
        let lines = fields.map { "\($0.name.rawName): \($0.value)" }
        let prepared = try site.prepared(
            site.fastPath(), lines, request: "GET \(target) HTTP/1.1", trusted: true)
        let response = await site.get(target, fields, trusted: true)
        if let prepared {
            #expect(response.status == .noContent)
            let others = prepared.dropFirst().dropLast(2).filter { !$0.hasPrefix("Date: ") }
            #expect(Set(others) == Set(response.fields.map { "\($0.name.rawName): \($0.value)" }))
        }
        return response
    }

    static let app = "https://app.example.com"

    @Test(
        "Signed out: what is open is 204 with empty fields, the rest 401",
        arguments: [
            ("/assets/a.css?v=1", "GET", 204), ("/assets", "GET", 204), ("/assets/", "POST", 204), ("/", "GET", 204),
            ("/?a=/admin", "GET", 204), ("/hook", "POST", 204), ("/hook", "GET", 401), ("/hook/", "POST", 401),
            ("/admin", "GET", 401), ("/assetsx", "GET", 401), ("/Assets/a", "GET", 401), ("/x", "GET", 401),
            ("/%C3%A9%20b", "GET", 204), ("/%61ssets/x", "GET", 204), ("/ass%65ts/a%2Bb", "GET", 204),
        ], [OriginalRequest.Style.forwarded, .original])
    func signedOut(_ row: (path: String, method: String, code: Int), _ style: OriginalRequest.Style)
        async throws
    {
        let response = try await ask(try site(style), Self.app + row.path, method: row.method, style: style)
        #expect(response.status.code == row.code)
        #expect(response.userField == "")
    }

    @Test(
        "Signed in: the person is described where admitted, and 403 elsewhere",
        arguments: [
            ("/assets/a", 204), ("/", 204), ("/x", 204), ("/hook", 204), ("/admin", 403), ("/admin/", 403),
            ("/admin/a", 403), ("/adminx", 204), ("/%61dmin/x", 403), ("/ada", 403), ("/id", 204), ("/team/x", 204),
        ], [OriginalRequest.Style.forwarded, .original])
    func signedIn(_ row: (path: String, code: Int), _ style: OriginalRequest.Style) async throws {
        let site = try site(style)
        site.signIn(groups: ["Admins", "admin", "staff"])
        let response = try await ask(site, Self.app + row.path, style: style, cookie: site.cookie)
        #expect(response.status.code == row.code)
        #expect((response.userField == "usr_00000000000000000000000001") == (row.code == 204))
        #expect(response.location == nil)
    }

    @Test(
        "A proxy may keep an answer that holds for every path and method of the host",
        arguments: [
            ("app.example.com", false), ("a.sites.example.com", true), ("other.example.com", true),
            ("paths.example.net", false), ("methods.example.net", false), ("same.example.net", true),
        ], [OriginalRequest.Style.forwarded, .original])
    func kept(_ row: (host: String, isKept: Bool), _ style: OriginalRequest.Style) async throws {
        let rules = """
            {"host": "paths.example.net", "path": "/x", "allow": "optional"},
            {"host": "methods.example.net", "methods": ["POST"], "allow": "public"},
            {"host": "same.example.net", "path": "/x", "allow": {"groups": ["staff"]}},
            {"host": "same.example.net", "allow": {"groups": ["staff"]}}
            """
        let site = try Site(adjust: {
            $0.accessRules = try? AccessRulesFile.read(
                Array(ruleDocument.replacing("\n]}", with: ",\n\(rules)\n]}").utf8))
            $0.forwardAuth = style
        })
        site.signIn(groups: ["staff"])
        let (url, isKept) = ("https://\(row.host)/y", row.isKept && style == .forwarded)
        let kept = try await ask(site, url, style: style, cookie: site.cookie, target: "/auth/verify?cached=true")
        #expect(kept.status == .noContent && (kept.fields[Self.expires] == "1") == isKept)
        for (cookie, target) in [(site.cookie, "/auth/verify"), (nil, "/auth/verify?cached=true")] {
            #expect(try await ask(site, url, style: style, cookie: cookie, target: target).fields[Self.expires] == nil)
        }
    }

    static let expires = HTTPField.Name("X-Accel-Expires")!

    @Test(
        "Without rules, an answer about another host may be kept by a trusted proxy and by nobody else",
        arguments: [(true, true), (true, false), (false, true)])
    func keptWithoutRules(trusted: Bool, namesHost: Bool) async throws {
        let site = try Site.signedIn()
        let target = "/auth/verify?cached=true"
        var fields: HTTPFields = [.cookie: site.cookie]
        if namesHost { fields[HTTPField.Name("X-Forwarded-Host")!] = "app.example.com" }
        let route = await site.get(target, fields, trusted: trusted)
        #expect(route.status == .noContent)
        #expect((route.fields[Self.expires] == "1") == (trusted && namesHost))
        let prepared = try site.prepared(
            site.fastPath(), fields.map { "\($0.name.rawName): \($0.value)" }, request: "GET \(target) HTTP/1.1",
            trusted: trusted)
        #expect(prepared?.contains("X-Accel-Expires: 1") == (trusted && namesHost))
    }

    @Test(
        "Groups: any of them",
        arguments: [(["owners"], true), (["x", "admins"], true), ([], false), (["Owners"], false)])
    func groups(_ groups: [String], isIn: Bool) async throws {
        let site = try site()
        site.signIn(groups: groups)
        let response = try await ask(site, Self.app + "/admin", cookie: site.cookie)
        #expect(response.status == (isIn ? .noContent : .forbidden))
    }

    static let addresses: [(address: String, isVerified: Bool, isPrivate: Bool, ada: Bool, team: Bool)] = [
        ("ada@example.com", true, false, true, true), ("ADA@Example.COM", true, false, true, true),
        ("ada@example.com", false, false, false, false), ("ada@example.com", true, true, true, false),
        ("eve@example.com", true, false, false, true), ("eve@sub.example.com", true, false, false, false),
        ("eve@notexample.com", true, false, false, false), ("eve@example.com.evil.net", true, false, false, false),
        ("\"@example.com\"@evil.net", true, false, false, false),
        ("eve@example.com@evil.net", true, false, false, false),
        ("eve@example.com ", true, false, false, false), ("eve@ex\u{E4}mple.com", true, false, false, false),
        ("example.com", true, false, false, false), ("eve@\u{212A}example.com", true, false, false, false),
    ]

    @Test("Addresses and domains match only when verified", arguments: addresses)
    func address(_ row: (address: String, isVerified: Bool, isPrivate: Bool, ada: Bool, team: Bool)) async throws {
        let site = try site()
        site.signIn(email: EmailAddress(address: row.address, isVerified: row.isVerified, isPrivate: row.isPrivate))
        let ada = try await ask(site, Self.app + "/ada", cookie: site.cookie)
        #expect(ada.status == (row.ada ? .noContent : .forbidden))
        let team = try await ask(site, Self.app + "/team/", cookie: site.cookie)
        #expect(team.status == (row.team ? .noContent : .forbidden))
    }

    @Test(
        "An ambiguous path or host is refused for everyone",
        arguments: [
            "/assets/../admin", "/assets/%2e%2e/admin", "/assets%2f..%2fadmin", "//admin", "/assets//x", "/admin//",
            "/assets/..;/admin", "/assets;/admin", "/admin;x=1", "/admin%3bx", "/assets/%252e%252e/admin",
            "/admin%25", "/assets/%5c..%5cadmin", "/assets/%00", "/assets/%ff", "/assets/a%", "/assets/.",
        ])
    func notCanonical(_ path: String) async throws {
        // A percent sign that stays alone is not an escape: only that one passes, to its own rule.
        let isPlain = path == "/admin%25"
        let site = try site()
        let nobody = try await ask(site, Self.app + path)
        #expect(nobody.status == (isPlain ? .unauthorized : .forbidden))
        site.signIn(groups: ["admins"])
        let somebody = try await ask(site, Self.app + path, cookie: site.cookie)
        #expect(somebody.status == (isPlain ? .noContent : .forbidden))
    }

    /// Rules that differ only by host and method have a verdict for every path.
    @Test(
        "A path that cannot be read passes where all paths of the site have the same rule",
        arguments: [
            ("one.example.com", "GET", 204), ("two.example.com", "GET", 204), ("three.example.com", "GET", 403),
            ("four.example.com", "GET", 204), ("four.example.com", "POST", 403), ("five.example.com", "GET", 403),
            ("six.example.com", "GET", 204), ("other.example.com", "GET", 204),
        ])
    func unreadablePaths(_ host: String, _ method: String, _ code: Int) async throws {
        let text = """
            {"rules": [
            {"host": "one.example.com", "allow": "public"},
            {"host": "two.example.com", "path": "/a/*", "allow": "signedIn"},
            {"host": "three.example.com", "path": "/a/*", "allow": "public"},
            {"host": "four.example.com", "path": "/*", "methods": ["GET"], "allow": "public"},
            {"host": "four.example.com", "path": "/x", "allow": {"groups": ["staff"]}},
            {"host": "five.example.com", "allow": {"groups": ["staff"]}},
            {"host": "six.example.com", "path": "/a", "allow": {"groups": ["admins"]}},
            {"host": "six.example.com", "path": "/*", "allow": {"groups": ["admins"]}}
            ]}
            """
        let rules = try AccessRulesFile.read(Array(text.utf8))
        let site = try Site(adjust: { $0.accessRules = rules })
        site.signIn(groups: ["admins"])
        for path in ["/a/%2F/b", "//", "/x;y", "/caf%E9", "/../a"] {
            let response = try await ask(
                site, "https://\(host)\(path)", method: method, cookie: site.cookie)
            #expect(response.status.code == code, "\(path)")
        }
    }

    @Test(
        "Hosts",
        arguments: [
            ("https://app.example.com:8443/assets/x", 204), ("https://app.example.com./assets/x", 403),
            ("https://.app.example.com/assets/x", 403), ("https://app..example.com/", 403),
            ("https://APP.example.com/assets/x", 204), ("https://APP.example.com/admin", 401),
            ("https://sites.example.com/", 401),
            ("https://a.sites.example.com/", 204), ("https://a.b.sites.example.com:1/x", 204),
            ("https://xsites.example.com/", 401), ("https://[::1]:80/", 401),
            ("https://sites.example.com.evil.net/", 401),
        ])
    func hosts(_ url: String, code: Int) async throws {
        #expect(try await ask(try site(), url).status.code == code)
        #expect(try await ask(try site(.original), url, style: .original).status.code == code)
    }

    @Test func requestWithoutADescriptionIsRefused() async throws {
        let site = try site()
        site.signIn(groups: ["admins"])
        let whole = fields(.forwarded, Self.app + "/x", method: "GET", cookie: site.cookie)
        #expect(await site.get("/auth/verify", whole, trusted: true).status == .noContent)
        #expect(await site.get("/auth/verify", whole, trusted: false).status == .forbidden)
        for name in ["X-Forwarded-Host", "X-Forwarded-Uri"] {
            var fields = whole
            fields[HTTPField.Name(name)!] = nil
            #expect(await site.get("/auth/verify", fields, trusted: true).status == .forbidden)
        }
        // The method counts only where a rule asks for it.
        let hook = try await ask(site, Self.app + "/hook", method: nil, cookie: site.cookie)
        #expect(hook.status == .forbidden)
        #expect(try await ask(site, Self.app + "/x", method: nil, cookie: site.cookie).status == .noContent)
        #expect(
            site.log.lines.contains {
                $0.contains("detail=incomplete: X-Forwarded-Uri") && $0.contains("reason=original_request")
            })
        // A path alone names no host.
        let original = try self.site(.original)
        original.signIn()
        let fields: HTTPFields = [HTTPField.Name("X-Original-URI")!: "/assets/x", .cookie: original.cookie]
        #expect(await original.get("/auth/verify", fields, trusted: true).status == .forbidden)
    }

    @Test func aProxysParametersDoNotOverrideARule() async throws {
        let site = try site()
        for path in ["/x", "/admin"] {
            let response = try await ask(site, Self.app + path, target: "/auth/verify?optional=true")
            #expect(response.status == .unauthorized)
        }
    }

    @Test(
        "Pending and disabled people pass only public paths",
        arguments: [User.State.pending, .disabled], [("/assets/x", 204), ("/", 403), ("/x", 403), ("/admin", 403)])
    func states(_ state: User.State, _ row: (path: String, code: Int)) async throws {
        let site = try site()
        site.signIn(groups: ["admins"], state: state)
        let response = try await ask(site, Self.app + row.path, cookie: site.cookie)
        #expect(response.status.code == row.code)
        if row.code == 204 { #expect(response.userField == "") }
    }

    @Test func publicPathsStayOpenWithoutTheDatabase() async throws {
        let site = try site()
        site.signIn()
        site.database.faults.fail()
        let open = try await ask(site, Self.app + "/assets/x", cookie: site.cookie)
        #expect(open.status == .noContent)
        #expect(open.userField == "")
        for path in ["/", "/x", "/admin"] {
            #expect(try await ask(site, Self.app + path, cookie: site.cookie).status == .serviceUnavailable)
        }
    }

    @Test func preparedAnswersReallyComeFromTheFastPath() async throws {
        let site = try site()
        site.signIn()
        let path = try site.fastPath()
        func isPrepared(_ target: String, cookie: String?) throws -> Bool {
            let fields = fields(.forwarded, Self.app + target, method: "GET", cookie: cookie)
            let lines = fields.map { "\($0.name.rawName): \($0.value)" }
            return try site.prepared(path, lines, trusted: true) != nil
        }
        for target in ["/assets/a.css?v=1", "/", "/x"] { #expect(try isPrepared(target, cookie: site.cookie)) }
        for target in ["/assets/a.css", "/"] { #expect(try isPrepared(target, cookie: nil)) }
        #expect(try !isPrepared("/x", cookie: nil))
        #expect(try !isPrepared("/admin", cookie: site.cookie))
        #expect(try !isPrepared("/assets/x", cookie: "__Host-bramley=nonsense"))
    }
}
