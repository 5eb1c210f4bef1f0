package import Coding
package import Crypto

/// An API key's public id, safe to show: `key_` and 26 characters. Never the key itself.
package struct APIKeyID: PrefixedIdentifier {
    package static var prefix: String { "key_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// What an API key allows.
package enum APIScope: String, Sendable, CaseIterable {
    /// Asking whose session a token is (RFC 7662).
    case introspect
    case usersRead = "users:read"
    /// External ids, groups and states; ending sessions.
    case usersWrite = "users:write"
    case usersDelete = "users:delete"
    case eventsRead = "events:read"
    /// Where events go, and how that goes.
    case webhooksRead = "webhooks:read"
    /// Sending again, and test events.
    case webhooksWrite = "webhooks:write"
    /// Tying Apple identities to the application's accounts.
    case links
    /// The same, also when somebody else has the account.
    case linksReplace = "links:replace"
}

/// An application's key to the API, without its secret.
package struct APIKey: Hashable, Sendable {
    package var id: APIKeyID
    /// What the operator calls it.
    package var name: String
    package var scopes: [APIScope]
    package var createdAt: Timestamp
    /// To the minute, or nil when never used.
    package var lastUsedAt: Timestamp?
    package var revokedAt: Timestamp?
    /// The moment from which it is refused; nil for a key that lives until it is revoked.
    package var expiresAt: Timestamp?

    package init(
        id: APIKeyID, name: String, scopes: [APIScope], createdAt: Timestamp, lastUsedAt: Timestamp? = nil,
        revokedAt: Timestamp? = nil, expiresAt: Timestamp? = nil
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
        self.expiresAt = expiresAt
    }

    package func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// API keys. Looked up in the database every time: a revoked one is refused by the next request of any process.
package protocol APIKeyStore: Sendable {
    func createAPIKey(_ key: APIKey, hash: Digest256) async throws(StoreError)
    /// All of them, revoked ones included, oldest first.
    func apiKeys() async throws(StoreError) -> [APIKey]
    /// The key with this hash, unless it is unknown or revoked. One whose time is over is found: its holder is told.
    func apiKey(hash: Digest256) async throws(StoreError) -> APIKey?
    /// Ends the key, and the links it began that are not committed: nobody else can complete them. False when unknown or
    /// revoked before.
    func revokeAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) -> Bool
    /// Writes `lastUsedAt`; callers send at most one per key and minute.
    func touchAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError)
}
