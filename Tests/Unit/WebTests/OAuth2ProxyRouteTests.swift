import HTTP
import HTTPTypes
import Testing
import Web

@testable import Accounts

/// The addresses that configurations written for oauth2-proxy use.
@Suite struct OAuth2ProxyRouteTests {
    @Test func authAnswersAsVerifyDoesWith202() async throws {
        let site = try Site()
        let refused = await site.get("/oauth2/auth")
        #expect(refused.status == .unauthorized)
        #expect(refused.location == "https://login.example.com/login")
        site.signIn()
        let response = await site.get("/oauth2/auth", cookie: site.cookie)
        #expect(response.status == .accepted)
        #expect(response.userField == "usr_00000000000000000000000001")
        #expect(response.bytes.isEmpty)
    }

    @Test(
        "Parameters that narrow oauth2-proxy's answer narrow ours",
        arguments: [
            ("allowed_groups=staff", 202), ("allowed_groups=x,staff", 202), ("allowed_groups=x", 403),
            ("allowed_groups=staff&allowed_groups=x", 400), ("allowed_group=staff", 400), ("allowed_users=anna", 400),
            ("allowed_groups=staff&redirect=maybe", 400), ("allowed_groups=,", 403), ("allowed_groups=", 202),
            ("allowed_emails=Anna@example.com", 202), ("allowed_emails=x@example.com", 403),
            ("allowed_email_domains=example.com", 202), ("allowed_email_domains=*.com", 403),
            ("allowed_groups=staff&allowed_email_domains=example.org", 403),
            ("allowed_groups=staff&allowed_email_domains=example.com&allowed_emails=anna@example.com", 202),
        ])
    func demands(_ query: String, code: Int) async throws {
        let site = try Site.signedIn(groups: ["staff"])
        #expect(await site.get("/oauth2/auth?" + query, cookie: site.cookie).status.code == code)
        // They never admit signed-out visitors.
        let nobody = await site.get("/oauth2/auth?optional=true&" + query)
        #expect([204, 202, 401, 400].contains(nobody.status.code))
        if code == 403 { #expect(nobody.status == .unauthorized) }
    }

    @Test("Restrictions beyond the parameters that are read are not ignored", arguments: [30, 31, 32, 33, 400])
    func demandsAmongMany(_ count: Int) async throws {
        let site = try Site.signedIn(groups: ["staff"])
        let others = String(repeating: "&x", count: count)
        for query in ["allowed_groups=other\(others)", "x\(others)&allowed_groups=other"] {
            let response = await site.get("/oauth2/auth?" + query, cookie: site.cookie)
            #expect([.forbidden, .badRequest].contains(response.status), "\(count)")
        }
    }

    @Test func demandsHoldWhereARuleIsOpen() async throws {
        let rules = try AccessRulesFile.read(Array("{\"rules\": [{\"allow\": \"public\"}]}".utf8))
        let site = try Site(adjust: { $0.accessRules = rules })
        let fields = VerifyRouteTests.original(.forwarded, "https", "app.example.com", "/x")
        func status(_ target: String, _ fields: HTTPFields) async -> HTTPResponse.Status {
            await site.send(.get, target, fields, trusted: true, host: "127.0.0.1:8080").status
        }
        #expect(await status("/oauth2/auth", fields) == .accepted)
        #expect(await status("/oauth2/auth?allowed_groups=a", fields) == .unauthorized)
        site.signIn(groups: ["a"], state: .disabled)
        var signedIn = fields
        signedIn[.cookie] = site.cookie
        #expect(await status("/oauth2/auth?allowed_groups=a", signedIn) == .forbidden)
    }

    @Test(
        "Sign-in and sign-out lead to our pages, with the target checked",
        arguments: [
            ("/oauth2/start", "/login"), ("/oauth2/sign_out", "/logout"),
        ])
    func pages(_ target: String, page: String) async throws {
        let site = try Site.signedIn()
        let here = "https://login.example.com" + page
        let plain = await site.get(target, cookie: site.cookie)
        #expect(plain.status == .seeOther)
        #expect(plain.location == here)
        #expect(plain.setCookies.isEmpty)
        let encoded = "https%3A%2F%2Fapp.example.com%2Fa%3Fb%3Dc%26d%3D%2520"
        let back = await site.get("\(target)?rd=\(encoded)")
        #expect(back.location == "\(here)?return_to=\(encoded)")
        for wrong in ["https%3A%2F%2Fevil.example%2F", "%2F%2Fevil.example", "javascript:alert(1)", "%2F%5Cevil"] {
            let response = await site.get("\(target)?rd=\(wrong)")
            #expect(response.status == .badRequest)
            #expect(response.location == nil)
        }
        #expect(await site.get("\(target)?rd=%2Fa&rd=%2Fb").status == .badRequest)
        // The session lives: only the button ends it.
        #expect(await site.get("/auth/verify", cookie: site.cookie).status == .noContent)
    }

    @Test(
        "A path is one of the site the proxy serves, when the proxy is trusted",
        arguments: [
            (true, ["X-Forwarded-Host": "app.example.com"], "https%3A%2F%2Fapp.example.com%2Fa%3Fb"),
            (false, ["X-Forwarded-Host": "app.example.com"], "%2Fa%3Fb"),
            (true, [:], "https%3A%2F%2Flogin.example.com%2Fa%3Fb"),
        ] as [(Bool, [String: String], String)])
    func relative(_ isTrusted: Bool, _ values: [String: String], target: String) async throws {
        let site = try Site()
        var fields = HTTPFields()
        for (name, value) in values { fields[HTTPField.Name(name)!] = value }
        let location = "https://login.example.com/login?return_to=\(target)"
        #expect(await site.get("/oauth2/start?rd=%2Fa%3Fb", fields, trusted: isTrusted).location == location)
        fields[HTTPField.Name("X-Auth-Request-Redirect")!] = "/a?b"
        let byField = await site.get("/oauth2/start", fields, trusted: isTrusted)
        #expect(byField.location == (isTrusted ? location : "https://login.example.com/login"))
    }
}
