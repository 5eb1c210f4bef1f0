import Coding
import Storage

// How programs learn of ended sessions (Back-Channel Logout §2.5): each client with an address for it has an endpoint in
// the queue of webhooks, and the end of a session puts its journal entry there for each client that took part.

extension LogoutAddress {
    /// Nil when the endpoint is no client, or one without an address.
    init?(_ row: Row) throws(StoreError) {
        guard let uri: String = try row["back_channel_logout_uri"] else { return nil }
        self.init(uri: uri, isPublicOnly: try row["back_channel_public_only"])
    }
}

extension Transaction {
    /// A client has an endpoint as long as it has an address.
    func setLogoutEndpoint(of client: OpenIDClient) throws {
        let url = WebhookEndpoint.url(ofClient: client.id.rawValue)
        guard client.backChannelLogoutURI != nil else { return try deleteLogoutEndpoint(of: client.id) }
        // The cursor of an endpoint that is never behind: nothing is queued from the journal.
        try run(
            """
            INSERT INTO webhook_endpoint (url, added_at, cursor) VALUES (?, ?, \(Int64.max))
            ON CONFLICT (url) DO NOTHING
            """, [url, now])
    }

    func deleteLogoutEndpoint(of client: OpenIDClientID) throws {
        try run("DELETE FROM webhook_endpoint WHERE url = ?", [WebhookEndpoint.url(ofClient: client.rawValue)])
    }

    /// The client is told when the session ends.
    func recordParticipant(_ client: OpenIDClientID, in session: SessionID) throws {
        try run(
            "INSERT INTO openid_participant (session, client) VALUES (?, ?) ON CONFLICT (session, client) DO NOTHING",
            [session, client])
    }

    /// Queues the end of a session for each client that took part. Its journal entry is the last one written.
    ///
    /// Each session is a line of its own: a client that refuses one logout token still gets the others.
    func queueLogouts(ofSession session: SessionID) throws {
        try run(
            """
            INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at, next_attempt_at)
            SELECT w.id, \(WebhookQuery.lastSequence), c.session, ?2, ?2 FROM openid_participant c
            JOIN webhook_endpoint w ON w.url = '\(WebhookEndpoint.clientPrefix)' || c.client WHERE c.session = ?1
            """, [session, now])
        try run("DELETE FROM openid_participant WHERE session = ?", [session])
    }

    /// Queues the end of all that a person has at a client. The journal entry about it is the last one written.
    func queueLogout(of client: OpenIDClientID) throws {
        try run(
            """
            INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at, next_attempt_at)
            SELECT w.id, e.sequence, e.user || '/' || e.sequence, ?2, ?2 FROM webhook_endpoint w
            JOIN event e ON e.sequence = \(WebhookQuery.lastSequence) WHERE w.url = ?1
            """, [WebhookEndpoint.url(ofClient: client.rawValue), now])
    }
}
