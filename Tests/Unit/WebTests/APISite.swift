import Coding
import Crypto
import HTTP
import HTTPTypes
import Sockets
import Storage
import Stores
import Web

@testable import Accounts

/// A site's backends: their keys, and requests as they send them.
extension Site {
    /// A key with these scopes, as an application holds it. Always the same text for the same name.
    func makeKey(_ scopes: [APIScope], name: String = "k", revoked: Bool = false, life: Int64? = nil) -> String {
        let padding = String(repeating: "k", count: 42 - name.utf8.count)
        let token = "brk_" + name + padding + "A"
        let id = APIKeyID(unchecked: "key_" + String(repeating: "0", count: 26 - name.utf8.count) + name)
        database.put(
            APIKey(
                id: id, name: name, scopes: scopes, createdAt: clock.now(), revokedAt: revoked ? clock.now() : nil,
                expiresAt: life.map { clock.now().adding(seconds: $0) }), hash: SHA256.hash(utf8: token))
        return token
    }

    func bearer(_ token: String) -> HTTPFields { [.authorization: "Bearer \(token)"] }

    func key(_ name: String) async throws -> APIKey? {
        try await store.apiKeys().first { $0.name == name }
    }

    /// Somebody without a session.
    @discardableResult
    func addUser(
        _ number: Int, state: User.State = .active, groups: [String] = [], externalID: String? = nil,
        createdAt: Timestamp? = nil
    ) -> User {
        let user = User(
            id: Self.userID(number), state: state, externalID: externalID, groups: groups,
            appleSubject: AppleSubject("001.\(number)"), createdAt: createdAt ?? clock.now())
        database.put(user)
        return user
    }

    static func userID(_ number: Int) -> UserID {
        let digits = String(number)
        return UserID(unchecked: "usr_" + String(repeating: "0", count: 26 - digits.utf8.count) + digits)
    }

    func patch(_ user: UserID, _ body: String, key: String, type: String = "application/merge-patch+json") async
        -> ServerResponse
    {
        await send(
            .patch, "/api/v1/users/\(user)", [.authorization: "Bearer \(key)", .contentType: type], body: body)
    }

    func introspect(_ token: String, key: String) async -> ServerResponse {
        await post("/api/v1/introspect", form: [("token", token)], bearer(key))
    }
}

extension ServerResponse {
    var code: String? { json?["code"]?.stringValue }
    var items: [JSONObject] { json?["items"]?.arrayValue?.compactMap(\.objectValue) ?? [] }
    var ids: [String] { items.compactMap { $0["id"]?.stringValue } }
    var next: String? { json?["next"]?.stringValue }
}
