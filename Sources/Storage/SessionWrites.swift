package import Coding
package import Crypto
package import RelyingParty

// Ending sessions, always with its event and its invalidation.
extension SQLiteConnection {
    /// Ends the sessions a condition on `s` selects.
    /// - Returns: how many there were.
    @discardableResult
    func endSessions(
        where condition: String, _ arguments: StatementArguments, cause: SessionEndCause, at now: Timestamp,
        identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws -> Int {
        let ended = try rows("SELECT s.token_hash, s.id, s.user FROM session s WHERE \(condition)", arguments)
        for row in ended {
            let token = try row.digest(0)
            try run("DELETE FROM session WHERE token_hash = ?", [token])
            try record(
                .sessionEnded, user: UserID(unchecked: try row.text(2)),
                session: SessionID(unchecked: try row.text(1)), cause: cause, at: now, identifiers: identifiers)
            effects.invalidations.append(.token(token))
        }
        return ended.count
    }
}

extension SQLiteConnection {
    /// The user's live sessions, newest first.
    func sessions(of user: UserID, limits: SessionLimits, at now: Timestamp) throws -> [Session] {
        try rows(
            """
            SELECT \(SessionColumns.list) FROM session s WHERE s.user = ?
            ORDER BY s.created_at DESC, s.id DESC
            """, [user.rawValue]
        )
        .map { try Session(row: $0) }
        .filter { now < limits.end(of: $0) }
    }
}

extension Database: SessionStore {
    package func signedIn(token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn? {
        let limits = options.sessionLimits
        return try await read { connection in
            guard let row = try connection.firstRow(SessionQuery.byToken, [token]) else { return nil }
            let found = try SignedIn(row: row)
            return now < limits.end(of: found.session) ? found : nil
        }
    }

    package func sessions(of user: UserID, at now: Timestamp) async throws(StoreError) -> [Session] {
        let limits = options.sessionLimits
        return try await read { connection in try connection.sessions(of: user, limits: limits, at: now) }
    }

    package func endSession(
        _ id: SessionID, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        let identifiers = identifiers
        return try await commits.write { connection, effects in
            try connection.endSessions(
                where: "s.id = ?", [id.rawValue], cause: cause, at: now, identifiers: identifiers, effects: &effects)
                > 0
        }
    }

    package func touch(_ id: SessionID, at now: Timestamp) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                "UPDATE session SET last_seen_at = ? WHERE id = ? AND last_seen_at < ?",
                [now.milliseconds, id.rawValue, now.milliseconds])
        }
    }
}

/// The one look-up of a session by its token, with its user and the identity it was made by.
enum SessionQuery {
    static let byToken = """
        SELECT \(SessionColumns.list), \(UserColumns.list) FROM session s \
        JOIN user u ON u.id = s.user JOIN apple_identity i ON i.id = s.identity WHERE s.token_hash = ?
        """
}

extension SignedIn {
    init(row: Row) throws(StoreError) {
        self.init(session: try Session(row: row), user: try User(row: row, from: SessionColumns.count))
    }
}
