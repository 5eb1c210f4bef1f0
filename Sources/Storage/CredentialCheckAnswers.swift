package import Coding
package import RelyingParty

extension Database {
    package func recordCheck(
        _ answer: CheckAnswer, of check: DueCheck, at now: Timestamp
    ) async throws(StoreError) -> CheckOutcome {
        let identifiers = identifiers
        return try await commits.write { connection, effects in
            // About the client, whatever became of the credential.
            switch answer {
            case .alive: try connection.endPause(of: check.clientID, before: check.askedAt)
            case .clientRefused(let detail, _): try connection.pause(check, detail: detail, at: now)
            case .dead, .notMade: break
            }
            guard let user = try connection.userOfMarked(check) else { return .superseded }
            switch answer {
            case .alive:
                try connection.count(isDead: false, at: now)
                try connection.run(
                    """
                    UPDATE apple_credential SET check_failures = 0 WHERE identity = ? AND client_id = ?
                    AND check_failures > 0
                    """, [check.identity, check.clientID.rawValue])
                return .noted
            case .notMade(let retryAt), .clientRefused(_, let retryAt):
                try connection.run(
                    """
                    UPDATE apple_credential SET checked_at = NULL, next_check_at = ?,
                    check_failures = check_failures + 1 WHERE identity = ? AND client_id = ?
                    """, [retryAt.milliseconds, check.identity, check.clientID.rawValue])
                return .noted
            case .dead:
                try connection.count(isDead: true, at: now)
                guard try connection.mayApplyDead(of: check.clientID, at: now) else {
                    try connection.run(
                        "UPDATE apple_credential SET held_back_at = ? WHERE identity = ? AND client_id = ?",
                        [now.milliseconds, check.identity, check.clientID.rawValue])
                    return .heldBack
                }
                let sessions = try connection.endCredential(
                    DeadCredential(check, user: user), at: now, identifiers: identifiers, effects: &effects)
                return .died(user, sessions: sessions)
            }
        }
    }
}

/// A credential that Apple no longer knows.
struct DeadCredential {
    var identity: Int64
    var clientID: ClientID
    var issuedAt: Timestamp
    var user: UserID

    init(identity: Int64, clientID: ClientID, issuedAt: Timestamp, user: UserID) {
        self.identity = identity
        self.clientID = clientID
        self.issuedAt = issuedAt
        self.user = user
    }

    init(_ check: DueCheck, user: UserID) {
        self.init(identity: check.identity, clientID: check.clientID, issuedAt: check.issuedAt, user: user)
    }
}

extension SQLiteConnection {
    /// Whose credential it is; nil unless it still is the one that was asked about: a sign-in takes the mark away, a
    /// notification the token, a deletion the row.
    fileprivate func userOfMarked(_ check: DueCheck) throws -> UserID? {
        try firstRow(
            """
            SELECT i.user FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
            WHERE c.identity = ? AND c.client_id = ? AND c.checked_at = ? AND c.issued_at = ?
            AND c.sealed_refresh_token IS NOT NULL
            """,
            [
                check.identity, check.clientID.rawValue, check.askedAt.milliseconds, check.issuedAt.milliseconds,
            ]
        ).map { UserID(unchecked: try $0.text(0)) }
    }

    /// Ends what the credential carried: the sessions its client's sign-ins made up to it, ties included. A password
    /// change ends tokens too: nothing is deleted for it.
    /// - Returns: how many sessions ended.
    func endCredential(
        _ dead: DeadCredential, at now: Timestamp, identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws -> Int {
        try run(
            """
            UPDATE apple_credential SET sealed_refresh_token = NULL, state = 'revoked', cause = ?,
            next_check_at = NULL, held_back_at = NULL WHERE identity = ? AND client_id = ?
            """, [SessionEndCause.tokenDead.rawValue, dead.identity, dead.clientID.rawValue])
        let sessions = try endSessions(
            where: "s.identity = ? AND s.client_id = ? AND s.issued_at <= ?",
            [dead.identity, dead.clientID.rawValue, dead.issuedAt.milliseconds], cause: .tokenDead, at: now,
            identifiers: identifiers, effects: &effects)
        try applyDeadToken(ofIdentity: dead.identity, at: now, identifiers: identifiers, effects: &effects)
        return sessions
    }

    // MARK: The brake

    fileprivate func count(isDead: Bool, at now: Timestamp) throws {
        let minute = now.minute
        try run(
            "DELETE FROM credential_check WHERE minute <= ? OR minute >= ?",
            [minute - CheckBrake.window, minute + CheckBrake.window])
        try run(
            """
            INSERT INTO credential_check (minute, alive, dead) VALUES (?, ?, ?)
            ON CONFLICT (minute) DO UPDATE SET alive = alive + excluded.alive, dead = dead + excluded.dead
            """, [minute, isDead ? 0 : 1, isDead ? 1 : 0])
    }

    /// The last hour's answers. What lies ahead by less than an hour is counted too: a clock that was set back a little
    /// must not make the brake forget.
    func checkCounts(at now: Timestamp) throws -> (alive: Int, dead: Int) {
        let row = try firstRow(
            """
            SELECT coalesce(sum(alive), 0), coalesce(sum(dead), 0) FROM credential_check
            WHERE minute > ? AND minute < ?
            """, [now.minute - CheckBrake.window, now.minute + CheckBrake.window])
        return (Int(row?[0] as Int64? ?? 0), Int(row?[1] as Int64? ?? 0))
    }

    /// Until when nothing is held back, if that is so now.
    func acceptsWaves(at now: Timestamp) throws -> Timestamp? {
        guard let row = try firstRow("SELECT accepts_until FROM credential_brake WHERE accepts_until IS NOT NULL")
        else { return nil }
        let end = try row.moment(0)
        return now < end && end <= now.adding(seconds: CheckBrake.exemption) ? end : nil
    }

    /// Whether a dead answer, counted already, may be applied; puts the brake on when it makes a wave.
    fileprivate func mayApplyDead(of client: ClientID, at now: Timestamp) throws -> Bool {
        let gate = try checkGate()
        // Refused as a client, we cannot tell what Apple says of a token.
        guard gate.brake == nil, gate.pause(of: client) == nil else { return false }
        let counts = try checkCounts(at: now)
        let checks = counts.alive + counts.dead
        guard CheckBrake.trips(dead: counts.dead, checks: checks) else { return true }
        guard try acceptsWaves(at: now) == nil else { return true }
        try run(
            """
            INSERT INTO credential_brake (id, since, dead, checks) VALUES (1, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET since = excluded.since, dead = excluded.dead, checks = excluded.checks,
            accepts_until = NULL
            """, [now.milliseconds, counts.dead, checks])
        return false
    }

    // MARK: The pause

    /// Begins a pause, or prolongs it when this check was asked after it had begun: those in flight together are one
    /// refusal.
    fileprivate func pause(_ check: DueCheck, detail: String, at now: Timestamp) throws {
        let known = try checkGate().pause(of: check.clientID)
        if let known, known.since >= check.askedAt { return }
        let attempts = (known?.attempts ?? 0) + 1
        try run(
            """
            INSERT INTO credential_pause (client_id, since, next_try_at, attempts, detail) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (client_id) DO UPDATE SET next_try_at = excluded.next_try_at, attempts = excluded.attempts,
            detail = excluded.detail
            """,
            [
                check.clientID.rawValue, now.milliseconds, CheckPause.next(attempts: attempts, at: now).milliseconds,
                attempts, detail,
            ])
    }
}

extension Timestamp {
    /// Whole minutes since 1970, rounded down.
    fileprivate var minute: Int64 { (milliseconds - (milliseconds % 60_000 + 60_000) % 60_000) / 60_000 }
}
