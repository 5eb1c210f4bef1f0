package import Coding
package import Crypto
import Storage

/// An application's request to sign its visitor out (RP-Initiated Logout §2), as parsed.
package struct LogoutRequest: Sendable {
    private let fields: [FormField]

    private static let names = [
        "id_token_hint", "logout_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales",
    ]

    /// - Throws: `.badRequest` for a parameter that is given twice.
    package init(_ fields: [FormField]) throws(Failure) {
        for name in Self.names where fields.isRepeated(name) {
            throw Failure(.badRequest, "\(name) is given more than once")
        }
        self.fields = fields
    }

    subscript(name: String) -> String? { fields.value(name) }
}

package struct LogoutAnswer: Sendable {
    /// An address that is not registered, with its client: no one is signed out (§3, §4).
    package var refusal: (client: OpenIDClient, uri: String)?
    /// The person of a valid ID token, whose session may end without confirmation.
    package var user: UserID?
    /// Where the visitor goes afterwards; nil for a page of ours.
    package var location: String?
}

extension OpenIDProvider {
    /// - Returns: an empty answer without a valid ID token (§2, §4).
    package func logout(_ request: LogoutRequest) async throws(Failure) -> LogoutAnswer {
        guard let text = request["id_token_hint"],
            let hint = try await tokens.verify(hint: text, at: clock.now()),
            request["client_id"].map({ $0.isExactly(hint.client) }) ?? true
        else { return LogoutAnswer() }
        var answer = LogoutAnswer(user: hint.user)
        if let uri = request["post_logout_redirect_uri"], let client = try await storedClient(named: hint.client) {
            guard client.logoutURIs.contains(where: { $0.isExactly(uri) }) else {
                return LogoutAnswer(refusal: (client, uri))
            }
            answer.location =
                request["state"].map { AddressQuery.append("state=\(PercentEncoding.encodeComponent($0))", to: uri) }
                ?? uri
        }
        return answer
    }
}

/// Makes logout tokens (Back-Channel Logout §2.4): RS256, with the keys of ID tokens.
///
/// One cannot pass for an ID token, nor the reverse: the types differ, and a logout token has `events` and no `nonce`.
extension OpenIDProvider {
    /// How long one is valid, in seconds. Each delivery attempt makes its own.
    package static let logoutTokenLifetime: Int64 = 120

    /// - Parameter session: nil for all that the person has at the client.
    package func logoutToken(
        for client: String, of user: UserID, session: SessionID?, at now: Timestamp
    ) async throws(Failure) -> Secret {
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(client), "iat": .integer(now.seconds),
            "exp": .integer(now.seconds + Self.logoutTokenLifetime),
            "jti": .string(Base64URL.encode(random.bytes(16))), "sub": .string(user.rawValue),
            "events": .object(["http://schemas.openid.net/event/backchannel-logout": .object([:])]),
        ]
        // Without one, every session of the person at the client ends.
        if let session { claims["sid"] = .string(session.rawValue) }
        return Secret(try await tokens.sign(claims, type: "logout+jwt", at: now))
    }
}

// Back-Channel Logout §2.5: each client with an address for it has an endpoint in the queue of webhooks, and the end of a
// session puts its journal entry there for each client that took part.

extension LogoutAddress {
    /// Nil when the endpoint is not a client with an address.
    init?(_ row: Row) throws(StoreError) {
        guard let uri: String = try row["back_channel_logout_uri"] else { return nil }
        self.init(uri: uri, isPublicOnly: try row["back_channel_public_only"])
    }
}

extension Transaction {
    /// A client has an endpoint while it has an address.
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

    /// The client is notified when the session ends.
    func recordParticipant(_ client: OpenIDClientID, in session: SessionID) throws {
        try run(
            "INSERT INTO openid_participant (session, client) VALUES (?, ?) ON CONFLICT (session, client) DO NOTHING",
            [session, client])
    }

    /// Queues the end of a session, the last journal entry, for each client: one's refusal must not stop the others.
    func queueLogouts(ofSession session: SessionID) throws {
        try run(
            """
            INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at, next_attempt_at)
            SELECT w.id, \(WebhookQuery.lastSequence), c.session, ?2, ?2 FROM openid_participant c
            JOIN webhook_endpoint w ON w.url = '\(WebhookEndpoint.clientPrefix)' || c.client WHERE c.session = ?1
            """, [session, now])
        try run("DELETE FROM openid_participant WHERE session = ?", [session])
    }

    /// Queues the end of a person's grants at a client, the last journal entry written.
    func queueLogout(of client: OpenIDClientID) throws {
        try run(
            """
            INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at, next_attempt_at)
            SELECT w.id, e.sequence, e.user || '/' || e.sequence, ?2, ?2 FROM webhook_endpoint w
            JOIN event e ON e.sequence = \(WebhookQuery.lastSequence) WHERE w.url = ?1
            """, [WebhookEndpoint.url(ofClient: client.rawValue), now])
    }
}
