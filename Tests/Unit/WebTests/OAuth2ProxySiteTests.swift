import Coding
import HTTP
import HTTPTypes
import Testing
import Web

@testable import Accounts

/// Configurations that oauth2-proxy documents for nginx: what they send is enough, and what a client adds counts for
/// nothing.
@Suite struct OAuth2ProxySiteTests {
    private static let page = "https://login.example.com/login?return_to="

    private func fields(_ values: [String: String]) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in values { fields[HTTPField.Name(name)!] = value }
        return fields
    }

    private func site(_ rules: String? = nil, publicURL: String = "https://login.example.com") throws -> Site {
        let rules = try rules.map { try AccessRulesFile.read(Array("{\"rules\": [\($0)]}".utf8)) }
        return try Site(
            publicURL: publicURL,
            allowedOrigins: ["https://app.example.com", "https://other.example.com:8443"],
            adjust: { $0.accessRules = rules })
    }

    @Test(
        "rd that nginx inserted unescaped ends with the query",
        arguments: [
            ("rd=https://app.example.com/a?b=1&c=2&d=%26", "https://app.example.com/a?b=1&c=2&d=%26"),
            ("ui_locales=de&rd=https://app.example.com/a?b=1&rd=2", "https://app.example.com/a?b=1&rd=2"),
            ("rd=https://app.example.com/a%20b?c=d+e", "https://app.example.com/a%20b?c=d+e"),
            ("rd=https://app.example.com/", "https://app.example.com/"),
            ("rd=/a?b=1&c=2", "/a?b=1&c=2"),
            // Encoded, as a form's value.
            ("rd=https%3A%2F%2Fapp.example.com%2Fa%3Fb%3D1%26c%3D2&x=y", "https://app.example.com/a?b=1&c=2"),
            ("rd=%2Fa%3Fb%3D1&x=y", "/a?b=1"),
            // The host written out, the path encoded: ingress-nginx's $escaped_request_uri.
            ("rd=https://app.example.com%2Fa%3Fb%3D1%26c&x=y", "https://app.example.com/a?b=1&c"),
            // nginx's $host has no port, its $scheme behind another proxy is http.
            ("rd=https://other.example.com/a?b&c", "https://other.example.com:8443/a?b&c"),
            ("rd=http://app.example.com/a?b&c", "https://app.example.com/a?b&c"),
            // Our own addresses would lead round in circles.
            ("rd=https://app.example.com/oauth2/sign_in?rd=https://app.example.com/x", "https://app.example.com/"),
            ("rd=/oauth2/start", "https://login.example.com/"),
        ])
    func redirectParameter(_ query: String, target: String) async throws {
        let site = try site()
        let response = await site.get("/oauth2/start?" + query)
        #expect(response.location == Self.page + PercentEncoding.encodeComponent(target))
    }

    @Test(
        "rd to any other site is refused",
        arguments: [
            "https://evil.example/", "https://evil.example/?https://app.example.com/", "//evil.example/",
            "/\\evil.example",
            "https://app.example.com@evil.example/", "https://app.example.com.evil.example/",
            "https://app.example.com:8443/", "https:///app.example.com/", "https://app.example.com\\@evil.example/",
            "HTTPS://evil.example/", "javascript:alert(1)//",
            "https://app.example.com/%0d%0aX:y", "/../x", "https://evil.example%2F",
            "https://evil.example%2Fx&rd=https://app.example.com/",
            "/a&rd=/b/../c/..", "http://other.example.com:80/", "https://user:pass@app.example.com/",
        ])
    func otherSites(_ text: String) async throws {
        let site = try site()
        for path in ["/oauth2/start", "/oauth2/sign_in", "/oauth2/sign_out"] {
            for isTrusted in [false, true] {
                let response = await site.get("\(path)?rd=\(text)", trusted: isTrusted)
                #expect(response.status == .badRequest, "\(path) \(text)")
                #expect(response.location == nil)
            }
        }
    }

    @Test func addressTooLongToReturnToLeadsToItsSite() async throws {
        let long = "https://app.example.com/a?b=" + String(repeating: "x", count: 3000)
        let response = try await site().get("/oauth2/start?rd=\(long)")
        #expect(response.location == Self.page + "https%3A%2F%2Fapp.example.com%2F")
    }

    @Test("sign_in is the page itself, wherever a proxy shows it")
    func signInPage() async throws {
        let site = try site()
        let target = "/a?b=1&c=%22"
        let request = fields(["X-Auth-Request-Redirect": target])
        let elsewhere = await site.send(.get, "/oauth2/sign_in", request, trusted: true, host: "app.example.com")
        #expect(elsewhere.status == .ok)
        #expect(elsewhere.text.contains("Sign in to Example Orchard"))
        let back = PercentEncoding.encodeComponent("https://app.example.com" + target)
        #expect(elsewhere.text.contains("href=\"https://login.example.com/login/apple?return_to=\(back)\""))
        // Nothing to load, and no cookie that would be another host's.
        #expect(elsewhere.setCookies.isEmpty)
        #expect(!elsewhere.text.contains("<script"))
        #expect(!elsewhere.text.contains("<link"))
        // On publicURL's own host, whatever port nginx leaves out, it is the login page with all its parts.
        let here = await site.send(.get, "/oauth2/sign_in", request, trusted: true)
        #expect(here.status == .ok)
        #expect(here.text.contains("id=\"appleid-signin\""))
        #expect(here.setCookies.contains { $0.hasPrefix("__Host-bramley-login=") })
        let own = PercentEncoding.encodeComponent("https://login.example.com" + target)
        #expect(here.text.contains("/login/apple?return_to=\(own)"))
        // The proxy's word counts only when it is trusted.
        let untrusted = await site.send(.get, "/oauth2/sign_in", request, host: "app.example.com")
        #expect(untrusted.status == .ok)
        #expect(!untrusted.text.contains("return_to"))
    }

    @Test(
        "A return target that cannot be used leads to the site's start page",
        arguments: [
            "//evil.example/x", "/a/../b", "/oauth2/sign_in", "/oauth2/start?rd=", "https://app.example.com/%0a",
        ])
    func fieldThatCannotBeReturnedTo(_ value: String) async throws {
        let response = try await site().send(
            .get, "/oauth2/start", fields(["X-Auth-Request-Redirect": value]), trusted: true, host: "app.example.com")
        #expect(response.location == Self.page + "https%3A%2F%2Fapp.example.com%2F")
    }

    @Test("One location below publicURL's path serves all routes", arguments: ["/oauth2", "/a/oauth2"])
    func pathOfTheirs(_ path: String) async throws {
        let site = try Site(publicURL: "https://login.example.com" + path)
        let refused = await site.get(path + "/auth")
        #expect(refused.status == .unauthorized)
        #expect(await site.get(path + "/sign_in").text.contains("href=\"\(path)/login/apple?"))
        #expect(
            await site.get(path + "/start?rd=/x?y&z").location?.hasSuffix("\(path)/login?return_to=%2Fx%3Fy%26z")
                == true)
        #expect(await site.get(path + "/userinfo").status == .unauthorized)
        site.signIn()
        #expect(await site.get(path + "/auth", cookie: site.cookie).status == .accepted)
        #expect(await site.get(path + "/userinfo", cookie: site.cookie).status == .ok)
        #expect(await site.get(path + "/auth/verify", cookie: site.cookie).status == .noContent)
        #expect(
            await site.get(path + "/sign_in?rd=\(path)/sign_in", cookie: site.cookie).location
                == "https://login.example.com/")
    }

    @Test func userInfoHasOAuth2ProxysMembers() async throws {
        let site = try site()
        let nobody = await site.get("/oauth2/userinfo")
        #expect(nobody.status == .unauthorized)
        #expect(nobody.fields[.contentType] == "application/problem+json")
        site.signIn(groups: ["staff", "a b"])
        let somebody = await site.get("/oauth2/userinfo", cookie: site.cookie)
        #expect(
            somebody.text == """
                {"user":"usr_00000000000000000000000001","email":"anna@example.com",\
                "preferredUsername":"anna@example.com","groups":["staff","a b"]}
                """)
        site.signIn(state: .disabled)
        #expect(await site.get("/oauth2/userinfo", cookie: site.cookie).status == .forbidden)
    }

    static let rules = """
        {"host": "app.example.com", "path": "/public/*", "allow": "public"},
        {"host": "app.example.com", "path": "/staff/*", "allow": {"groups": ["staff"]}},
        {"host": "app.example.com", "path": "/put", "methods": ["PUT"], "allow": "public"},
        {"host": "other.example.com", "allow": "public"},
        {"host": "open.example.com", "allow": "public"}
        """

    @Test(
        "Host and X-Forwarded-Uri suffice for the rules; fields added by a client do not open anything",
        arguments: [
            ("app.example.com", ["X-Forwarded-Uri": "/public/x?y"], 202),
            ("app.example.com", ["X-Forwarded-Uri": "/staff/x"], 401),
            ("app.example.com", ["X-Forwarded-Uri": "/x"], 401),
            ("other.example.com", ["X-Forwarded-Uri": "/x"], 202),
            // A rule that asks for the method cannot be judged: those configurations do not tell it.
            ("app.example.com", ["X-Forwarded-Uri": "/put"], 403),
            ("app.example.com", ["X-Forwarded-Uri": "/put", "X-Forwarded-Method": "PUT"], 403),
            (
                "app.example.com",
                ["X-Forwarded-Uri": "/put", "X-Forwarded-Method": "PUT", "X-Forwarded-Host": "app.example.com"], 403
            ),
            // Names of another site.
            ("app.example.com", ["X-Forwarded-Uri": "/staff/x", "X-Forwarded-Host": "other.example.com"], 403),
            ("app.example.com", ["X-Forwarded-Uri": "/staff/x", "X-Forwarded-Host": "open.example.com"], 403),
            // Names that nginx's default server takes as well.
            ("open.example.com", ["X-Forwarded-Uri": "/staff/x"], 403),
            ("open.example.com", ["X-Forwarded-Uri": "/staff/x", "X-Forwarded-Host": "open.example.com"], 403),
            ("unknown", ["X-Forwarded-Uri": "/staff/x", "X-Forwarded-Host": "other.example.com"], 403),
            ("[::1]", ["X-Forwarded-Uri": "/staff/x", "X-Forwarded-Host": "other.example.com"], 403),
            ("app.example.com", [:], 403),
            // What Traefik sends, which asks at an address of Bramley's own and sets all of them.
            ("127.0.0.1:8080", ["X-Forwarded-Uri": "/x", "X-Forwarded-Host": "other.example.com"], 202),
            ("127.0.0.1:8080", ["X-Forwarded-Uri": "/x"], 403),
            (
                "login.example.com",
                ["X-Forwarded-Uri": "/put", "X-Forwarded-Method": "PUT", "X-Forwarded-Host": "app.example.com"], 403
            ),
            // Regression: sent to the nginx of a closed site, which took any name, it was judged by an open site's rules.
            ("login.example.com", ["X-Forwarded-Uri": "/staff/x", "X-Forwarded-Host": "open.example.com"], 403),
        ] as [(String, [String: String], Int)])
    func judged(_ host: String, _ values: [String: String], code: Int) async throws {
        let site = try site(Self.rules)
        let response = await site.send(.get, "/oauth2/auth", fields(values), trusted: true, host: host)
        #expect(response.status.code == code)
        // From a peer that is not a trusted proxy nothing counts.
        #expect(await site.send(.get, "/oauth2/auth", fields(values), host: host).status == .forbidden)
    }

    @Test("A site on Bramley's own host cannot be named otherwise")
    func sharedHost() async throws {
        let site = try site(
            "{\"host\": \"app.example.com\", \"allow\": \"public\"}", publicURL: "https://login.example.com/oauth2")
        let forged = fields(["X-Forwarded-Uri": "/x", "X-Forwarded-Host": "app.example.com"])
        #expect(await site.get("/oauth2/auth", forged, trusted: true).status == .forbidden)
        #expect(
            await site.get("/oauth2/auth", fields(["X-Forwarded-Uri": "/x"]), trusted: true).status == .unauthorized)
    }

    /// Regression: without rules, an encoded slash or a bar in the path of a site was answered 403.
    @Test(arguments: ["/api/v4/projects/group%2Fproject", "/a|b", "/a/../b", "/%zz"])
    func withoutRulesAnyPathOfTheSiteIsAskedAbout(path: String) async throws {
        let response = try await site().send(
            .get, "/oauth2/auth", fields(["X-Forwarded-Uri": path]), trusted: true, host: "other.example.com")
        #expect(response.status == .unauthorized)
    }

    @Test("The answer to a signed-out visitor finds the page by Host and path")
    func locationOfTheLogin() async throws {
        let response = try await site().send(
            .get, "/oauth2/auth", fields(["X-Forwarded-Uri": "/a?b=1&c=2"]), trusted: true, host: "other.example.com")
        #expect(response.status == .unauthorized)
        #expect(response.location == Self.page + "https%3A%2F%2Fother.example.com%3A8443%2Fa%3Fb%3D1%26c%3D2")
    }
}
