import Coding
import Crypto
import HTTP
import HTTPTypes
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// Several audiences, each asked for by its name, and RS256 for those that want it.
@Suite struct AssertionAudienceTests {
    private static let api = "https://api.example.com"
    private static let gateway = "https://gateway.example.com/in?a=1&b=2"
    private static let plain = "reports"

    private func site() async throws -> Site {
        let site = try Site {
            $0.assertionAudiences = [
                AssertionAudience(name: Self.api), AssertionAudience(name: Self.gateway, algorithm: .rs256),
                AssertionAudience(name: Self.plain),
            ]
        }
        site.signIn()
        try await site.signingKeys.maintain()
        return site
    }

    /// The assertion of the prepared answer; nil when the request was left to the route.
    private func fast(_ path: VerifyFastPath, _ site: Site, _ query: String) throws -> String? {
        let lines = ["Cookie: __Host-bramley=\(Site.browserToken)"]
        return try site.prepared(path, lines, request: "GET /auth/verify\(query) HTTP/1.1").flatMap {
            fields($0)["X-Auth-Request-Assertion"]
        }
    }

    /// Audience and algorithm of an assertion whose signature the published keys verify.
    private func read(_ token: String, _ site: Site) async throws -> [String] {
        let assertion = try ReadAssertion(token, try await site.publishedKeys())
        return [try #require(assertion["aud"]?.stringValue), try #require(assertion.header["alg"]?.stringValue)]
    }

    private static let escaped = "https%3A%2F%2Fgateway.example.com%2Fin%3Fa%3D1%26b%3D2"

    @Test(
        "the proxy names the audience; true is the first one",
        arguments: [
            ("?assertion=true", api, "ES256"), ("?assertion=https://api.example.com", api, "ES256"),
            ("?assertion=https%3A%2F%2Fapi.example.com", api, "ES256"), ("?assertion=\(escaped)", gateway, "RS256"),
            ("?assertion=\(escaped.lowercased())", gateway, "RS256"),
            ("?redirect=true&assertion=reports", plain, "ES256"),
            ("?assertion=rep%6Frts&optional=true", plain, "ES256"),
        ])
    func byName(query: String, audience: String, algorithm: String) async throws {
        let site = try await site()
        let answer = await site.get("/auth/verify" + query, cookie: site.cookie)
        #expect(answer.status == .noContent)
        #expect(try await read(try #require(answer.fields[.assertion]), site) == [audience, algorithm])
        if let token = try fast(try site.fastPath(), site, query) {
            #expect(try await read(token, site) == [audience, algorithm])
        } else {
            // Left to the route only where an escape was not needed, or is not as we write it.
            #expect(query.contains("%6F") || query.contains("%3a"))
        }
    }

    @Test(
        "another name is refused on both paths, also when signed out",
        arguments: [
            "?assertion=other", "?assertion=https://api.example.com/", "?assertion=HTTPS://api.example.com",
            "?assertion=report", "?assertion=reports%00", "?assertion=reports&assertion=true",
            "?assertion=https://gateway.example.com/in?a=1&b=2", "?assertion=reports,https://api.example.com",
        ])
    func refusesAnotherName(query: String) async throws {
        let site = try await site()
        #expect(await site.get("/auth/verify" + query, cookie: site.cookie).status == .badRequest)
        #expect(await site.get("/auth/verify" + query).status == .badRequest)
        #expect(try fast(try site.fastPath(), site, query) == nil)
    }

    @Test func onePathKeepsAnAssertionForEachAudience() async throws {
        let site = try await site()
        let path = try site.fastPath()
        let queries = ["?assertion=true", "?assertion=\(Self.escaped)", "?assertion=reports"]
        let first = try queries.map { try fast(path, site, $0) }
        #expect(Set(first.compactMap { $0 }).count == 3)
        // The very same ones, and none in another's place.
        #expect(try queries.reversed().map { try fast(path, site, $0) } == first.reversed())
        site.clock.advance(seconds: 61)
        try await site.signingKeys.refresh()
        // The session's time is due to be written, which is the route's to do; after that it is answered here.
        _ = await site.get("/auth/verify", cookie: site.cookie)
        _ = try fast(path, site, "")
        let later = try queries.map { try fast(path, site, $0) }
        #expect(Set((first + later).compactMap { $0 }).count == 6)
    }

    @Test func aPageNamesTheAudience() async throws {
        let site = try await site()
        for (query, audience, algorithm) in [
            ("", Self.api, "ES256"), ("?audience=reports", Self.plain, "ES256"),
            ("?audience=\(Self.escaped)", Self.gateway, "RS256"),
        ] {
            let answer = await site.get("/api/v1/session/assertion" + query, cookie: site.cookie)
            let token = try #require(answer.json?["assertion"]?.stringValue)
            #expect(try await read(token, site) == [audience, algorithm])
        }
        for query in [
            "?other=x", "?aud=reports", "?audience=other", "?audience=", "?audience=true",
            "?audience=reports&audience=reports",
        ] {
            let answer = await site.get("/api/v1/session/assertion" + query, cookie: site.cookie)
            #expect(answer.status == .badRequest && answer.code == "invalid_request", "\(query)")
            // Who is not signed in learns of no name.
            #expect(await site.get("/api/v1/session/assertion" + query).status == .unauthorized)
        }
    }
}
