package import Accounts
package import Coding

/// An API key as JSON, without its secret.
package enum APIKeyDocument {
    /// - Parameter token: the secret, the one time it is shown: a member `key` before the others.
    package static func write(_ key: APIKey, token: APIKeyToken? = nil, to writer: inout JSONWriter) {
        writer.beginObject()
        if let token { writer.member("key", token.reveal()) }
        writer.member("id", key.id.rawValue)
        writer.member("name", key.name)
        writer.name("scopes")
        writer.beginArray()
        for scope in key.scopes { writer.write(scope.rawValue) }
        writer.endArray()
        writer.member("createdAt", key.createdAt)
        writer.member("lastUsedAt", key.lastUsedAt)
        writer.member("revokedAt", key.revokedAt)
        writer.member("expiresAt", key.expiresAt)
        writer.endObject()
    }
}
