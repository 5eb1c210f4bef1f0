import AppleSimulator
import Coding
import Foundation
import IndependentSigning
import Synchronization
import Testing

/// Notifications through the running server, most of them minted by the independent signer.
@Suite struct NotificationEndpoint {
    private static let header: JSON = ["kid": .string(IndependentSigner.firstKey), "alg": "RS256"]

    /// Claims as Apple writes them; `event` becomes a JSON string.
    private static func claims(
        _ site: Site, event: JSON, jti: String = UUID().uuidString, asObject: Bool = false
    ) -> JSON {
        let now = site.clock.seconds
        return [
            "iss": .string(Apple.issuer), "aud": .string(Apple.bundleID), "iat": .integer(now),
            "exp": .integer(now + 86_400), "jti": .string(jti), "events": asObject ? event : .string(event.text),
        ]
    }

    private static func event(_ type: String, _ subject: String, at time: Int64) -> JSON {
        ["type": .string(type), "sub": .string(subject), "event_time": .integer(time)]
    }

    private static func post(_ site: Site, _ token: String) async throws -> WireResponse {
        let body: JSON = ["payload": .string(token)]
        return try await post(site, bytes: body.bytes)
    }

    private static func post(
        _ site: Site, bytes: [UInt8], type: String = "application/json", path: String = "/apple/notifications"
    ) async throws -> WireResponse {
        // Each from an address of its own: failures are counted.
        try await site.browser().send(
            WireRequest(
                method: "POST", target: path, fields: [("Content-Type", type)], body: bytes, context: .program))
    }

    private static func sign(_ claims: JSON) async throws -> String {
        try await IndependentSigner.shared.sign(header: header.text, payload: claims.text)
    }

    @Test(
        arguments: [
            ("consent-revoked", false, 1), ("consent-revoked", true, 1000), ("account-delete", false, 1000),
            ("account-deleted", true, 1), ("account-deleted", false, 1000),
        ] as [(String, Bool, Int64)])
    func everyFormOfAnEndIsUnderstood(type: String, asObject: Bool, unit: Int64) async throws {
        try await withSignedIn(signersKeys: true) { (site: Site, browser: Browser) async throws in
            let subject = try await site.apple.subject(of: "ada")
            let event = Self.event(type, subject, at: (site.clock.seconds + 1) * unit)
            let token = try await Self.sign(Self.claims(site, event: event, asObject: asObject))
            #expect(try await Self.post(site, token).status == 200)
            #expect(try await browser.session() == nil)
            #expect(try await browser.verify().status == 401)
            #expect(try await site.count("session") == 0)
        }
    }

    static let forgeries: [Forgery] =
        IdentityTokenValidation.algorithms + IdentityTokenValidation.keys
        + IdentityTokenValidation.encodings.filter {
            !$0.name.hasPrefix("aud twice") && !$0.name.hasPrefix("sub twice")
        } + [
            .claims("iss missing", ["iss": .null]), .claims("iss of another", ["iss": "https://evil.example"]),
            .claims("aud missing", ["aud": .null]), .claims("aud of another", ["aud": "com.example.other"]),
            .claims("aud holds further ones", ["aud": ["com.example.app", "com.example.other"]]),
            .claims("aud empty", ["aud": []]), .claims("iat missing", ["iat": .null]),
            .claims("iat far ahead", ["iat": 99_999_999_999]), .claims("exp past", ["exp": 1]),
            .claims("exp a string", ["exp": "99999999999"]), .raw("exp 1e999", without: "exp", "\"exp\":1e999"),
            .claims("jti missing", ["jti": .null]), .claims("jti empty", ["jti": ""]),
            .claims("jti a number", ["jti": 1]),
            .claims("events missing", ["events": .null]), .claims("events a list", ["events": []]),
            .claims("events a string of no object", ["events": "[]"]), .claims("events no JSON", ["events": "x"]),
            .claims("events of deep JSON", ["events": .string(String(repeating: "{\"a\":", count: 2000))]),
            .claims("events with a member twice", ["events": "{\"type\":\"consent-revoked\",\"type\":\"x\"}"]),
            .claims("a nonce, as an identity token has", ["nonce": "x"]),
            .raw("jti twice", "\"jti\":\"x\""), .raw("events twice", "\"events\":\"{}\""),
        ]

    @Test func forgedNotificationsAreRefusedAndChangeNothing() async throws {
        try await withSignedIn(signersKeys: true) { (site: Site, browser: Browser) async throws in
            let subject = try await site.apple.subject(of: "ada")
            let event = Self.event("consent-revoked", subject, at: site.clock.milliseconds() + 1000)
            for forgery in Self.forgeries {
                let claims = Self.claims(site, event: event)
                let token = try await forgery.token(header: Self.header, claims: claims)
                let status = try await Self.post(site, token).status
                // 503: a kid that is unknown within the cool-down.
                #expect([400, 503].contains(status), "\(forgery.name): \(status)")
            }
            #expect(try await browser.session() != nil)
            #expect(try await site.count("notification") == 0)
            #expect(try await Self.post(site, Self.sign(Self.claims(site, event: event))).status == 200)
            #expect(try await browser.session() == nil)
        }
    }

    @Test func identityTokenIsRefusedAsANotification() async throws {
        try await withSite { (site: Site) async throws in
            let form = try await site.browser().consent()
            #expect(try await Self.post(site, form["id_token"] ?? "").status == 400)
            // Nor when it is signed for both uses.
            try await site.publishSignersKeys()
            var claims = JSON.part(1, of: try #require(form["id_token"]))
            claims["jti"] = "x"
            let event = Self.event("consent-revoked", claims["sub"]?.stringValue ?? "", at: site.clock.milliseconds())
            claims["events"] = .string(event.text)
            #expect(try await Self.post(site, Self.sign(claims)).status == 400)
            #expect(try await site.count("notification") == 0)
        }
    }

    @Test func sessionsOfThePersonAreDeadBeforeThe200() async throws {
        try await withSite(SiteOptions(loops: 2)) { (site: Site) async throws in
            let browsers = [site.browser(), site.browser(), site.browser()]
            for browser in browsers { try await browser.signIn(as: "ada") }
            let other = site.browser()
            try await other.signIn(as: "boris")
            // Warm every loop's cache.
            for _ in 0..<4 { for browser in browsers { #expect(try await browser.verify().status == 204) } }
            let body = try await site.apple.notification("consent-revoked", about: "ada")
            #expect(try await Self.post(site, bytes: body).status == 200)
            for _ in 0..<4 { for browser in browsers { #expect(try await browser.verify().status == 401) } }
            #expect(try await other.verify().status == 204)
            try await site.restart()
            for browser in browsers { #expect(try await browser.session() == nil) }
            #expect(try await other.session() != nil)
        }
    }

    @Test func replayedNotificationHasNoSecondEffect() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let body = try await site.apple.notification("consent-revoked", about: "ada")
            #expect(try await Self.post(site, bytes: body).status == 200)
            site.clock.advance(seconds: 2)
            try await browser.signIn()
            let journal = try await site.count("event")
            for _ in 0..<3 { #expect(try await Self.post(site, bytes: body).status == 200) }
            try await site.restart()
            #expect(try await Self.post(site, bytes: body).status == 200)
            #expect(try await browser.session() != nil)
            #expect(try await site.count("event") == journal)
            #expect(try await site.count("notification") == 1)
        }
    }

    @Test func signInThatARevocationOvertookIsRefused() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            // Applied while the code is on its way; Apple itself would still redeem it.
            let body = try await site.apple.notification("consent-revoked", about: "ada", [("effect", .bool(false))])
            #expect(try await Self.post(site, bytes: body).status == 200)
            let refused = try await browser.postCallback(form)
            #expect(refused.status == 400)
            #expect(refused.text.contains("Permission was withdrawn"))
            #expect(try await site.count("session") == 0)
            #expect(try await site.count("user") == 0)
            // Who comes back at once, in a new attempt, is welcome, though Apple's clock has whole seconds.
            site.clock.advance(milliseconds: 1)
            try await browser.signIn()
            #expect(try await browser.session() != nil)
        }
    }

    @Test func twentyParallelCopiesAreOneNotification() async throws {
        try await withSite(SiteOptions(loops: 2)) { (site: Site) async throws in
            try await site.browser().signIn()
            let body = try await site.apple.notification("consent-revoked", about: "ada")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await Self.post(site, bytes: body).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 20))
            #expect(try await site.count("notification") == 1)
        }
    }

    /// A time far ahead must not end sessions that do not yet exist.
    @Test func eventFromTheFutureEndsNoLaterSession() async throws {
        try await withSignedIn(signersKeys: true) { (site: Site, browser: Browser) async throws in
            let subject = try await site.apple.subject(of: "ada")
            let event = Self.event("consent-revoked", subject, at: site.clock.milliseconds() + 365 * 86_400_000)
            let token = try await Self.sign(Self.claims(site, event: event))
            #expect(try await Self.post(site, token).status == 200)
            #expect(try await browser.session() == nil)
            site.clock.advance(seconds: 120)
            try await browser.signIn()
            try await site.restart()
            #expect(try await browser.session() != nil)
        }
    }

    @Test func unreachableKeysAre503AndRecover() async throws {
        let stub = StubApple()
        try await stub.serving { endpoint in
            stub.answers.withLock { $0.keysStatus = 503 }
            try await withSite(SiteOptions(appleEndpoint: endpoint)) { (site: Site) async throws in
                let event = Self.event("consent-revoked", "x", at: site.clock.milliseconds())
                let token = try await Self.sign(Self.claims(site, event: event))
                let refused = try await Self.post(site, token)
                #expect(refused.status == 503)
                #expect(refused["retry-after"] != nil)
                #expect(try await site.count("notification") == 0)
                let jwk = try await IndependentSigner.shared.jwk(IndependentSigner.firstKey)
                let keys: JSON = ["keys": [jwk]]
                stub.answers.withLock { answers in
                    answers.keysStatus = 200
                    answers.keys = keys.text
                }
                site.clock.advance(seconds: 61)
                #expect(try await Self.post(site, token).status == 200)
                #expect(try await site.count("notification") == 1)
            }
        }
    }
}
