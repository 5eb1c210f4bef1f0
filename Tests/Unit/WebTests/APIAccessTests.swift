import Coding
import HTTP
import HTTPTypes
import Sockets
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// Who gets in with which credentials. Tests/System/API/test_attack_credentials.py tries them at every route.
@Suite struct APIAccessTests {
    /// For `users:write`.
    private static let sessions = "/api/v1/users/\(Site.userID(1))/sessions"

    @Test func nobodyGetsInWithoutAKey() async throws {
        let response = await (try Site.signedIn()).send(.delete, Self.sessions)
        #expect(response.status == .unauthorized)
        #expect(response.code == "api_key_required")
        #expect(response.fields[values: .wwwAuthenticate] == [#"Bearer realm="bramley""#])
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test("A key without the scope is refused, and changes nothing")
    func keyBeyondItsScope() async throws {
        let site = try Site.signedIn()
        let before = (site.database.users, site.database.sessions)
        for scopes in [[], APIScope.allCases.filter { $0 != .usersWrite }] {
            let response = await site.send(.delete, Self.sessions, site.bearer(site.makeKey(scopes)))
            #expect(response.status == .forbidden)
            #expect(response.code == "insufficient_scope")
            #expect(
                response.fields[.wwwAuthenticate]
                    == #"Bearer realm="bramley", error="insufficient_scope", scope="users:write""#)
        }
        let after = (site.database.users, site.database.sessions)
        #expect(after.0 == before.0 && after.1 == before.1)
    }

    @Test("Unknown, revoked and malformed keys get one answer")
    func refusedKeys() async throws {
        let site = try Site.signedIn()
        let revoked = site.makeKey([.usersWrite], name: "r", revoked: true)
        let unknown = "brk_" + String(repeating: "u", count: 42) + "A"
        var answers: Set<String> = []
        for key in [revoked, unknown, "brk_short", unknown + "A", "key_00000000000000000000000001", "nonsense"] {
            let response = await site.send(.delete, Self.sessions, site.bearer(key))
            #expect(response.status == .unauthorized)
            #expect(
                response.fields[values: .wwwAuthenticate] == [#"Bearer realm="bramley", error="invalid_token""#])
            var fields = response.fields
            fields[.date] = nil
            fields[RequestID.field] = nil
            answers.insert("\(fields) \(response.code ?? "") \(response.json?.count ?? 0) \(response.bytes.count)")
        }
        #expect(answers.count == 1)
    }

    @Test(
        "Ways to write the credentials",
        arguments: [
            ("Bearer %", 200), ("bearer %", 200), ("BEARER   %", 200), ("Basic @any:%", 200), ("basic @:%", 200),
            ("Basic @key_00000000000000000000000001:%", 200), ("Bearer % ", 200), ("Bearer %\t", 200),
            ("Bearer\t%", 401), ("Bearer%", 401), ("%", 401), ("Bearer", 401), ("Bearer ", 401), ("", 401),
            ("Digest %", 401), ("Token %", 401), ("Basic %", 401), ("Basic @%", 401), ("Basic @%:", 401),
            ("Basic @any:% ", 401), ("Basic @any::%", 401), ("Bearer %,%", 401), ("Bearer \"%\"", 401),
        ])
    func credentials(_ text: String, status: Int) async throws {
        let site = try Site()
        let key = site.makeKey([.usersRead])
        var value = text.replacingFirst("%", with: key)
        if let at = value.firstIndex(of: "@") {
            value = String(value[..<at]) + Base64Text.encode(String(value[value.index(after: at)...]))
        }
        let response = await site.get("/api/v1/users", [.authorization: value])
        #expect(response.status.code == status)
        // RFC 6749 §5.2: the scheme that was tried is among the challenges.
        if status == 401 {
            #expect(response.fields[values: .wwwAuthenticate].count == (value.lowercased().hasPrefix("basic") ? 2 : 1))
        }
    }

    /// RFC 6749 §2.3.1: both parts are form-encoded before they are joined.
    @Test func basicPartsMayBeFormEncoded() async throws {
        let site = try Site()
        let key = site.makeKey([.usersRead])
        let encoded = key.utf8.map { "%" + Hexadecimal.encode([$0]) }.joined()
        for password in [encoded, encoded.uppercased(), "brk%5F" + key.dropFirst(4)] {
            let fields: HTTPFields = [.authorization: "Basic " + Base64Text.encode("a%20b:\(password)")]
            #expect(await site.get("/api/v1/users", fields).status == .ok)
        }
        for password in ["%", "brk%5", "brk%zz" + key.dropFirst(4), key + "%00"] {
            let fields: HTTPFields = [.authorization: "Basic " + Base64Text.encode("a:\(password)")]
            #expect(await site.get("/api/v1/users", fields).status == .unauthorized)
        }
    }

    @Test func refusedKeysAreLimitedByAddressAndGoodOnesNever() async throws {
        let site = try Site(adjust: { $0.limits.refusedKeysPerMinute = 3 })
        let key = site.makeKey([.usersRead])
        let bad = site.bearer("brk_" + String(repeating: "x", count: 42) + "A")
        for _ in 0..<3 { #expect(await site.send(.get, "/api/v1/users", bad).status == .unauthorized) }
        let refused = await site.send(.get, "/api/v1/users", bad)
        #expect(refused.status == .tooManyRequests)
        #expect(refused.code == "too_many_requests")
        #expect(refused.fields[.retryAfter].flatMap { Int($0) } ?? 0 > 0)
        #expect(await site.send(.get, "/api/v1/users", site.bearer("brs_x")).status == .tooManyRequests)
        // Requests without credentials do not count, nor do valid keys, even if others guess from the same address.
        #expect(await site.send(.get, "/api/v1/users").status == .unauthorized)
        #expect(await site.send(.get, "/api/v1/users", site.bearer(key)).status == .ok)
        #expect(
            await site.send(.get, "/api/v1/users", bad, client: .v4(0x0A00_0002)).status == .unauthorized)
    }

    @Test func useIsWrittenOnceAMinute() async throws {
        let site = try Site()
        let key = site.makeKey([.usersRead])
        let start = site.clock.now()
        for _ in 0..<3 { _ = await site.get("/api/v1/users", site.bearer(key)) }
        #expect(try await site.key("k")?.lastUsedAt == start)
        site.clock.advance(seconds: 59)
        _ = await site.get("/api/v1/users", site.bearer(key))
        #expect(try await site.key("k")?.lastUsedAt == start)
        site.clock.advance(seconds: 1)
        _ = await site.get("/api/v1/users", site.bearer(key))
        #expect(try await site.key("k")?.lastUsedAt == site.clock.now())
    }

    @Test func useIsWrittenOnceAMinuteEvenIfThatFails() async throws {
        let site = try Site()
        let key = site.makeKey([.usersRead])
        site.database.faults.fail(at: "UPDATE api_key SET last_used_at", with: .inconsistent("it alone"))
        for _ in 0..<3 { #expect(await site.get("/api/v1/users", site.bearer(key)).status == .ok) }
        #expect(try await site.key("k")?.lastUsedAt == nil)
        #expect(site.database.faults.failures == 1)
    }

    @Test("A store that does not answer is 503, unlike a wrong key")
    func storeFails() async throws {
        let site = try Site()
        let key = site.makeKey([.usersWrite])
        site.database.faults.fail()
        let response = await site.send(.delete, Self.sessions, site.bearer(key))
        #expect(response.status == .serviceUnavailable)
        #expect(response.code == "unavailable")
        #expect(response.fields[.retryAfter] != nil)
    }

    @Test(
        "Ambiguous paths are refused before a key is checked",
        arguments: [
            ("/api/v1/users/%2e%2e", 400), ("/api/v1/users/..", 400), ("/api/v1/x/../users", 400),
            ("/api/v1/./users", 400), ("//api/v1/users", 404),
            ("/api/v1/users/usr_1%2Fsessions", 400),
            ("/api/v1/users/%5c", 400), ("/api/v1/users/%00", 400), ("/api/v1/users/%ff", 400),
            ("/api/v1//users", 404), ("/api/v1/users/", 404), ("/API/v1/users", 404), ("/api/v1/users;a=b", 404),
        ])
    func paths(_ path: String, status: Int) async throws {
        let site = try Site()
        let response = await site.get(path, site.bearer(site.makeKey(APIScope.allCases)))
        #expect(response.status.code == status)
        if path.hasPrefix("/api/") { #expect(response.fields[.contentType] == "application/problem+json") }
    }
}

enum Base64Text {
    static func encode(_ text: String) -> String { Base64.encode(Array(text.utf8)) }
}

extension String {
    func replacingFirst(_ text: String, with other: String) -> String {
        guard let range = firstRange(of: text) else { return self }
        return String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
    }
}
