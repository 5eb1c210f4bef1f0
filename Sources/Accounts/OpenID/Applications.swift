package import Coding
import Crypto
import Storage

/// An application that a person has signed in to, while it holds a code or a token of theirs.
package struct ConnectedApplication: Hashable, Sendable {
    package var client: OpenIDClientID
    package var name: String
    /// When the oldest of what it holds was granted.
    package var since: Timestamp
    /// When it last got a code or a token.
    package var lastUsedAt: Timestamp
    package var scopes: [OpenIDScope]
    /// Whether it keeps access after the person has signed out (OIDC Core §11).
    package var isOffline: Bool

    package init(
        client: OpenIDClientID, name: String, since: Timestamp, lastUsedAt: Timestamp, scopes: [OpenIDScope],
        isOffline: Bool
    ) {
        self.client = client
        self.name = name
        self.since = since
        self.lastUsedAt = lastUsedAt
        self.scopes = scopes
        self.isOffline = isOffline
    }

    /// How many the account page shows: those used last.
    package static let shown = 50

    package static let fields: [Field<ConnectedApplication>] = [
        Field("clientID") { .code($0.client.rawValue) }, Field("name") { .text($0.name) },
        Field("since") { .time($0.since) }, Field("lastUsedAt") { .time($0.lastUsedAt) },
        Field("scopes") { .texts($0.scopes.map(\.rawValue)) }, Field("offline") { .flag($0.isOffline) },
    ]
}

extension Grant.ID {
    /// When the code was granted.
    fileprivate var time: Timestamp { Timestamp(milliseconds: Int64(bigEndianBytes: [0, 0] + bytes.prefix(6))) }
}

extension Database {
    /// The applications of a person, by name; nil when there is no such person.
    package func applications(
        of user: UserID, at now: Timestamp
    ) async throws(Failure) -> [ConnectedApplication]? {
        try await read(at: now) { snapshot in
            guard try snapshot.user(user) != nil else { return nil }
            return try snapshot.applications(of: user)
        }
    }

    /// Ends everything that an application holds of a person, in every session, and notifies it.
    ///
    /// - Parameter client: nil for all of them.
    /// - Returns: how many applications this concerned.
    @discardableResult
    package func endAccess(
        of client: OpenIDClientID?, to user: UserID, at now: Timestamp
    ) async throws(Failure) -> Int {
        try await write(at: now) { transaction in
            transaction.claim(.user(user))
            let clients = try transaction.clients(of: user).filter { client == nil || $0 == client }
            for client in clients { try transaction.endAccess(of: client, to: user) }
            return clients.count
        }
    }
}

extension Transaction {
    fileprivate func endAccess(of client: OpenIDClientID, to user: UserID) throws {
        try endGrants(of: user, at: client)
        try record(.accessEnded, user: user, client: client)
        try audit(.accessEnded, user: user, object: client.rawValue)
        try queueLogout(of: client)
    }
}

extension Snapshot {
    fileprivate func applications(of user: UserID) throws -> [ConnectedApplication] {
        let rows = try rows(
            """
            SELECT g.id, g.client, c.name, g.scopes, g.refreshed_at, g.refresh_hash FROM openid_grant g
            JOIN openid_client c ON c.id = g.client LEFT JOIN session s ON s.id = g.session
            WHERE g.user = ? AND g.expires_at > ? AND (g.refresh_hash IS NOT NULL OR s.id IS NOT NULL)
            """, [user, now])
        var found: [OpenIDClientID: ConnectedApplication] = [:]
        for row in rows {
            let client: OpenIDClientID = try row["client"]
            let (id, refreshedAt): (Grant.ID, Timestamp?) = (try row["id"], try row["refreshed_at"])
            let refresh: Digest256? = try row["refresh_hash"]
            let (name, scopes): (String, [OpenIDScope]) = (try row["name"], try row.scopes("scopes"))
            var application =
                found[client]
                ?? ConnectedApplication(
                    client: client, name: name, since: id.time, lastUsedAt: id.time, scopes: [], isOffline: false)
            application.since = min(application.since, id.time)
            application.lastUsedAt = max(application.lastUsedAt, refreshedAt ?? id.time)
            application.scopes = OpenIDScope.allCases.filter { application.scopes.contains($0) || scopes.contains($0) }
            application.isOffline = application.isOffline || refresh != nil
            found[client] = application
        }
        return found.values.sorted { ($0.name, $0.client.rawValue) < ($1.name, $1.client.rawValue) }
    }
}
