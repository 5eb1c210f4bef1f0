import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// API keys that live until a moment.
@Suite struct APIKeyExpiryTests {
    @Test("A key is accepted until it expires, and then refused as expired")
    func expiry() async throws {
        let site = try Site()
        let token = site.makeKey([.usersRead], life: 60)
        #expect(await site.get("/api/v1/users", site.bearer(token)).status == .ok)
        site.clock.advance(seconds: 59)
        #expect(await site.get("/api/v1/users", site.bearer(token)).status == .ok)
        site.clock.advance(seconds: 1)
        let used = try await site.key("k")?.lastUsedAt
        for fields in [
            site.bearer(token), [.authorization: "Basic " + Base64Text.encode("x:" + token)],
        ] as [HTTPFields] {
            let refused = await site.get("/api/v1/users", fields)
            #expect(refused.status == .unauthorized)
            #expect(refused.code == "api_key_expired")
            #expect(
                refused.fields[values: .wwwAuthenticate].first
                    == #"Bearer realm="bramley", error="invalid_token", error_description="The API key has expired""#)
        }
        // It is not used any more, and others are untouched.
        #expect(try await site.key("k")?.lastUsedAt == used)
        let other = site.makeKey([.introspect], name: "other")
        #expect(await site.introspect("x", key: other).text == #"{"active":false}"#)
    }

    @Test("An expired key counts towards the limit like an unknown one")
    func expiredKeysAreCharged() async throws {
        let site = try Site(adjust: { $0.limits.refusedKeysPerMinute = 2 })
        let token = site.makeKey([.usersRead], life: 0)
        let statuses = [
            await site.get("/api/v1/users", site.bearer(token)), await site.get("/api/v1/users", site.bearer(token)),
            await site.get("/api/v1/users", site.bearer(token)),
        ].map(\.status.code)
        #expect(statuses == [401, 401, 429])
    }
}
