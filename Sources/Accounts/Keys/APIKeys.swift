package import Coding
package import Crypto
import Storage
import Synchronization

package enum APIScope: String, Sendable, CaseIterable {
    /// Introspection of session tokens (RFC 7662).
    case introspect
    case usersRead = "users:read"
    /// External ids, groups and states; ending sessions.
    case usersWrite = "users:write"
    case usersDelete = "users:delete"
    case eventsRead = "events:read"
    /// Endpoints and the state of their deliveries.
    case webhooksRead = "webhooks:read"
    /// Retries and test events.
    case webhooksWrite = "webhooks:write"
    /// Applications that sign people in by OpenID Connect.
    case clientsRead = "clients:read"
    /// Registering and deleting them, and creating secrets.
    case clientsWrite = "clients:write"
    /// Linking Apple identities to the application's accounts.
    case links
    /// Linking even if the account is linked to another identity.
    case linksReplace = "links:replace"
}

/// An application's key for the API, without its secret.
package struct APIKey: Hashable, Sendable {
    package var id: APIKeyID
    /// The operator's name for it.
    package var name: String
    package var scopes: [APIScope]
    package var createdAt: Timestamp
    /// To the minute; nil when never used.
    package var lastUsedAt: Timestamp?
    package var revokedAt: Timestamp?
    /// When it expires; nil for a key that is valid until revoked.
    package var expiresAt: Timestamp?

    /// Bytes.
    package static let nameLimit = 100

    package static func accepts(name: String) -> Bool { PlainLine.acceptsName(name, maximum: nameLimit) }

    package func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    /// - Parameter token: the secret, which is shown once.
    package static func fields(with token: APIKeyToken) -> [Field<APIKey>] {
        [Field("key") { _ in .code(token.reveal()) }] + fields
    }

    package static let fields: [Field<APIKey>] = [
        Field("id") { .code($0.id.rawValue) }, Field("name") { .text($0.name) },
        Field("scopes") { .texts($0.scopes.map(\.rawValue)) }, Field("createdAt") { .time($0.createdAt) },
        Field("lastUsedAt") { .time($0.lastUsedAt) }, Field("revokedAt") { .time($0.revokedAt) },
        Field("expiresAt") { .time($0.expiresAt) },
    ]
}

extension Database {
    /// A new key, with its secret, which is shown once. `name`: see `APIKey.accepts(name:)`.
    package func createAPIKey(
        named name: String, scopes: [APIScope], expiresAt end: Timestamp?, random: any RandomSource, at now: Timestamp
    ) async throws(Failure) -> (key: APIKey, token: APIKeyToken) {
        let token = APIKeyToken.make(random: random)
        let key = APIKey(
            id: RandomIdentifier(random: random).make(), name: name, scopes: scopes, createdAt: now, expiresAt: end)
        try await createAPIKey(key, hash: token.hash)
        return (key, token)
    }

    package func createAPIKey(_ key: APIKey, hash: Digest256) async throws(Failure) {
        try await write(at: key.createdAt) { transaction in
            try transaction.run(
                "INSERT INTO api_key (id, hash, name, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
                [key.id, hash, key.name, TextList(key.scopes), key.createdAt, key.expiresAt])
            try transaction.audit(
                .apiKeyCreated, reason: key.expiresAt.map { "expires \($0.rfc3339)" }, object: key.id.rawValue)
        }
    }

    /// All keys, revoked ones included, oldest first.
    package func apiKeys() async throws(Failure) -> [APIKey] {
        try await read { snapshot in
            try snapshot.rows("SELECT \(APIKey.columns) FROM api_key ORDER BY created_at, id").map { try APIKey($0) }
        }
    }

    /// The key with this hash; nil when unknown or revoked. An expired key is returned, for a precise error.
    package func apiKey(hash: Digest256) async throws(Failure) -> APIKey? {
        try await lookUp { snapshot in
            try snapshot.firstRow(
                "SELECT \(APIKey.columns) FROM api_key WHERE hash = ? AND revoked_at IS NULL", [hash]
            ).map { try APIKey($0) }
        }
    }

    /// Revokes the key, and ends its uncommitted links. False when it is unknown or already revoked.
    package func revokeAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(Failure) -> Bool {
        try await write(at: now) { transaction in
            let changes = try transaction.change(
                "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", [now, id])
            guard changes > 0 else { return false }
            let links = try transaction.rows("SELECT id FROM account_link WHERE api_key = ? AND ended_at IS NULL", [id])
            for link in links { try transaction.failLink(try link["id"], ReasonCode.linkEnded.rawValue) }
            try transaction.audit(.apiKeyRevoked, object: id.rawValue)
            return true
        }
    }

    /// Writes `lastUsedAt`; callers call it at most once per key and minute.
    package func touchAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(Failure) {
        try await attemptWrite(at: now) { transaction in try transaction.touch("api_key", id) }
    }
}

extension Transaction {
    /// Writes that a key, a client or a service was used, unless a later time is there.
    func touch(_ table: String, _ id: some ColumnBindable, _ column: String = "last_used_at") throws {
        try run(
            "UPDATE \(table) SET \(column) = ?1 WHERE id = ?2 AND (\(column) IS NULL OR \(column) < ?1)", [now, id])
    }
}

extension APIKey {
    fileprivate static let columns = "id, name, scopes, created_at, last_used_at, revoked_at, expires_at"

    fileprivate init(_ row: Row) throws(StoreError) {
        id = try row["id"]
        name = try row["name"]
        scopes = try row.scopes("scopes")
        createdAt = try row["created_at"]
        lastUsedAt = try row["last_used_at"]
        revokedAt = try row["revoked_at"]
        expiresAt = try row["expires_at"]
    }
}

/// When this process last wrote the use of each existing key, so that concurrent requests write it once a minute.
package final class UseTimes<Key: Hashable & Sendable>: Sendable {
    /// Seconds.
    private static var interval: Int64 { 60 }

    private let written = Mutex<[Key: Timestamp]>([:])

    package init() {}

    /// Whether to write a use of `key`, stored as `last`, at `now`; from then on it counts as written.
    package func isDue(_ key: Key, last: Timestamp?, at now: Timestamp) -> Bool {
        if let last, now < last.adding(seconds: Self.interval) { return false }
        return written.withLock { written in
            if let last = written[key], last <= now, now < last.adding(seconds: Self.interval) { return false }
            written[key] = now
            return true
        }
    }
}
