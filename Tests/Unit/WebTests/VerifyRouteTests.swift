import Coding
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct VerifyRouteTests {
    static let names = ["User", "Email", "Preferred-Username", "Name", "Groups"]

    private func values(_ response: ServerResponse) -> [String?] {
        Self.names.map { response.fields[HTTPField.Name("X-Auth-Request-\($0)")!] }
    }

    @Test func signedInIsDescribedInFiveFields() async throws {
        let site = try Site.signedIn(PersonName(given: "Zoë", family: "O'Hara, Jr"), groups: ["staff", "a,b c"])
        let response = await site.get("/auth/verify", cookie: site.cookie)
        #expect(response.status == .noContent)
        #expect(
            values(response) == [
                "usr_00000000000000000000000001", "anna@example.com", "anna@example.com",
                "Zo%C3%AB%20O%27Hara%2C%20Jr", "staff,a%2Cb%20c",
            ])
        #expect(response.bytes.isEmpty)
        #expect(response.fields[.location] == nil)
    }

    @Test(
        "Only a verified address of visible ASCII is passed on",
        arguments: [
            ("anna@example.com", true, true), ("anna@example.com", false, false), ("zoë@example.com", true, false),
            ("a b@example.com", true, false), ("a\r\nX-Evil: 1", true, false),
        ])
    func address(_ address: String, isVerified: Bool, isPassedOn: Bool) async throws {
        let site = try Site.signedIn(email: EmailAddress(address: address, isVerified: isVerified, isPrivate: false))
        let fields = values(await site.get("/auth/verify", cookie: site.cookie))
        #expect(fields[1] == (isPassedOn ? address : ""))
        #expect(fields[2] == (isPassedOn ? address : "usr_00000000000000000000000001"))
    }

    @Test("Signed out: 401 and the complete login URL, the fields empty", arguments: ["", "?redirect=false", "?x=1"])
    func signedOut(_ query: String) async throws {
        let response = await (try Site()).get("/auth/verify" + query)
        #expect(response.status == .unauthorized)
        #expect(response.location == "https://login.example.com/login")
        #expect(values(response) == ["", "", "", "", ""])
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test(
        "Parameters that narrow oauth2-proxy's answer are refused, and so are misspelt flags",
        arguments: [
            "allowed_groups=staff", "allowed_groups=", "allowed_groups", "redirect=true&allowed_emails=a@example.com",
            "allowed_email_domains=example.com", "%61llowed_groups=x", "allowed_group=x", "allowed_=",
            "redirect=maybe", "redirect=", "redirect", "redirect=TRUE", "redirect=true&redirect=true", "optional=1",
            "optional=true&optional=false", "assertion=yes", String(repeating: "x&", count: 33),
        ])
    func refusedQueries(_ query: String) async throws {
        let site = try Site.signedIn(groups: ["staff"])
        for address in ["/auth/verify", "/auth/forbidden"] {
            let response = await site.get("\(address)?\(query)", cookie: site.cookie)
            #expect(response.status == .badRequest, "\(address)")
            #expect(response.fields[HTTPField.Name("X-Auth-Request-User")!] == nil)
            #expect(await site.get("\(address)?\(query)").status == .badRequest)
        }
        // oauth2-proxy's address knows the first ones; the flags are the same.
        if !query.contains("llowed") {
            #expect(await site.get("/oauth2/auth?\(query)", cookie: site.cookie).status == .badRequest)
        }
    }

    @Test(
        "Location carries the original request from a trusted proxy only",
        arguments: [
            (OriginalRequest.Style.forwarded, true), (.forwarded, false), (.original, true),
            (.original, false),
        ])
    func location(_ style: OriginalRequest.Style, isTrusted: Bool) async throws {
        let site = try Site(adjust: { $0.forwardAuth = style })
        let fields = Self.original(style, "https", "app.example.com", "/a%20b?x=1&y=é%20")
        let plain = Self.original(style, "https", "app.example.com", "/a%20b?x=1&y=%C3%A9")
        let response = await site.get("/auth/verify", plain, trusted: isTrusted)
        let encoded = "https%3A%2F%2Fapp.example.com%2Fa%2520b%3Fx%3D1%26y%3D%25C3%25A9"
        let login = "https://login.example.com/login"
        #expect(response.location == (isTrusted ? login + "?return_to=" + encoded : login))
        #expect(response.status == .unauthorized)
        // Bytes that cannot be in a URL are not a return target.
        let odd = await site.get("/auth/verify", fields, trusted: isTrusted)
        #expect(odd.status == .unauthorized && odd.location == login)
    }

    static let ambiguous: [(String, String)] = [
        ("X-Forwarded-Host", "a/b"), ("X-Forwarded-Host", "a b"), ("X-Forwarded-Proto", "https, http"),
        ("X-Forwarded-Proto", "ftp"), ("X-Forwarded-Method", "G T"),
    ]

    /// RabbitMQ, GitLab and npm have such paths. Without rules they decide nothing.
    @Test(
        "Without rules, the path decides nothing",
        arguments: [
            "/api/vhosts/%2F/permissions", "/@scope%2fpkg", "/wiki/a|b", "/d%5Ce", "/caf%E9", "//evil\\x", "/a/../b",
            "/a/%2e%2e/b", "x", "/%00", "/%zz", "/a;b//c", "//evil.example", "http://evil.example/",
        ])
    func anyPath(_ path: String) async throws {
        let site = try Site()
        var fields = Self.original(.forwarded, "https", "app.example.com", path)
        let stranger = await site.get("/auth/verify?redirect=true", fields, trusted: true)
        #expect(stranger.status == .found)
        #expect(stranger.location?.hasPrefix("https://login.example.com/login") == true)
        #expect(stranger.location?.contains("evil.example") == false)
        site.signIn()
        fields[.cookie] = site.cookie
        #expect(await site.get("/auth/verify", fields, trusted: true).status == .noContent)
    }

    @Test func returnsToAPathWithAnEncodedSlash() async throws {
        let site = try Site()
        let fields = Self.original(.forwarded, "wss", "App.example.com", "/api/vhosts/%2F/permissions")
        let location = await site.get("/auth/verify", fields, trusted: true).location
        #expect(
            location
                == "https://login.example.com/login?return_to=https%3A%2F%2Fapp.example.com%2Fapi%2Fvhosts%2F%252F%2Fpermissions"
        )
    }

    @Test("A description that is not canonical is refused, also for signed-in people", arguments: ambiguous)
    func notCanonical(_ name: String, value: String) async throws {
        let site = try Site.signedIn()
        var fields = Self.original(.forwarded, "https", "app.example.com", "/x")
        fields[.cookie] = site.cookie
        #expect(await site.get("/auth/verify", fields, trusted: true).status == .noContent)
        fields[HTTPField.Name(name)!] = value
        let refused = await site.get("/auth/verify", fields, trusted: true)
        #expect(refused.status == .forbidden)
        #expect(refused.fields[.contentType] == "text/plain; charset=utf-8")
        #expect(refused.text.hasPrefix("The address could not be checked\n"))
        #expect(site.log.lines.contains { $0.contains("detail=notCanonical: ") && $0.contains(name) })
        #expect(await site.get("/auth/verify", fields, trusted: false).status == .noContent)
    }

    @Test(
        "redirect=true sends navigations to the login and nothing else",
        arguments: [
            (["Sec-Fetch-Mode": "navigate"], 302), ([:], 302), (["X-Forwarded-Method": "GET"], 302),
            (["X-Forwarded-Method": "HEAD"], 302), (["X-Forwarded-Method": "POST"], 401),
            (["X-Forwarded-Method": "DELETE"], 401), (["Sec-Fetch-Mode": "cors"], 401),
            (["Sec-Fetch-Mode": "no-cors"], 401), (["X-Requested-With": "XMLHttpRequest"], 401),
        ] as [([String: String], Int)])
    func redirect(_ values: [String: String], code: Int) async throws {
        let site = try Site()
        var fields = Self.original(.forwarded, "https", "app.example.com", "/x")
        for (name, value) in values { fields[HTTPField.Name(name)!] = value }
        let response = await site.get("/auth/verify?redirect=true", fields, trusted: true)
        #expect(response.status.code == code)
        #expect(response.location == "https://login.example.com/login?return_to=https%3A%2F%2Fapp.example.com%2Fx")
    }

    @Test("Pending and disabled people get 403", arguments: [User.State.pending, .disabled])
    func states(_ state: User.State) async throws {
        let site = try Site.signedIn(state: state)
        let response = await site.get("/auth/verify", cookie: site.cookie)
        #expect(response.status == .forbidden)
        #expect(response.text.contains(state == .pending ? "Waiting for approval" : "switched off"))
    }

    @Test func storeThatDoesNotAnswerIs503() async throws {
        let site = try Site.signedIn(isFailing: true)
        let response = await site.get("/auth/verify?redirect=true&optional=true", cookie: site.cookie)
        #expect(response.status == .serviceUnavailable)
        #expect(response.location == nil)
    }

    @Test(
        "The Authorization field is ignored beside the cookie",
        arguments: [
            ("Bearer somebody-elses", HTTPResponse.Status.noContent), ("Basic QWxhZGRpbg==", .noContent),
            ("Bearer brk_\(String(repeating: "A", count: 43))", .noContent),
            ("Bearer brs_\(String(repeating: "Z", count: 43))", .unauthorized), ("Bearer brs_", .unauthorized),
            ("bearer  \(Site.nativeToken)", .unauthorized),
        ])
    func authorization(_ value: String, status: HTTPResponse.Status) async throws {
        let site = try Site.signedIn()
        let fields: HTTPFields = [.cookie: site.cookie, .authorization: value]
        #expect(await site.get("/auth/verify", fields).status == status)
    }

    static func original(
        _ style: OriginalRequest.Style, _ scheme: String, _ host: String, _ target: String
    ) -> HTTPFields {
        switch style {
        case .forwarded:
            [
                HTTPField.Name("X-Forwarded-Proto")!: scheme, HTTPField.Name("X-Forwarded-Host")!: host,
                HTTPField.Name("X-Forwarded-Uri")!: target,
            ]
        case .original: [HTTPField.Name("X-Original-URL")!: "\(scheme)://\(host)\(target)"]
        }
    }
}
