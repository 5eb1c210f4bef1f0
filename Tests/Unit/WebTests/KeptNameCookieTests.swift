import HTTP
import HTTPTypes
import Sockets
import Synchronization
import Testing
import Web

@testable import Accounts

/// `__Host-bramley-name`: set only by a failed callback, and removed when a sign-in ends.
@Suite struct KeptNameCookieTests {
    private static let user = #"{"name":{"firstName":"Anna"}}"#

    private func post(_ site: Site, user: String? = user, cookie: String = CallbackRouteTests.binding) async throws
        -> ServerResponse
    {
        let state = try await site.state()
        let form = [("state", state), ("code", "c"), ("id_token", "t")] + (user.map { [("user", $0)] } ?? [])
        return await site.post("/apple/callback", form: form, [.cookie: cookie])
    }

    @Test func failedCallbackGivesTheNameBackSealed() async throws {
        let site = try Site()
        site.apple.verifyFailure.withLock { $0 = Failure(.keysUnavailable, "down") }
        let failed = try await post(site)
        #expect(failed.status == .serviceUnavailable)
        let pattern = /__Host-bramley-name=[A-Za-z0-9_-]{80,}; Max-Age=604800; Path=\/; Secure; HttpOnly; SameSite=None/
        #expect(failed.setCookies.count == 1)
        let cookie = try #require(failed.setCookies.first)
        #expect(cookie.wholeMatch(of: pattern) != nil)
        #expect(!failed.text.contains("Anna"))

        site.apple.verifyFailure.withLock { $0 = nil }
        let kept = String(cookie.prefix { $0 != ";" })
        let done = try await post(site, user: nil, cookie: "\(CallbackRouteTests.binding); \(kept)")
        #expect(done.status == .seeOther)
        #expect(
            done.setCookies.dropFirst() == [
                "__Host-bramley-name=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=None"
            ])
    }

    @Test("A rate-limited callback keeps the name and the target, but not for another browser")
    func turnedAwayCallbackKeepsTheName() async throws {
        let site = try Site(adjust: { $0.limits.signInsPerMinute = 1 })
        let state = try await site.state(returnTo: "/deep?page=1")
        while await site.get("/login").status == .ok {}
        func post(cookie: String) async -> ServerResponse {
            await site.post(
                "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t"), ("user", Self.user)],
                [.cookie: cookie])
        }
        let refused = await post(cookie: CallbackRouteTests.binding)
        #expect(refused.status == .tooManyRequests && refused.fields[.retryAfter] != nil)
        #expect(refused.text.contains("return_to=%2Fdeep%3Fpage%3D1"))
        #expect(!refused.text.contains("Anna"))
        let cookie = try #require(refused.setCookies.first)
        #expect(refused.setCookies.count == 1 && cookie.hasPrefix("__Host-bramley-name="))
        let foreign = await post(cookie: "__Host-bramley-login=" + String(repeating: "C", count: 42) + "A")
        #expect(foreign.status == .tooManyRequests && foreign.setCookies.isEmpty)

        // Another address, so that it is let in: the same browser, elsewhere.
        let kept = String(cookie.prefix { $0 != ";" })
        let done = await site.post(
            "/apple/callback", form: [("state", state), ("code", "c"), ("id_token", "t")],
            [.cookie: "\(CallbackRouteTests.binding); \(kept)"], client: .v4(0x0A00_0002))
        #expect(done.status == .seeOther)
        #expect(done.setCookies.contains { $0.hasPrefix("__Host-bramley-name=;") })
    }
}
