package import Coding
package import RelyingParty

// Sessions of everybody, as the operator sees them.
extension Database {
    /// At most `limit` live sessions, newest first, after `cursor`; of one user, or of all.
    package func sessions(
        of user: UserID?, after cursor: SessionCursor?, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> SessionPage {
        let idleSince = now.adding(seconds: -options.sessionLimits.idleTimeout).milliseconds
        return try await read { connection in
            var conditions = ["s.expires_at > ?", "s.last_seen_at > ?"]
            var arguments: StatementArguments = [now.milliseconds, idleSince]
            if let user {
                conditions.append("s.user = ?")
                arguments += [user.rawValue]
            }
            if let cursor {
                conditions.append("(s.created_at, s.id) < (?, ?)")
                arguments += [cursor.createdAt.milliseconds, cursor.id.rawValue]
            }
            arguments += [limit + 1]
            let rows = try connection.rows(
                """
                SELECT \(SessionColumns.list) FROM session s WHERE \(conditions.joined(separator: " AND "))
                ORDER BY s.created_at DESC, s.id DESC LIMIT ?
                """, arguments)
            let items = try rows.prefix(limit).map { try Session(row: $0) }
            let last = rows.count > limit ? items.last : nil
            return SessionPage(items: items, next: last.map { SessionCursor(createdAt: $0.createdAt, id: $0.id) })
        }
    }

    /// Ends every session there is at `now`, in transactions of some hundred each: a server beside it waits for none of
    /// them long. Sessions made meanwhile stay.
    /// - Returns: how many were ended.
    package func endAllSessions(cause: SessionEndCause, at now: Timestamp) async throws(StoreError) -> Int {
        let identifiers = identifiers
        let limit = Self.maintenanceBatch
        var total = 0
        while true {
            let count = try await commits.write { connection, effects in
                try connection.endSessions(
                    where: "s.token_hash IN (SELECT token_hash FROM session WHERE created_at <= ? LIMIT ?)",
                    [now.milliseconds, limit], cause: cause, at: now, identifiers: identifiers, effects: &effects)
            }
            total += count
            if count < limit { return total }
        }
    }
}

// People by their address, to look at and nothing else: an address proves nothing and belongs to several.
extension Database {
    /// At most `limit` users with this address, ASCII case aside, oldest first.
    package func users(email: String, limit: Int) async throws(StoreError) -> [User] {
        try await read { connection in
            try connection.rows(
                "\(UserQuery.one) WHERE u.email = ? COLLATE NOCASE ORDER BY u.created_at, u.id LIMIT ?",
                [email, limit]
            ).map { try User(row: $0) }
        }
    }
}
