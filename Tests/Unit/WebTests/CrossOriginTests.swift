import Coding
import HTTP
import HTTPTypes
import Testing
import Web

@testable import Accounts

/// `api.allowedOrigins`: which pages of other origins may read which answers.
@Suite struct CrossOriginTests {
    private static let app = "https://app.example.com"

    private func site(_ origins: [String] = [app, "http://localhost:3000"]) throws -> Site {
        let site = try Site(adjust: { $0.apiOrigins = origins })
        site.signIn()
        return site
    }

    private func corsFields(_ response: ServerResponse) -> [String] {
        response.fields.map(\.name.canonicalName).filter { $0.hasPrefix("access-control-") }.sorted()
    }

    @Test func allowedPageReadsWhoIsSignedIn() async throws {
        let site = try site()
        for (fields, status) in [([.cookie: site.cookie, .origin: Self.app], 200), ([.origin: Self.app], 401)]
            as [(HTTPFields, Int)]
        {
            let response = await site.get("/api/v1/session", fields)
            #expect(response.status.code == status)
            #expect(response.fields[values: .accessControlAllowOrigin] == [Self.app])
            #expect(response.fields[.accessControlAllowCredentials] == "true")
            #expect(response.fields[.vary] == "Origin")
            #expect(response.fields[values: HTTPField.Name("Cross-Origin-Resource-Policy")!] == ["cross-origin"])
        }
    }

    @Test(
        "Other origins get nothing",
        arguments: [
            "https://evil.example", "null", "https://app.example.com.evil.example", "https://app.example.com:443",
            "https://app.example.com/", "http://app.example.com", "HTTPS://app.example.com", "https://example.com", "*",
            "",
            "https://app.example.com https://app.example.com",
        ])
    func otherOrigins(_ origin: String) async throws {
        let site = try site()
        for method in [HTTPRequest.Method.get, .options] {
            let response = await site.send(
                method, "/api/v1/session",
                [.cookie: site.cookie, .origin: origin, .accessControlRequestMethod: "GET"])
            #expect(corsFields(response) == [])
            #expect(response.fields[.vary] == "Origin")
            #expect(response.fields[values: HTTPField.Name("Cross-Origin-Resource-Policy")!] == ["same-origin"])
        }
    }

    @Test func preflightSaysWhatMayBeAsked() async throws {
        let site = try site()
        let response = await site.send(
            .options, "/api/v1/session", [.origin: Self.app, .accessControlRequestMethod: "GET"])
        #expect(response.status == .noContent)
        #expect(response.fields[.accessControlAllowOrigin] == Self.app)
        #expect(response.fields[.accessControlAllowMethods] == "GET, HEAD")
        #expect(response.fields[.accessControlAllowHeaders] == "Authorization, Content-Type, X-Requested-With")
        #expect(response.fields[.accessControlMaxAge] == "600")
        #expect(response.fields[.allow] == "GET, HEAD, DELETE, OPTIONS")
        // No preflight: the same OPTIONS as everywhere.
        let plain = await site.send(.options, "/api/v1/session", [.origin: Self.app])
        #expect(plain.fields[.accessControlAllowMethods] == nil)
        #expect(plain.fields[.allow] == "GET, HEAD, DELETE, OPTIONS")
    }

    @Test("Without allowed origins no CORS field is sent")
    func unset() async throws {
        let site = try site([])
        for method in [HTTPRequest.Method.get, .options] {
            let response = await site.send(
                method, "/api/v1/session", [.origin: Self.app, .accessControlRequestMethod: "GET"])
            #expect(corsFields(response) == [])
            #expect(response.fields[.vary] == nil)
        }
    }
}
