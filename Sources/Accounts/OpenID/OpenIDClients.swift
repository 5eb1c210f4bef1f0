package import Coding
import Crypto
package import Storage

extension OpenIDClientID: IdentifierColumn {}

extension OpenIDClient {
    fileprivate static let columns = """
        id, name, secret_hash, former_secret_hash, former_secret_until, redirect_uris, logout_uris,
        back_channel_logout_uri, back_channel_public_only, scopes, groups, requires_pkce, created_at,
        updated_at, last_used_at, last_refused_at
        """

    fileprivate init(_ row: Row) throws(StoreError) {
        let (uris, logoutURIs, scopes, groups): (TextList, TextList, TextList, TextList) = (
            try row["redirect_uris"], try row["logout_uris"], try row["scopes"], try row["groups"]
        )
        let secret: Digest256? = try row["secret_hash"]
        let (former, formerUntil): (Digest256?, Timestamp?) = (
            try row["former_secret_hash"], try row["former_secret_until"]
        )
        self.init(
            id: try row["id"], name: try row["name"],
            secrets: secret.map { Secrets(current: $0, former: former, formerUntil: formerUntil) },
            redirectURIs: uris.items, logoutURIs: logoutURIs.items,
            backChannelLogoutURI: try row["back_channel_logout_uri"],
            backChannelPublicOnly: try row["back_channel_public_only"],
            // A scope unknown to this version allows nothing here.
            scopes: scopes.items.compactMap { OpenIDScope(rawValue: $0) }, groups: groups.items,
            requiresPKCE: try row["requires_pkce"], createdAt: try row["created_at"],
            updatedAt: try row["updated_at"], lastUsedAt: try row["last_used_at"],
            lastRefusedAt: try row["last_refused_at"])
    }
}

extension Snapshot {
    fileprivate func openIDClients() throws -> [OpenIDClient] {
        try rows("SELECT \(OpenIDClient.columns) FROM openid_client ORDER BY id").map { try OpenIDClient($0) }
    }

    /// Whether anything signs people in by OpenID Connect.
    func isOpenIDInUse() throws -> Bool { try exists("SELECT 1 FROM openid_client LIMIT 1") }
}

extension Transaction {
    fileprivate func save(_ client: OpenIDClient) throws {
        try run(
            """
            INSERT INTO openid_client (\(OpenIDClient.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, secret_hash = excluded.secret_hash,
            former_secret_hash = excluded.former_secret_hash, former_secret_until = excluded.former_secret_until,
            redirect_uris = excluded.redirect_uris, logout_uris = excluded.logout_uris,
            back_channel_logout_uri = excluded.back_channel_logout_uri,
            back_channel_public_only = excluded.back_channel_public_only, scopes = excluded.scopes,
            groups = excluded.groups, requires_pkce = excluded.requires_pkce, updated_at = excluded.updated_at
            """,
            [
                client.id, client.name, client.secrets?.current, client.secrets?.former, client.secrets?.formerUntil,
                TextList(client.redirectURIs), TextList(client.logoutURIs), client.backChannelLogoutURI,
                client.backChannelPublicOnly, TextList(client.scopes.map(\.rawValue)), TextList(client.groups),
                client.requiresPKCE,
                client.createdAt, client.updatedAt, client.lastUsedAt, client.lastRefusedAt,
            ])
        try setLogoutEndpoint(of: client)
    }
}

extension Database {
    /// All clients, by id.
    package func openIDClients() async throws(StoreError) -> [OpenIDClient] {
        try await read { snapshot in try snapshot.openIDClients() }
    }

    /// Read for each request, so that a change counts at once, in every process.
    package func openIDClient(_ id: OpenIDClientID) async throws(StoreError) -> OpenIDClient? {
        try await read { snapshot in
            try snapshot.firstRow("SELECT \(OpenIDClient.columns) FROM openid_client WHERE id = ?", [id])
                .map { try OpenIDClient($0) }
        }
    }

    /// One isolated transaction: reads the clients, asks `change` for the new list, and writes the differences. Grants of
    /// a client that is gone end. `change` may run twice, so it must have no effects.
    /// - Returns: the clients as they are now, by id.
    package func changeOpenIDClients(
        at now: Timestamp, _ change: @escaping @Sendable ([OpenIDClient]) -> [OpenIDClient]
    ) async throws(StoreError) -> [OpenIDClient] {
        try await write(at: now) { transaction in
            let found = try transaction.openIDClients()
            let wanted = change(found)
            for client in found where !wanted.contains(where: { $0.id == client.id }) {
                try transaction.run("DELETE FROM openid_grant WHERE client = ?", [client.id])
                try transaction.run("DELETE FROM openid_participant WHERE client = ?", [client.id])
                try transaction.deleteLogoutEndpoint(of: client.id)
                try transaction.run("DELETE FROM openid_client WHERE id = ?", [client.id])
                try transaction.audit(.openIDClientDeleted, object: client.id.rawValue)
            }
            for client in wanted where !found.contains(client) {
                try transaction.save(client)
                let isNew = !found.contains { $0.id == client.id }
                try transaction.audit(
                    isNew ? .openIDClientAdded : .openIDClientChanged, object: client.id.rawValue)
            }
            return try transaction.openIDClients()
        }
    }

    /// Writes `lastUsedAt`, or `lastRefusedAt`; callers call it at most once per client and minute.
    package func touchOpenIDClient(
        _ id: OpenIDClientID, isRefused: Bool, at now: Timestamp
    ) async throws(StoreError) {
        let column = isRefused ? "last_refused_at" : "last_used_at"
        try await note(at: now) { transaction in
            transaction.claim(.client(id.rawValue))
            try transaction.run(
                "UPDATE openid_client SET \(column) = ?1 WHERE id = ?2 AND (\(column) IS NULL OR \(column) < ?1)",
                [now, id])
        }
    }
}
