import AppleID
import Testing
import Web

@testable import Accounts
@testable import Bramley

struct ConfigurationValidationTests {
    let fixture = ConfigurationFixture()

    @Test(arguments: [
        ("https://id.example.com", "https://id.example.com", ""),
        ("https://example.com/auth", "https://example.com", "/auth"),
        ("https://id.example.com:8443/a/b-c_d.e~f", "https://id.example.com:8443", "/a/b-c_d.e~f"),
        ("http://localhost:8080", "http://localhost:8080", ""), ("http://127.0.0.1:8080", "http://127.0.0.1:8080", ""),
        ("http://app.localhost/x", "http://app.localhost", "/x"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example", ""),
    ])
    func acceptsAPublicURL(text: String, origin: String, path: String) throws {
        let url = try fixture.load(["publicURL": text]).configuration.web.publicURL
        #expect(url.origin == origin)
        #expect(url.basePath == path)
    }

    @Test(arguments: [
        "", " ", "id.example.com", "ftp://id.example.com", "http://id.example.com", "http://192.168.1.1",
        "http://localhost.example.com", "https://203.0.113.5", "https://id.example.com/",
        "https://id.example.com/auth/",
        "https://id.example.com/a//b", "https://id.example.com/a/../b", "https://id.example.com/a%2fb",
        "https://id.example.com?x", "https://id.example.com/#x", "https://u@id.example.com",
        "https://u:p@id.example.com",
        "https://ID.example.com", "HTTPS://id.example.com", "https://id.example.com:443", "http://localhost:80",
        "https://id.example.com:0", "https://id.example.com:65536", "https://id.example.com:",
        "https://id..example.com",
        "https://-id.example.com", "https://id_x.example.com", "https://bücher.example", "https://id.example.com\\x",
        "https://[::1]", "https://1.2.3", "https://id.example\n.com", "https://", "https:///auth",
        "https://id.example.com.",
    ])
    func refusesAPublicURL(text: String) throws {
        #expect(try fixture.problems(["publicURL": text]).map(\.key) == ["publicURL"])
    }

    @Test(arguments: [
        ("apple", "servicesID", ""), ("apple", "servicesID", "com.example web"), ("apple", "teamID", ""),
        ("apple", "teamID", "A1B2C3D4E"), ("apple", "teamID", "A1B2C3D4E5F"), ("apple", "teamID", "a1b2c3d4e5"),
        ("apple", "keyID", "   "), ("apple", "keyID", "F6G7H8I9J"), ("apple", "endpoint", ""),
        ("apple", "endpoint", "https://appleid.apple.com/"), ("apple", "endpoint", "http://appleid.apple.com"),
        ("apple", "scriptURL", "//appleid.cdn-apple.com/x.js"), ("apple", "onAccountDeleted", "keep"),
        ("access", "signUp", "Open"), ("server", "host", "localhost"), ("server", "host", "[::1]"),
        ("server", "host", "127.1"),
        ("login", "mode", "Popup"), ("login", "mode", "frame"), ("login", "defaultReturnTo", "//evil.example"),
        ("login", "defaultReturnTo", "/\\evil.example"), ("login", "defaultReturnTo", "https://evil.example/"),
        ("login", "passwordURL", "javascript:alert(1)"), ("site", "logo", "http://example.com/logo.png"),
        ("site", "privacyURL", "data:text/html,x"), ("site", "supportURL", "mailto:help"),
        ("site", "supportURL", "javascript:alert(1)"), ("site", "homeURL", "mailto:help@example.com"),
        ("forwardAuth", "style", "both"), ("button", "width", "50%"),
        ("button", "width", "129"), ("button", "height", "65"), ("button", "color", "red"), ("log", "level", "verbose"),
        ("log", "format", "xml"), ("storage", "directory", ""), ("site", "name", "a\u{1B}[31m"),
    ])
    func refusesAText(group: String, name: String, value: String) throws {
        #expect(try fixture.problems([group: [name: value]]).map(\.key) == ["\(group).\(name)"])
    }

    @Test(arguments: [
        ("apple", "issuers", []), ("apple", "issuers", [""]), ("apple", "scopes", ["name", "name"]),
        ("apple", "scopes", ["openid"]),
        ("apple", "bundleIDs", ["com.example.web"]), ("apple", "bundleIDs", ["com.example.*"]),
        ("login", "allowedReturnOrigins", ["https://*.example.com"]),
        ("login", "allowedReturnOrigins", ["https://a.example/"]),
        ("login", "allowedReturnOrigins", ["http://a.example"]), ("login", "allowedReturnOrigins", ["null"]),
        ("api", "allowedOrigins", ["*"]), ("api", "allowedOrigins", ["https://*.example.com"]),
        ("api", "allowedOrigins", ["null"]), ("api", "allowedOrigins", ["https://a.example/"]),
        ("api", "allowedOrigins", ["http://a.example"]), ("api", "allowedOrigins", ["https://A.example"]),
        ("api", "allowedOrigins", ["https://a.example:443"]), ("api", "allowedOrigins", ["https://a.example", ""]),
        ("openid", "clientDocuments", ["*.claude.ai"]), ("openid", "clientDocuments", ["https://claude.ai"]),
        ("openid", "clientDocuments", ["claude.ai:443"]), ("openid", "clientDocuments", ["Claude.ai"]),
        ("openid", "clientDocuments", ["claude.ai."]), ("openid", "clientDocuments", ["127.0.0.1"]),
        ("openid", "clientDocuments", [""]), ("openid", "clientDocuments", ["claude.ai", "**"]),
        ("server", "trustedProxies", ["10.0.0.1/8"]), ("server", "trustedProxies", ["0.0.0.0/0"]),
        ("server", "trustedProxies", ["::/0"]),
        ("server", "trustedProxies", ["proxy.example.com"]), ("operator", "groups", ["admins", "org:school"]),
    ])
    func refusesAList(group: String, name: String, value: [String]) throws {
        #expect(try fixture.problems([group: [name: value]]).map(\.key) == ["\(group).\(name)"])
    }

    @Test(arguments: [["*"], ["claude.ai", "chatgpt.com"], ["localhost"], ["xn--bcher-kva.example"]])
    func acceptsHostsOfClientDocuments(hosts: [String]) throws {
        #expect(try fixture.load([:]).configuration.clientDocuments == [])
        #expect(try fixture.load(["openid": ["clientDocuments": hosts]]).configuration.clientDocuments == hosts)
    }

    @Test func pagesOfAllowedOriginsMayCallTheAPI() throws {
        #expect(try fixture.load([:]).configuration.web.apiOrigins == [])
        let origins = ["https://app.example.com", "https://app.example.com:8443", "http://localhost:3000"]
        #expect(try fixture.load(["api": ["allowedOrigins": origins]]).configuration.web.apiOrigins == origins)
    }

    @Test(arguments: [
        ("https://id.example.com", "example.com", true), ("https://id.example.com", "id.example.com", true),
        ("https://a.b.example.co.uk", "example.co.uk", true), ("https://id.example.com", "com", false),
        ("https://id.example.com", ".example.com", false), ("https://id.example.com", "ple.com", false),
        ("https://id.example.com", "other.com", false), ("https://id.example.com", "x.id.example.com", false),
        ("https://id.example.co.uk", "co.uk", false), ("https://me.github.io", "github.io", false),
        ("http://localhost:8080", "localhost", false),
    ])
    func cookieDomainIsAParentAndNoPublicSuffix(url: String, domain: String, isGood: Bool) throws {
        let problems = try fixture.problems(["publicURL": url, "sessions": ["cookieDomain": domain]])
        #expect(problems.map(\.key) == (isGood ? [] : ["sessions.cookieDomain"]))
    }

    @Test func idleTimeoutIsAtMostTheLifetime() throws {
        #expect(
            try fixture.problems(["sessions": ["lifetime": 100, "idleTimeout": 101]]).map(\.key) == [
                "sessions.idleTimeout"
            ])
        #expect(
            try fixture.load(["sessions": ["lifetime": 100, "idleTimeout": 100]]).configuration.web.sessionLimits
                .idleTimeout == 100)
        #expect(try fixture.load(["sessions": ["lifetime": 100]]).configuration.web.sessionLimits.idleTimeout == 100)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1", false), ("0.0.0.0", "127.0.0.1", false), ("127.0.0.2", "127.0.0.1", true),
    ])
    func listenersDoNotShareAPort(host: String, admin: String, isGood: Bool) throws {
        let problems = try fixture.problems([
            "server": ["host": host, "port": 9000, "trustedProxies": ["10.0.0.7"]],
            "admin": ["host": admin, "port": 9000],
        ])
        #expect(problems.map(\.key) == (isGood ? [] : ["admin.port"]))
    }

    @Test func scopesKeepOneOrder() throws {
        #expect(
            try fixture.load(["apple": ["scopes": ["email", "name"]]]).configuration.apple.scopes == ["name", "email"])
        #expect(try fixture.load(["apple": ["scopes": [String]()]]).configuration.apple.scopes == [])
    }

    @Test func defaultTargetIsTheAccountBelowThePath() throws {
        for (url, target) in [
            ("https://login.example.com", "/account"), ("https://example.com/sign-in", "/sign-in/account"),
        ] {
            #expect(try fixture.load(["publicURL": url]).configuration.web.login.defaultReturnTo == target)
            // What is written is any path of the host, as `return_to` is.
            let given = ["publicURL": url, "login": ["defaultReturnTo": "/home"]] as [String: Any]
            #expect(try fixture.load(given).configuration.web.login.defaultReturnTo == "/home")
        }
    }

    @Test func requestsAMinuteAreConfigured() throws {
        let standard = try fixture.load().configuration.web.limits
        #expect([standard.signInsPerMinute, standard.exportsPerMinute] == [120, 120])
        let changes: [String: Any] = ["server": ["limits": ["signInsPerMinute": 1000, "exportsPerMinute": 5]]]
        let limits = try fixture.load(changes).configuration.web.limits
        #expect([limits.signInsPerMinute, limits.exportsPerMinute] == [1000, 5])
    }

    @Test func returnTargetMayBeOnAnAllowedOrigin() throws {
        let changes: [String: Any] = [
            "login": [
                "allowedReturnOrigins": ["https://www.example.com"],
                "defaultReturnTo": "https://www.example.com/home?x=1",
            ]
        ]
        #expect(try fixture.load(changes).configuration.web.login.defaultReturnTo == "https://www.example.com/home?x=1")
    }
}
