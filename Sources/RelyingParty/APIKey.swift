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
}

/// The secret of an API key: `brk_` and 256 random bits in base64url. The application holds it, the database only its
/// SHA-256. It prints `<redacted>`.
package struct APIKeyToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package static let prefix = "brk_"

    private let text: String

    package static func make(random: any RandomSource) -> APIKeyToken {
        APIKeyToken(trusted: prefix + Base64URL.encode(random.bytes(32)))
    }

    /// A key as a request carries it: the prefix and 43 characters of the base64url alphabet; nil for anything else.
    package init?(parsing text: String) {
        guard TokenSyntax.matches(text, prefix: Self.prefix) else { return nil }
        self.init(trusted: text)
    }

    private init(trusted text: String) {
        self.text = text
    }

    /// SHA-256 of the whole text, prefix included: what the key is found by.
    package var hash: Digest256 { SHA256.hash(utf8: text) }

    /// For the one time it is shown to whoever made it.
    package func reveal() -> String { text }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The form every token of ours has: a prefix and 32 bytes in unpadded base64url.
enum TokenSyntax {
    static let characterCount = 43

    static func matches(_ text: String, prefix: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count == prefix.utf8.count + characterCount, bytes.starts(with: prefix.utf8) else { return false }
        return bytes.dropFirst(prefix.utf8.count).allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
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

    package init(
        id: APIKeyID, name: String, scopes: [APIScope], createdAt: Timestamp, lastUsedAt: Timestamp? = nil,
        revokedAt: Timestamp? = nil
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
    }
}

/// API keys. Looked up in the database every time: a revoked one is refused by the next request of any process.
package protocol APIKeyStore: Sendable {
    func createAPIKey(_ key: APIKey, hash: Digest256) async throws(StoreError)
    /// All of them, revoked ones included, oldest first.
    func apiKeys() async throws(StoreError) -> [APIKey]
    /// The key with this hash, unless it is unknown or revoked.
    func apiKey(hash: Digest256) async throws(StoreError) -> APIKey?
    /// False when unknown or revoked before.
    func revokeAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError) -> Bool
    /// Writes `lastUsedAt`; callers send at most one per key and minute.
    func touchAPIKey(_ id: APIKeyID, at now: Timestamp) async throws(StoreError)
}
