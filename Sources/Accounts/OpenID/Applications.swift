package import Coding
import Crypto
import Storage

/// An application that a person has signed in to, while it holds a code or a token of theirs, or gets one without asking.
package struct ConnectedApplication: Hashable, Sendable {
    package var client: OpenIDClientID
    package var name: String
    /// The address of its metadata document, if it is known by that.
    package var document: String?
    /// When the oldest of what it holds was granted, or the person first allowed it.
    package var since: Timestamp
    /// When it last got a code or a token, as far as it still holds it.
    package var lastUsedAt: Timestamp
    /// What it may ask for at this time, of what it holds and what the person has allowed.
    package var scopes: [OpenIDScope]
    package var services: [Service]
    /// Whether it keeps access after the person has signed out (OIDC Core §11).
    package var isOffline: Bool

    package init(
        client: OpenIDClientID, name: String, document: String? = nil, since: Timestamp, lastUsedAt: Timestamp,
        scopes: [OpenIDScope], services: [Service] = [], isOffline: Bool
    ) {
        self.client = client
        self.name = name
        self.document = document
        self.since = since
        self.lastUsedAt = lastUsedAt
        self.scopes = scopes
        self.services = services
        self.isOffline = isOffline
    }

    /// How many the account page shows: those used last.
    package static let shown = 50

    package static let fields: [Field<ConnectedApplication>] = [
        Field("clientID") { .code($0.client.rawValue) }, Field("name") { .text($0.name) },
        Field("document") { .code($0.document) }, Field("since") { .time($0.since) },
        Field("lastUsedAt") { .time($0.lastUsedAt) },
        Field("scopes") { .texts($0.scopes.map(\.rawValue)) },
        Field("services") { .texts($0.services.map(\.uri)) }, Field("offline") { .flag($0.isOffline) },
    ]
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

    /// Ends everything that an application holds of a person, in every session, forgets their consent, and notifies it.
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
    func endAccess(of client: OpenIDClientID, to user: UserID) throws {
        let name = try openIDClient(client)?.clientID ?? client.rawValue
        try endGrants(of: user, at: client)
        try record(.accessEnded, user: user, client: client)
        try audit(.accessEnded, user: user, object: name)
        try queueLogout(of: client)
    }
}

extension Snapshot {
    /// Each with the tokens or the consent of one grant or service: of each client the oldest grant, and the newest for
    /// the same scopes and services, since there may be very many.
    private func parts(of user: UserID) throws -> [(part: ConnectedApplication, services: [String])] {
        let client = "c.id, c.name, c.document, c.scopes AS requestable"
        let grants = try rows(
            """
            SELECT \(client), g.grant_id, g.scopes, g.services, g.refreshed_at, g.refresh_hash, g.session FROM (
                SELECT g.id AS grant_id, g.client, g.scopes, g.services, g.refresh_hash, s.id AS session,
                    max(g.refreshed_at) OVER (PARTITION BY g.client) AS refreshed_at,
                    row_number() OVER (PARTITION BY g.client ORDER BY g.id) AS oldest,
                    row_number() OVER (
                        PARTITION BY g.client, g.scopes, g.services, g.refresh_hash IS NULL, s.id IS NULL
                        ORDER BY g.id DESC) AS newest
                FROM openid_grant g LEFT JOIN session s ON s.id = g.session
                WHERE g.user = ? AND g.expires_at > ? AND (g.refresh_hash IS NOT NULL OR s.id IS NOT NULL)
            ) g JOIN openid_client c ON c.id = g.client WHERE g.oldest = 1 OR g.newest = 1
            """, [user, now])
        let consents = try rows(
            "SELECT \(client), n.scopes, n.service, n.given_at FROM openid_consent n "
                + "JOIN openid_client c ON c.id = n.client WHERE n.user = ?", [user])
        var parts: [(part: ConnectedApplication, services: [String])] = []
        for row in grants {
            let (id, refreshedAt): (Grant.ID, Timestamp?) = (try row["grant_id"], try row["refreshed_at"])
            let (session, refresh): (SessionID?, Digest256?) = (try row["session"], try row["refresh_hash"])
            var part = try part(row, since: id.time)
            let requestable: [OpenIDScope] = try row.scopes("requestable")
            part.lastUsedAt = refreshedAt ?? id.time
            part.isOffline = refresh != nil && requestable.contains(.offlineAccess)
            let services: TextList? = try row["services"]
            if session != nil || part.isOffline { parts.append((part, services?.items ?? [])) }
        }
        for row in consents { parts.append((try part(row, since: try row["given_at"]), [try row["service"]])) }
        return parts
    }

    private func part(_ row: Row, since: Timestamp) throws -> ConnectedApplication {
        let (scopes, requestable): ([OpenIDScope], [OpenIDScope]) = (
            try row.scopes("scopes"), try row.scopes("requestable")
        )
        let document: String? = try row["document"]
        return ConnectedApplication(
            client: try row["id"], name: try row["name"], document: document, since: since, lastUsedAt: since,
            scopes: scopes.filter { OpenIDClient.mayRequest($0, of: requestable, document: document) },
            isOffline: false)
    }

    fileprivate func applications(of user: UserID) throws -> [ConnectedApplication] {
        let parts = try parts(of: user)
        let services = parts.contains { !$0.services.allSatisfy(\.isEmpty) } ? try services() : []
        return Dictionary(grouping: parts, by: \.part.client).values.compactMap { parts -> ConnectedApplication? in
            guard var whole = parts.first?.part else { return nil }
            for (part, _) in parts {
                whole.since = min(whole.since, part.since)
                whole.lastUsedAt = max(whole.lastUsedAt, part.lastUsedAt)
                whole.isOffline = whole.isOffline || part.isOffline
            }
            whole.scopes = OpenIDScope.ordered(parts.flatMap(\.part.scopes))
            whole.services = services.filter { service in
                parts.contains { $0.services.contains { $0.isExactly(service.uri) } }
            }
            return whole
        }
        .sorted { ($0.name, $0.client.rawValue) < ($1.name, $1.client.rawValue) }
    }
}
