import Coding
import HTTP
import HTTPTypes
import Testing
import Web

@testable import Accounts

/// `POST /logout/switch`: the one button of the page that turns somebody away, on another site's address.
@Suite struct AccountSwitchTests {
    private static let target = "https://app.example.com/admin?a=1&b=2"

    private func post(
        _ site: Site, _ values: [String: String], to target: String? = target
    ) async -> ServerResponse {
        var fields: HTTPFields = [.cookie: site.cookie]
        for (name, value) in values { fields[HTTPField.Name(name)!] = value }
        return await site.post("/logout/switch", form: target.map { [("return_to", $0)] } ?? [], fields)
    }

    @Test(
        "Ends the session and opens the login page with the same target",
        arguments: [
            ["Sec-Fetch-Site": "same-origin", "Origin": "https://login.example.com"],
            ["Sec-Fetch-Site": "same-site", "Origin": "https://app.example.com"],
            ["Origin": "https://app.example.com"], ["Origin": "https://login.example.com"],
        ])
    func switches(_ fields: [String: String]) async throws {
        let site = try Site.signedIn()
        let response = await post(site, fields)
        #expect(response.status == .seeOther)
        let back = PercentEncoding.encodeComponent(Self.target)
        #expect(response.location == "/login?return_to=\(back)")
        #expect(response.setCookies.contains { $0.hasPrefix("__Host-bramley=;") })
        #expect(await site.get("/auth/verify", cookie: site.cookie).status == .unauthorized)
        // Once more, as a double click does: nothing left to end, and the same way on.
        #expect(await post(site, fields).location == response.location)
    }

    @Test(
        "Another site's form ends nothing",
        arguments: [
            [:], ["Origin": "null"], ["Origin": "https://evil.example"],
            ["Sec-Fetch-Site": "cross-site", "Origin": "https://app.example.com"],
            ["Sec-Fetch-Site": "same-site", "Origin": "https://evil.example.com"],
            ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none", "Origin": "https://app.example.com"],
            ["Origin": "https://app.example.com:8443"], ["Origin": "http://app.example.com"],
        ])
    func crossSite(_ fields: [String: String]) async throws {
        let site = try Site.signedIn()
        let response = await post(site, fields)
        #expect(response.status == .seeOther)
        // To the page whose button asks.
        #expect(response.location == "/logout?return_to=\(PercentEncoding.encodeComponent(Self.target))")
        #expect(response.setCookies.isEmpty)
        #expect(await site.get("/auth/verify", cookie: site.cookie).status == .noContent)
    }

    @Test func redirectsNowhereElse() async throws {
        let site = try Site.signedIn()
        let own = ["Origin": "https://app.example.com"]
        for target in ["https://evil.example/", "//evil.example", "javascript:x"] {
            let response = await post(site, own, to: target)
            #expect(response.status == .badRequest)
            #expect(response.location == nil)
        }
        #expect(await site.get("/auth/verify", cookie: site.cookie).status == .noContent)
        #expect(await post(site, own, to: nil).location == "/login")
    }
}
