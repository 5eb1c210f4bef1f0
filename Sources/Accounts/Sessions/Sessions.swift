package import Coding
import Crypto
import Storage

extension Session {
    static let columns = Accounts.columns(
        "s.token_hash", "s.id", "s.kind", "s.user", "s.client_id", "s.user_agent", "s.address", "s.issued_at",
        "s.created_at", "s.last_seen_at", "s.expires_at")

    init(_ row: Row) throws(StoreError) {
        id = try row["s.id"]
        tokenHash = try row["s.token_hash"]
        kind = try row["s.kind"]
        user = try row["s.user"]
        clientID = try row["s.client_id"]
        device = Device(userAgent: try row["s.user_agent"], address: try row["s.address"])
        issuedAt = try row["s.issued_at"]
        createdAt = try row["s.created_at"]
        lastSeenAt = try row["s.last_seen_at"]
        expiresAt = try row["s.expires_at"]
    }
}

extension Snapshot {
    /// The live session of a token, with its user.
    func signedIn(_ token: Digest256) throws -> SignedIn? {
        let row = try firstRow(SignedIn.byToken, [token])
        guard let found = try row.map({ SignedIn(session: try Session($0), user: try User($0)) }) else { return nil }
        return now < context.sessionLimits.end(of: found.session) ? found : nil
    }
}

extension SignedIn {
    fileprivate static let byToken = """
        SELECT \(Session.columns), \(User.columns) FROM session s \
        JOIN user u ON u.id = s.user JOIN apple_identity i ON i.id = s.identity WHERE s.token_hash = ?
        """
}

extension Transaction {
    /// Ends the sessions selected by a condition on `s`, each with its event and invalidation; returns how many.
    @discardableResult
    func endSessions(where condition: String, _ arguments: StatementArguments, cause: SessionEndCause) throws -> Int {
        let ended = try rows("SELECT s.token_hash, s.id, s.user FROM session s WHERE \(condition)", arguments)
        for row in ended { try endSession(row, cause: cause) }
        return ended.count
    }

    /// - Parameter row: has `token_hash`, `id` and `user`.
    func endSession(_ row: Row, cause: SessionEndCause) throws {
        try endSession(try row["id"], token: try row["token_hash"], of: try row["user"], cause: cause)
    }

    func endSession(_ id: SessionID, token: Digest256, of user: UserID, cause: SessionEndCause) throws {
        claim(.session(id))
        try run("DELETE FROM session WHERE token_hash = ?", [token])
        try record(.sessionEnded, user: user, session: id, cause: cause)
        try queueLogouts(ofSession: id)
        try endGrants(ofSession: id)
        invalidate(.token(token))
    }

    /// Ends due sessions that have expired, and plans when to examine the others again.
    func examineSessions(atMost limit: Int) throws -> (seen: Int, changed: Int) {
        let due = try rows(
            """
            SELECT s.token_hash, s.id, s.user, s.last_seen_at, s.expires_at FROM session s WHERE s.examine_at <= ? LIMIT ?
            """, [now, limit])
        var ended = 0
        for row in due {
            let end = context.sessionLimits.end(lastSeenAt: try row["last_seen_at"], expiresAt: try row["expires_at"])
            if end <= now {
                try endSession(row, cause: .expired)
                ended += 1
            } else {
                let (token, next): (Digest256, Timestamp) = (try row["token_hash"], examination(ofSessionEnding: end))
                try run("UPDATE session SET examine_at = ? WHERE token_hash = ?", [next, token])
            }
        }
        return (due.count, ended)
    }

    /// At its end, and daily before: the idle timeout may be reduced.
    func examination(ofSessionEnding end: Timestamp) -> Timestamp { min(end, now.adding(seconds: 86_400)) }

    /// How many surplus sessions one sign-in ends at most; the next ones end the rest.
    private static let excess = 100

    /// The oldest sessions, beyond `sessions.perUser` with one more. To be read before that one is stored: a write that
    /// reads from a table it has changed cannot share its round trips (`PostgresReadAhead`).
    func surplusSessions(of user: UserID) throws -> [Row] {
        try rows(
            """
            SELECT token_hash, id, user FROM (SELECT token_hash, id, user,
            row_number() OVER (ORDER BY created_at DESC, id DESC) AS place FROM session WHERE user = ?) o
            WHERE o.place >= ? ORDER BY o.place DESC LIMIT \(Self.excess)
            """, [user, context.sessionLimits.perUser])
    }

    /// Ends all sessions of a user, and their OpenID grants.
    func endSessions(of user: UserID, cause: SessionEndCause) throws {
        try endSessions(where: "s.user = ?", [user], cause: cause)
        try endGrants(of: user)
    }
}

extension Database {
    /// Ends one session, of this user unless nil; false when there is none. Afterwards look-ups here refuse it.
    @discardableResult
    package func endSession(
        _ id: SessionID, of user: UserID? = nil, cause: SessionEndCause, at now: Timestamp
    ) async throws(Failure) -> Bool {
        try await write(at: now) { transaction in
            let ended =
                if let user {
                    try transaction.endSessions(where: "s.id = ? AND s.user = ?", [id, user], cause: cause)
                } else {
                    try transaction.endSessions(where: "s.id = ?", [id], cause: cause)
                }
            return ended > 0
        }
    }

    /// Ends the user's sessions except one, and returns the number ended. 0 for an unknown user.
    @discardableResult
    package func endSessions(
        of user: UserID, except kept: SessionID?, cause: SessionEndCause, at now: Timestamp
    ) async throws(Failure) -> Int {
        try await write(at: now) { transaction in
            try transaction.endSessions(where: "s.user = ? AND s.id IS DISTINCT FROM ?", [user, kept], cause: cause)
        }
    }

    /// Writes `lastSeenAt`; callers call it at most once per session and minute.
    package func touch(_ id: SessionID, at now: Timestamp) async throws(Failure) {
        try await attemptWrite(at: now) { transaction in
            transaction.claim(.session(id))
            try transaction.run("UPDATE session SET last_seen_at = ?1 WHERE id = ?2 AND last_seen_at < ?1", [now, id])
        }
    }
}
