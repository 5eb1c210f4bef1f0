package import Coding
import Crypto
import Storage

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
    /// Endpoints and the state of their deliveries.
    case webhooksRead = "webhooks:read"
    /// Retries and test events.
    case webhooksWrite = "webhooks:write"
    /// Programs that sign people in by OpenID Connect.
    case clientsRead = "clients:read"
    /// Registering and deleting them, and making secrets.
    case clientsWrite = "clients:write"
    /// Linking Apple identities to the application's accounts.
    case links
    /// The same, even if the account is linked to another identity.
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
