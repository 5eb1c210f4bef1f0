package import Coding
package import RelyingParty

// Everybody's sessions, as the operator sees them.
extension Database {
    /// At most `limit` live sessions, newest first, after `cursor`; of one user, or of all.
    package func sessions(
        of user: UserID?, after cursor: SessionCursor?, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> SessionPage {
        try await read(at: now) { snapshot in
            var wanted = Conditions()
            let idleSince = now.adding(seconds: -snapshot.context.sessionLimits.idleTimeout)
            wanted.add("s.expires_at > ? AND s.last_seen_at > ?", [now, idleSince])
            if let user { wanted.add("s.user = ?", [user]) }
            if let cursor { wanted.add("(s.created_at, s.id) < (?, ?)", [cursor.createdAt, cursor.id]) }
            let (items, isLast) = try snapshot.page(
                """
                SELECT \(Session.columns) FROM session s \(wanted.clause) ORDER BY s.created_at DESC, s.id DESC LIMIT ?
                """, wanted.arguments, limit: limit
            ) { try Session($0) }
            let last = isLast ? nil : items.last
            return SessionPage(items: items, next: last.map { SessionCursor(createdAt: $0.createdAt, id: $0.id) })
        }
    }

    /// How many sessions there are, ended ones included that nobody has deleted yet.
    package func sessionCount() async throws(StoreError) -> Int {
        try await readCounting { snapshot in try snapshot.count("SELECT count(*) FROM session") }
    }

    /// Ends every session that exists at `now`, in transactions of a few hundred, so that a server waits for none of
    /// them long. Sessions created in the meantime stay.
    /// - Parameter progress: told after each transaction how many it has ended.
    /// - Returns: how many were ended.
    package func endAllSessions(
        cause: SessionEndCause, at now: Timestamp, progress: (Int) -> Void = { _ in }
    ) async throws(StoreError) -> Int {
        try await inPieces(at: now, progress: progress) { transaction, limit in
            try transaction.endSessions(
                where: "s.token_hash IN (SELECT token_hash FROM session WHERE created_at <= ? LIMIT ?)",
                [now, limit], cause: cause)
        }
    }
}
