import AppleSimulator
import Coding
import Foundation
import Testing

/// `GET /auth/verify` and what surrounds it: what a proxy may rely on.
@Suite struct VerifyForAProxy {
    private static let identity = [
        "x-auth-request-user", "x-auth-request-email", "x-auth-request-preferred-username", "x-auth-request-name",
        "x-auth-request-groups",
    ]
    private static let trusting = SiteOptions(configuration: [
        ("server", ["trustedProxies": ["127.0.0.1"]]), ("login", ["allowedReturnOrigins": ["https://app.example.com"]]),
    ])

    @Test func plainCheckIsAnsweredFromPreparedBytes() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            // PostgreSQL is never asked on a loop: the ordinary route reads the session first.
            if SitePostgres.isWanted { _ = try await browser.verify() }
            // The prepared answer writes Date last, the ordinary route first. A fast path that fails falls back to the
            // other in silence: correct, and several times slower.
            let response = try await browser.verify()
            #expect(response.status == 204)
            #expect(response.fields.last?.name.lowercased() == "date")
            let ordinary = try await browser.verify([("Authorization", "Bearer abc")])
            #expect(ordinary.fields.first?.name.lowercased() == "date")
        }
    }

    @Test func identityFieldsOfAClientNeverComeBack() async throws {
        try await withSite(Self.trusting) { (site: Site) async throws in
            let forged =
                Self.identity.map { (name: $0, value: "root") }
                + [("Remote-User", "root"), ("X-Forwarded-User", "root"), ("X-Forwarded-Email", "root")]
            let nobody = site.browser()
            let browser = site.browser(source: 0x7F00_0001)
            try await browser.signIn()
            for response in [
                try await nobody.verify(forged, query: "?optional=true"), try await nobody.verify(forged),
                try await browser.verify(forged), try await browser.verify(forged + [("Connection", "close")]),
            ] {
                #expect(!response.fields.contains { $0.value.contains("root") })
            }
        }
    }

    /// The prepared answers hold to one browser each, pipelined over one connection.
    @Test func pipelinedRequestsOfDifferentPeopleDoNotMix() async throws {
        try await withSite { (site: Site) async throws in
            let people = ["ada", "chie", "erin", "nobody"]
            var browsers: [Browser] = []
            for person in people {
                let browser = site.browser()
                if person != "nobody" { try await browser.signIn(as: person) }
                browsers.append(browser)
            }
            let all = browsers
            let order = (0..<200).map { $0 % 4 }
            let bytes = order.flatMap { index in
                WireRequest.get("/auth/verify", from: .program).bytes(
                    host: site.authority, cookies: all[index].sessionToken.map { "\(Browser.sessionName)=\($0)" })
            }
            let port = site.port
            let users = try await blocking {
                let connection = try WireConnection(port: port)
                connection.send(bytes)
                var rest: [UInt8] = []
                return try order.map { _ in try connection.response(rest: &rest)["x-auth-request-user"] ?? "-" }
            }
            for (index, user) in zip(order, users) {
                let expected = try await all[index].session()?["user"]?["id"]?.stringValue ?? ""
                #expect(user == expected)
                if expected.isEmpty != (index == 3) { Issue.record("\(people[index])") }
            }
        }
    }
}

/// Limits on how often one address may try (design, "Rate limits").
@Suite struct RateLimits {
    @Test func signInRoutesAnswer429AndOthersDoNot() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            var allowed = 0
            var limited: WireResponse?
            while limited == nil, allowed < 200 {
                let response = try await browser.get("/login/attempt", from: .sameOrigin)
                if response.status == 429 { limited = response } else { allowed += 1 }
            }
            let refused = try #require(limited)
            #expect(allowed >= 100)
            #expect(refused["retry-after"].flatMap { Int($0) }.map { $0 >= 1 } == true)
            #expect(refused.setCookies.isEmpty)
            for request in [
                WireRequest.get("/login"), .get("/login/apple"), .post("/apple/callback", form: Form([("state", "x")])),
            ] { #expect(try await Self.isLimited(request, of: browser)) }
            // An address is not a person: nothing else is held back.
            #expect(try await browser.get("/account").status == 200)
            #expect(try await browser.session() != nil)
            #expect(try await site.browser().get("/login").status == 200)
            // What a stranger claims to be forwarded for is nobody's address.
            let forged = [
                ("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=203.0.113.7"), ("X-Real-IP", "203.0.113.7"),
            ]
            #expect(try await Self.isLimited(.get("/login", forged), of: browser))
        }
    }

    /// The allowance grows back by real time: on a slow machine a request or two pass between two refusals.
    private static func isLimited(_ request: WireRequest, of browser: Browser) async throws -> Bool {
        for _ in 0..<40 where try await browser.send(request).status == 429 { return true }
        return false
    }

    @Test func verifyIsNeverLimited() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let token = browser.sessionToken.map { "\(Browser.sessionName)=\($0)" }
            let (port, source, host) = (site.port, browser.source, site.authority)
            for cookie in [token, nil] {
                let request = WireRequest.get("/auth/verify", from: .program).bytes(host: host, cookies: cookie)
                let statuses = try await blocking {
                    let connection = try WireConnection(port: port, source: source)
                    var rest: [UInt8] = []
                    return try (0..<1000).map { _ in
                        connection.send(request)
                        return try connection.response(rest: &rest).status
                    }
                }
                #expect(Set(statuses) == [cookie == nil ? 401 : 204])
            }
        }
    }

    /// Behind a trusted proxy it is the client who is counted.
    @Test func proxiedClientsAreCountedOneByOne() async throws {
        try await withSite(SiteOptions(configuration: [("server", ["trustedProxies": ["127.0.0.1"]])])) {
            (site: Site) async throws in
            let proxy = site.browser(source: 0x7F00_0001)
            var statuses: Set<Int> = []
            for number in 0..<150 {
                let fields = [("X-Forwarded-For", "203.0.113.\(number % 3)")]
                statuses.insert(try await proxy.get("/login/attempt", fields, from: .sameOrigin).status)
            }
            #expect(statuses == [200])
        }
    }
}
