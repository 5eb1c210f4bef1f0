package import Coding
package import RelyingParty

extension Database {
    package func accountRecord(of id: UserID, at now: Timestamp) async throws(StoreError) -> AccountRecord? {
        try await read(at: now) { snapshot in
            guard let user = try snapshot.user(id),
                let changes = try snapshot.firstRow("SELECT updated_at, email_event_at FROM user WHERE id = ?", [id])
            else { return nil }
            let limit = AccountRecord.limit
            let notifications = try snapshot.page(
                """
                SELECT type, client_id, event_time, received_at, outcome FROM notification
                WHERE subject IN (SELECT subject FROM apple_identity WHERE user = ?)
                ORDER BY received_at DESC, jti DESC LIMIT ?
                """, [id], limit: limit
            ) { row in
                AccountRecord.Notification(
                    type: try row["type"], clientID: try row["client_id"], eventTime: try row["event_time"],
                    receivedAt: try row["received_at"], outcome: try row["outcome"])
            }
            let events = try snapshot.page(
                "SELECT \(JournalEntry.columns) FROM event e WHERE e.user = ? ORDER BY e.sequence DESC LIMIT ?", [id],
                limit: limit
            ) { try JournalEntry($0) }
            return AccountRecord(
                user: user, updatedAt: try changes["updated_at"],
                emailForwardingChangedAt: try changes["email_event_at"], identities: try snapshot.identities(of: id),
                sessions: try snapshot.sessions(of: id, by: .newest, after: nil, limit: limit).items,
                programs: try snapshot.programs(of: id),
                participants: try snapshot.participants(of: id),
                notifications: notifications.items.reversed(),
                events: events.items.reversed(), isComplete: notifications.isLast && events.isLast)
        }
    }

    package func identities(of user: UserID) async throws(StoreError) -> [AccountRecord.Identity]? {
        try await read { snapshot in
            let identities = try snapshot.identities(of: user)
            return identities.isEmpty ? nil : identities
        }
    }
}

extension Snapshot {
    fileprivate func identities(of user: UserID) throws -> [AccountRecord.Identity] {
        try rows(
            """
            SELECT i.id, i.team, i.subject, i.transfer_subject, \(CredentialStatus.columns), i.last_sign_in_issued_at,
            i.created_at, f.saved_at, f.given_name, f.family_name, i.moved_to IS NOT NULL AS has_moved
            FROM apple_identity i LEFT JOIN first_consent f ON f.team = i.team AND f.subject = i.subject
            WHERE i.user = ? ORDER BY i.id
            """, [user]
        ).map { row in
            let unfinishedSince: Timestamp? = try row["saved_at"]
            let name = PersonName(given: try row["given_name"], family: try row["family_name"])
            return AccountRecord.Identity(
                team: try row["team"], subject: try row["subject"], transferSubject: try row["transfer_subject"],
                credential: try CredentialStatus(row), lastSignInAt: try row["last_sign_in_issued_at"],
                createdAt: try row["created_at"], credentials: try credentials(of: row["id"]),
                hasMoved: try row["has_moved"], unfinishedName: unfinishedSince == nil ? nil : name,
                unfinishedSince: unfinishedSince)
        }
    }

    fileprivate func programs(of user: UserID) throws -> [AccountRecord.Program] {
        try rows(
            """
            SELECT client, scopes, redirect_uri, session, authenticated_at, expires_at,
            refresh_hash IS NOT NULL AS is_offline FROM openid_grant WHERE user = ? ORDER BY id
            """, [user]
        ).map { row in
            let scopes: TextList = try row["scopes"]
            return AccountRecord.Program(
                clientID: try row["client"], scopes: scopes.items, redirectURI: try row["redirect_uri"],
                session: try row["session"], signedInAt: try row["authenticated_at"],
                expiresAt: try row["expires_at"], isOffline: try row["is_offline"])
        }
    }

    fileprivate func participants(of user: UserID) throws -> [AccountRecord.Participant] {
        try rows(
            """
            SELECT p.client, p.session FROM openid_participant p JOIN session s ON s.id = p.session WHERE s.user = ?
            ORDER BY p.session, p.client
            """, [user]
        ).map { row in AccountRecord.Participant(clientID: try row["client"], session: try row["session"]) }
    }

    private func credentials(of identity: Int64) throws -> [AccountRecord.Credential] {
        try rows(
            """
            SELECT client_id, state, cause, issued_at, sealed_refresh_token IS NOT NULL AS holds_token
            FROM apple_credential WHERE identity = ? ORDER BY client_id
            """, [identity]
        ).map { row in
            AccountRecord.Credential(
                clientID: try row["client_id"], state: try row["state"], cause: try row["cause"],
                issuedAt: try row["issued_at"], holdsToken: try row["holds_token"])
        }
    }
}
