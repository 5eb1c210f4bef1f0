package import Coding
package import RelyingParty

extension Database {
    package func accountRecord(of id: UserID, at now: Timestamp) async throws(StoreError) -> AccountRecord? {
        let limits = options.sessionLimits
        return try await read { connection in
            guard let user = try connection.user(id) else { return nil }
            let changes = try connection.firstRow(
                "SELECT updated_at, email_event_at FROM user WHERE id = ?", [id.rawValue])
            let identities = try connection.identities(of: id)
            let sessions = try connection.sessions(of: id, limits: limits, at: now)
            // One more than is shown tells whether that is all.
            let notifications = try connection.notifications(of: id, limit: AccountRecord.limit + 1)
            let events = try connection.events(of: id, limit: AccountRecord.limit + 1)
            return AccountRecord(
                user: user, updatedAt: (changes?[0] as Int64?).map { Timestamp(milliseconds: $0) },
                emailForwardingChangedAt: (changes?[1] as Int64?).map { Timestamp(milliseconds: $0) },
                identities: identities, sessions: sessions,
                notifications: notifications.suffix(AccountRecord.limit), events: events.suffix(AccountRecord.limit),
                isComplete: notifications.count <= AccountRecord.limit && events.count <= AccountRecord.limit)
        }
    }
}

extension Database {
    package func identities(of user: UserID) async throws(StoreError) -> [AccountRecord.Identity]? {
        try await read { connection in
            let identities = try connection.identities(of: user)
            return identities.isEmpty ? nil : identities
        }
    }
}

extension SQLiteConnection {
    fileprivate func identities(of user: UserID) throws -> [AccountRecord.Identity] {
        try rows(
            """
            SELECT i.id, i.team, i.subject, i.transfer_subject, \(CredentialColumns.list), i.last_sign_in_issued_at,
            i.created_at, f.saved_at, f.given_name, f.family_name, i.moved_to IS NOT NULL FROM apple_identity i
            LEFT JOIN first_consent f ON f.team = i.team AND f.subject = i.subject WHERE i.user = ? ORDER BY i.id
            """, [user.rawValue]
        ).map { row in
            var unfinishedName: PersonName?
            if !row.hasNull(atIndex: 9) {
                unfinishedName = PersonName(given: row[10] as String?, family: row[11] as String?)
            }
            return AccountRecord.Identity(
                team: TeamID(try row.text(1)), subject: AppleSubject(try row.text(2)),
                transferSubject: row[3] as String?, credential: try CredentialStatus(row: row, from: 4),
                lastSignInAt: try row.moment(7), createdAt: try row.moment(8),
                credentials: try credentials(of: row[0] as Int64? ?? 0), hasMoved: row[12] as Bool? ?? false,
                unfinishedName: unfinishedName,
                unfinishedSince: row.hasNull(atIndex: 9) ? nil : try row.moment(9))
        }
    }

    private func credentials(of identity: Int64) throws -> [AccountRecord.Credential] {
        try rows(
            """
            SELECT client_id, state, cause, issued_at, sealed_refresh_token IS NOT NULL FROM apple_credential
            WHERE identity = ? ORDER BY client_id
            """, [identity]
        ).map { row in
            AccountRecord.Credential(
                clientID: ClientID(try row.text(0)), state: try row.text(1), cause: row[2] as String?,
                issuedAt: try row.moment(3), holdsToken: row[4] as Bool? ?? false)
        }
    }

    fileprivate func notifications(of user: UserID, limit: Int) throws -> [AccountRecord.Notification] {
        try rows(
            """
            SELECT type, client_id, event_time, received_at, outcome FROM notification
            WHERE subject IN (SELECT subject FROM apple_identity WHERE user = ?)
            ORDER BY received_at DESC, jti DESC LIMIT ?
            """, [user.rawValue, limit]
        ).reversed().map { row in
            AccountRecord.Notification(
                type: try row.text(0), clientID: ClientID(try row.text(1)), eventTime: try row.moment(2),
                receivedAt: try row.moment(3), outcome: try row.text(4))
        }
    }

    fileprivate func events(of user: UserID, limit: Int) throws -> [JournalEntry] {
        try rows(
            "SELECT \(JournalEntry.columns) FROM event e WHERE e.user = ? ORDER BY e.sequence DESC LIMIT ?",
            [user.rawValue, limit]
        ).reversed().map { try JournalEntry(row: $0) }
    }
}
