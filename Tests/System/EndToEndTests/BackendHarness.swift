import AppleSimulator
import Coding
import Crypto
import Foundation
import Strangers

/// An application with an API key, at the whole running server. Its keys, and people nobody has signed in as, are written
/// beside the server as a command in another process would.
struct Backend: Sendable {
    static let scopes = ["introspect", "users:read", "users:write", "users:delete", "events:read"]

    let site: Site
    let key: String
    let browser: Browser

    init(_ site: Site, scopes: [String] = Backend.scopes) throws {
        self.site = site
        browser = site.browser()
        key = "brk_" + Self.random(43, of: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let (key, now) = (key, site.clock.milliseconds())
        try site.writeBeside { execute in
            try execute(
                "INSERT INTO api_key (id, hash, name, scopes, created_at) VALUES (?, ?, 'test', ?, ?)",
                [
                    Self.makeID("key_"), SHA256.hash(utf8: key).bytes,
                    "[" + scopes.map { "\"\($0)\"" }.joined(separator: ",") + "]", now,
                ])
        }
    }

    static func makeID(_ prefix: String) -> String { prefix + random(26, of: "0123456789abcdefghjkmnpqrstvwxyz") }

    private static func random(_ count: Int, of alphabet: String) -> String {
        String((0..<count).compactMap { _ in alphabet.randomElement() })
    }

    func send(
        _ method: String, _ target: String, body: String? = nil, type: String? = nil,
        _ fields: [(name: String, value: String)]? = nil
    ) async throws -> WireResponse {
        var request = WireRequest(
            method: method, target: site.basePath + target,
            fields: fields ?? [("Authorization", "Bearer \(key)")], body: body.map { Array($0.utf8) }, context: .program
        )
        if let type { request.fields.append(("Content-Type", type)) }
        return try await browser.send(request)
    }

    func introspect(_ token: String?) async throws -> JSON? {
        let response = try await send(
            "POST", "/api/v1/introspect", body: "token=" + (token ?? ""), type: "application/x-www-form-urlencoded")
        return JSON(parsing: response.body)
    }

    func patch(_ user: String, _ body: String) async throws -> WireResponse {
        try await send("PATCH", "/api/v1/users/\(user)", body: body, type: "application/merge-patch+json")
    }
}

extension Site {
    var basePath: String { String(publicURL.dropFirst(origin.count)) }

    /// One transaction of another process, by statements with parameters.
    func writeBeside(_ body: (_ execute: (String, [Any?]) throws -> Void) throws -> Void) throws {
        guard let postgres else {
            return try Stranger.beside(databasePath).write { connection in
                try body { try connection.execute($0, $1) }
            }
        }
        var statements: [String] = []
        try body { statements.append(SitePostgres.text($0, $1)) }
        _ = try SitePostgres.shared.get().query(postgres, statements.joined(separator: ";\n"))
    }
}
