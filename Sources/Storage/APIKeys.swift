package import Coding
package import Crypto
package import RelyingParty

extension Database: APIKeyStore {
    private static let columns = "k.id, k.name, k.scopes, k.created_at, k.last_used_at, k.revoked_at, k.expires_at"

    package func createAPIKey(_ key: APIKey, hash: Digest256) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                "INSERT INTO api_key (id, hash, name, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    key.id.rawValue, hash, key.name, StringList.encode(key.scopes.map(\.rawValue)),
                    key.createdAt.milliseconds, key.expiresAt?.milliseconds,
                ])
            try connection.audit(
                .apiKeyCreated, reason: key.expiresAt.map { "expires \($0.rfc3339)" }, object: key.id.rawValue,
                at: key.createdAt)
        }
    }

    package func apiKeys() async throws(StoreError) -> [APIKey] {
        try await read { connection in
            try connection.rows("SELECT \(Self.columns) FROM api_key k ORDER BY k.created_at, k.id").map {
                try APIKey(row: $0)
            }
        }
    }

    package func apiKey(hash: Digest256) async throws(StoreError) -> APIKey? {
        try await read { connection in
            try connection.firstRow(
                "SELECT \(Self.columns) FROM api_key k WHERE k.hash = ? AND k.revoked_at IS NULL", [hash]
            ).map { try APIKey(row: $0) }
        }
    }

    package func revokeAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) -> Bool {
        try await commits.write { connection, _ in
            try connection.run(
                "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
                [now.milliseconds, id.rawValue])
            guard connection.changesCount > 0 else { return false }
            let links = try connection.rows(
                "SELECT id FROM account_link WHERE api_key = ? AND ended_at IS NULL AND state <> 'converting'",
                [id.rawValue])
            for link in links {
                try connection.end(
                    LinkKey(unchecked: try link.text(0)), as: .failed, failure: LinkFailure.ended.reason, at: now)
            }
            try connection.audit(.apiKeyRevoked, object: id.rawValue, at: now)
            return true
        }
    }

    package func touchAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                "UPDATE api_key SET last_used_at = ?1 WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at < ?1)",
                [now.milliseconds, id.rawValue])
        }
    }
}

extension APIKey {
    init(row: Row) throws(StoreError) {
        var scopes: [APIScope] = []
        for text in try StringList.decode(try row.text(2)) {
            // A scope this version does not know allows nothing here.
            if let scope = APIScope(rawValue: text) { scopes.append(scope) }
        }
        self.init(
            id: APIKeyID(unchecked: try row.text(0)), name: try row.text(1), scopes: scopes,
            createdAt: try row.moment(3), lastUsedAt: (row[4] as Int64?).map { Timestamp(milliseconds: $0) },
            revokedAt: (row[5] as Int64?).map { Timestamp(milliseconds: $0) },
            expiresAt: (row[6] as Int64?).map { Timestamp(milliseconds: $0) })
    }
}
