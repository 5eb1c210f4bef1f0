package import Coding
import Storage

extension Database {
    /// Applies an answer, unless its credential no longer exists. A dead answer that makes a wave sets the brake and is
    /// held back, like all that follow.
    package func recordCheck(
        _ answer: CheckAnswer, of check: DueCheck, at now: Timestamp
    ) async throws(Failure) -> CheckOutcome {
        try await write(at: now) { transaction in
            // Concerns the client, even if the credential is gone.
            switch answer {
            case .alive: try transaction.endPause(of: check.clientID, before: check.askedAt)
            case .clientRefused(let detail, _): try transaction.pause(check, detail: detail)
            case .dead, .notMade: break
            }
            guard let credential = try transaction.markedCredential(check) else { return .superseded }
            let key: StatementArguments = [credential.identity, credential.clientID]
            switch answer {
            case .alive:
                try transaction.countAnswer(isDead: false)
                try transaction.run(
                    """
                    UPDATE apple_credential SET check_failures = 0 WHERE identity = ? AND client_id = ?
                    AND check_failures > 0
                    """, key)
                return .recorded
            case .notMade(let retryAt), .clientRefused(_, let retryAt):
                try transaction.run(
                    """
                    UPDATE apple_credential SET checked_at = NULL, next_check_at = ?3,
                    check_failures = check_failures + 1 WHERE identity = ?1 AND client_id = ?2
                    """, [credential.identity, credential.clientID, retryAt])
                return .recorded
            case .dead:
                try transaction.countAnswer(isDead: true)
                guard try transaction.mayApplyDead(of: check.clientID) else {
                    try transaction.run(
                        "UPDATE apple_credential SET held_back_at = ?3 WHERE identity = ?1 AND client_id = ?2",
                        [credential.identity, credential.clientID, now])
                    return .heldBack
                }
                return .died(credential.user, sessions: try transaction.endCredential(credential))
            }
        }
    }
}

/// A credential that Apple was asked about.
struct CheckedCredential {
    var identity: Int64
    var clientID: ClientID
    var issuedAt: Timestamp
    var user: UserID

    /// - Parameter row: columns `identity`, `client_id`, `issued_at` and `user`.
    init(_ row: Row) throws(StoreError) {
        identity = try row["identity"]
        clientID = try row["client_id"]
        issuedAt = try row["issued_at"]
        user = try row["user"]
    }
}

extension Transaction {
    /// Nil when it has changed since the mark: a sign-in removes the mark, a notification the token, a deletion the row.
    fileprivate func markedCredential(_ check: DueCheck) throws -> CheckedCredential? {
        try firstRow(
            """
            SELECT c.identity, c.client_id, c.issued_at, i.user
            FROM apple_identity i JOIN apple_credential c ON c.identity = i.id
            WHERE i.team = ? AND i.subject = ? AND c.client_id = ? AND c.checked_at = ? AND c.issued_at = ?
            AND c.sealed_refresh_token IS NOT NULL
            """, [check.team, check.subject, check.clientID, check.askedAt, check.issuedAt]
        ).map { try CheckedCredential($0) }
    }

    /// Ends the credential and its client's sessions up to it, ties included, and returns how many. Deletes nothing: a
    /// password change ends tokens too.
    func endCredential(_ dead: CheckedCredential) throws -> Int {
        try run(
            """
            UPDATE apple_credential SET sealed_refresh_token = NULL, state = 'revoked', cause = ?,
            next_check_at = NULL, held_back_at = NULL WHERE identity = ? AND client_id = ?
            """, [SessionEndCause.tokenDead, dead.identity, dead.clientID])
        let sessions = try endSessions(
            where: """
                s.user = (SELECT user FROM apple_identity WHERE id = ?1) AND s.identity = ?1 AND s.client_id = ?2
                AND s.issued_at <= ?3
                """, [dead.identity, dead.clientID, dead.issuedAt], cause: .tokenDead)
        if let user: UserID = try value("SELECT user FROM apple_identity WHERE id = ?", [dead.identity]) {
            try endGrants(of: user)
        }
        try applyDeadToken(ofIdentity: dead.identity)
        return sessions
    }

    // MARK: The brake

    fileprivate func countAnswer(isDead: Bool) throws {
        let minute = now.minute
        try run(
            "DELETE FROM credential_check WHERE minute <= ? OR minute >= ?",
            [minute - CheckGate.Brake.window, minute + CheckGate.Brake.window])
        try run(
            """
            INSERT INTO credential_check (minute, alive, dead) VALUES (?, ?, ?)
            ON CONFLICT (minute) DO UPDATE SET alive = credential_check.alive + excluded.alive,
            dead = credential_check.dead + excluded.dead
            """, [minute, isDead ? 0 : 1, isDead ? 1 : 0])
    }

    /// Whether a dead answer, already counted, may be applied; sets the brake when it makes a wave.
    fileprivate func mayApplyDead(of client: ClientID) throws -> Bool {
        let gate = try checkGate()
        // While Apple refuses our client credentials, its answer about a token cannot be trusted.
        guard gate.brake == nil, gate.pause(of: client) == nil else { return false }
        let counts = try checkCounts()
        let checks = counts.alive + counts.dead
        guard CheckGate.Brake.trips(dead: counts.dead, checks: checks) else { return true }
        guard try acceptsWaves() == nil else { return true }
        try run(
            """
            INSERT INTO credential_brake (id, since, dead, checks) VALUES (1, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET since = excluded.since, dead = excluded.dead, checks = excluded.checks,
            accepts_until = NULL
            """, [now, counts.dead, checks])
        return false
    }

    // MARK: The pause

    /// Begins a pause, or prolongs one that began before this check: checks in flight together are one refusal.
    fileprivate func pause(_ check: DueCheck, detail: String) throws {
        let known = try checkGate().pause(of: check.clientID)
        if let known, known.since >= check.askedAt { return }
        let attempts = (known?.attempts ?? 0) + 1
        try run(
            """
            INSERT INTO credential_pause (client_id, since, next_try_at, attempts, detail) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (client_id) DO UPDATE SET next_try_at = excluded.next_try_at, attempts = excluded.attempts,
            detail = excluded.detail
            """, [check.clientID, now, CheckGate.Pause.next(attempts: attempts, at: now), attempts, detail])
    }
}

extension Snapshot {
    /// The last hour's answers, and those up to an hour ahead: a clock set back must not make the brake forget.
    func checkCounts() throws -> (alive: Int, dead: Int) {
        let row = try firstRow(
            """
            SELECT coalesce(sum(alive), 0) AS alive, coalesce(sum(dead), 0) AS dead FROM credential_check
            WHERE minute > ? AND minute < ?
            """, [now.minute - CheckGate.Brake.window, now.minute + CheckGate.Brake.window])
        return try row.map { (try $0["alive"], try $0["dead"]) } ?? (0, 0)
    }

    /// Until when nothing is held back; nil otherwise.
    func acceptsWaves() throws -> Timestamp? {
        let end: Timestamp? = try value("SELECT accepts_until FROM credential_brake WHERE accepts_until IS NOT NULL")
        return end.flatMap { now < $0 && $0 <= now.adding(seconds: CheckGate.Brake.exemption) ? $0 : nil }
    }
}

extension Timestamp {
    /// Whole minutes since 1970, rounded down.
    fileprivate var minute: Int64 { (milliseconds - (milliseconds % 60_000 + 60_000) % 60_000) / 60_000 }
}
