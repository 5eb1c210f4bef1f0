package import Coding
package import Crypto

@testable package import Accounts
@testable import Storage

/// What tests put into the database by hand, and read there.
extension TestDatabase {
    /// Whoever had the user's Apple identity before is gone.
    package func put(_ user: User) {
        change(at: user.createdAt) { transaction in
            try transaction.run(
                "DELETE FROM user WHERE id <> ? AND id IN (SELECT user FROM apple_identity WHERE team = ? AND subject = ?)",
                [user.id, Self.team, user.appleSubject])
            try transaction.run(
                """
                INSERT INTO user (id, state, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
                ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at
                """, [user.id, user.state, user.createdAt])
            try transaction.update(user)
            try transaction.run(
                """
                INSERT INTO apple_identity (user, team, subject, credential_state, last_sign_in_issued_at, created_at)
                SELECT ?1, ?2, ?3, ?4, ?5, ?5 WHERE NOT EXISTS (SELECT 1 FROM apple_identity WHERE user = ?1)
                """, [user.id, Self.team, user.appleSubject, CredentialState.authorized, user.createdAt])
            let credential = user.identityCredential
            try transaction.run(
                """
                UPDATE apple_identity SET subject = ?, credential_state = ?, credential_changed_at = ?,
                credential_cause = ? WHERE user = ?
                """, [user.appleSubject, credential.state, credential.changedAt, credential.cause, user.id])
        }
    }

    /// Of somebody who is there.
    package func put(_ session: Session) {
        change(at: session.createdAt) { transaction in
            try transaction.run(
                """
                INSERT OR REPLACE INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at,
                created_at, last_seen_at, expires_at)
                SELECT ?1, ?2, ?3, ?4, min(i.id), ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM apple_identity i WHERE i.user = ?4
                """,
                [
                    session.tokenHash, session.id, session.kind, session.user, session.clientID,
                    session.device.userAgent, session.device.address, session.issuedAt, session.createdAt,
                    session.lastSeenAt, session.expiresAt,
                ])
        }
    }

    /// With the hash of its token.
    package func put(_ key: APIKey, hash: Digest256) {
        change(at: key.createdAt) { transaction in
            try transaction.run(
                """
                INSERT OR REPLACE INTO api_key (id, hash, name, scopes, created_at, expires_at, revoked_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    key.id, hash, key.name, TextList(key.scopes), key.createdAt, key.expiresAt,
                    key.revokedAt,
                ])
        }
    }

    /// Gives everybody so many refresh tokens, each of another client.
    package func giveTokens(_ count: Int) {
        change { transaction in
            for number in 0..<count {
                try transaction.run(
                    """
                    INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state)
                    SELECT id, ?, ?, created_at, ? FROM apple_identity
                    """, [ClientID("com.example.\(number)"), [UInt8]([1]), CredentialState.authorized])
            }
        }
    }

    package var users: [User] {
        change { transaction in
            let ids: [UserID] = try transaction.rows("SELECT id FROM user ORDER BY created_at, id").map { try $0["id"] }
            return try ids.compactMap { try transaction.user($0) }
        }
    }

    package func user(_ id: UserID) -> User? { change { try $0.user(id) } }

    /// Changes somebody who is there.
    package func update(_ id: UserID, _ change: (inout User) -> Void) {
        guard var user = user(id) else { return }
        change(&user)
        put(user)
    }

    /// An event as a change of somebody writes it.
    package func put(
        _ kind: JournalEntry.Kind, of user: UserID, session: SessionID? = nil, cause: SessionEndCause? = nil,
        fields: [String] = [], at now: Timestamp
    ) {
        change(at: now) { try $0.record(kind, user: user, session: session, cause: cause, fields: fields) }
    }

    /// The oldest events, in their order.
    package var events: [JournalEntry] {
        get async throws(Failure) { try await store.events(after: nil, limit: 1_000) }
    }

    /// Whether they have ended or not.
    package var sessions: [Session] {
        change { transaction in
            try transaction.rows("SELECT \(Session.columns) FROM session s ORDER BY s.created_at, s.id")
                .map { try Session($0) }
        }
    }

    /// The sessions that were ended, and why, in the order of their events.
    package var ended: [(session: SessionID, cause: SessionEndCause)] {
        change { transaction in
            try transaction.rows(
                "SELECT session, cause FROM event WHERE type = ? ORDER BY sequence", [JournalEntry.Kind.sessionEnded]
            ).map { (try $0["session"], try $0["cause"]) }
        }
    }
}

extension Accounts.Database {
    /// At most `limit` entries of the journal after `id`, in the order of commits; from the first when nil or no longer
    /// kept.
    package func events(after id: EventID?, limit: Int) async throws(Failure) -> [JournalEntry] {
        try await read { snapshot in
            let sequence = try id.flatMap { try snapshot.sequence(of: $0) } ?? 0
            return try snapshot.rows(
                "SELECT \(JournalEntry.columns) FROM event e WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?",
                [sequence, limit]
            ).map { try JournalEntry($0) }
        }
    }
}
