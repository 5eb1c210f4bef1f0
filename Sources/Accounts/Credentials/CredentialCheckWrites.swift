package import Coding
import Storage

// Queries and marks of the daily checks.
extension Database {
    /// Whether anything is to be planned or checked. Only reads, through indexes.
    package func checkWork(
        _ scope: CheckScope, at now: Timestamp
    ) async throws(Failure) -> (hasDue: Bool, gate: CheckGate) {
        try await read(at: now) { snapshot in
            let gate = try snapshot.checkGate()
            guard gate.brake == nil else { return (false, gate) }
            let hasDue = try scope.clients.contains { client in
                try snapshot.hasPlanning(client)
                    || gate.mayAsk(client, at: now)
                        && snapshot.exists(
                            "SELECT 1 FROM apple_credential WHERE client_id = ? AND next_check_at <= ? LIMIT 1",
                            [client, now])
            }
            return (hasDue, gate)
        }
    }

    /// Plans unplanned credentials, and returns at most `limit` that are due, the longest waiting first. Each is marked
    /// before this returns and is not due again for a day: even if the process dies, Apple is asked at most once. Returns
    /// none while the brake is on, and one of a refused client when its next attempt is due.
    package func beginChecks(
        _ scope: CheckScope, limit: Int, schedule: CheckSchedule, at now: Timestamp
    ) async throws(Failure) -> [DueCheck] {
        try await write(at: now) { transaction in
            let gate = try transaction.checkGate()
            for client in scope.clients { try transaction.planChecks(client, schedule: schedule) }
            guard gate.brake == nil else { return [] }
            var waiting: [WaitingCheck] = []
            for client in scope.clients where gate.mayAsk(client, at: now) {
                let isPaused = gate.pause(of: client) != nil
                waiting += try transaction.waitingChecks(client, limit: isPaused ? 1 : limit)
            }
            waiting.sort { $0.dueAt < $1.dueAt }
            var begun: [DueCheck] = []
            for check in waiting.prefix(limit) {
                guard let due = try transaction.begin(check, team: scope.team, schedule: schedule) else { continue }
                // Marked like the credential: a process that dies while asking has used this attempt.
                if let pause = gate.pause(of: due.clientID) {
                    try transaction.run(
                        "UPDATE credential_pause SET next_try_at = ? WHERE client_id = ?",
                        [CheckGate.Pause.next(attempts: pause.attempts, at: now), due.clientID])
                }
                begun.append(due)
            }
            return begun
        }
    }
}

extension CheckGate {
    func pause(of client: ClientID) -> Pause? { pauses.first { $0.clientID.rawValue.isExactly(client.rawValue) } }

    /// Whether Apple may be asked about this client's credentials: always, or once when the next attempt is due.
    fileprivate func mayAsk(_ client: ClientID, at now: Timestamp) -> Bool {
        pause(of: client).map { $0.isDue(at: now) } ?? true
    }
}

/// A credential that is due, not yet marked.
private typealias WaitingCheck = (check: DueCheck, identity: Int64, dueAt: Timestamp, checkedAt: Timestamp?)

extension Snapshot {
    func checkGate() throws -> CheckGate {
        var gate = CheckGate()
        if let row = try firstRow("SELECT since, dead, checks FROM credential_brake WHERE since IS NOT NULL") {
            gate.brake = CheckGate.Brake(since: try row["since"], dead: try row["dead"], checks: try row["checks"])
        }
        gate.pauses = try rows(
            "SELECT client_id, since, next_try_at, attempts, detail FROM credential_pause ORDER BY client_id"
        ).map { row in
            CheckGate.Pause(
                clientID: try row["client_id"], since: try row["since"], nextTryAt: try row["next_try_at"],
                attempts: try row["attempts"], detail: try row["detail"])
        }
        return gate
    }

    /// Whether some of this client's credentials have no plan, or one from before the clock was set back.
    fileprivate func hasPlanning(_ client: ClientID) throws -> Bool {
        try exists(
            """
            SELECT 1 FROM apple_credential
            WHERE client_id = ? AND next_check_at IS NULL AND sealed_refresh_token IS NOT NULL LIMIT 1
            """, [client])
            || exists(
                "SELECT 1 FROM apple_credential WHERE client_id = ? AND next_check_at > ? LIMIT 1",
                [client, now.adding(seconds: CheckSchedule.horizon)])
    }
}

extension Transaction {
    /// The most credentials planned in one transaction.
    private static var planningBatch: Int { 500 }

    fileprivate func planChecks(_ client: ClientID, schedule: CheckSchedule) throws {
        // Imported, or older than the checks: checked within a day, in no order.
        for row in try rows(
            """
            SELECT identity FROM apple_credential
            WHERE client_id = ? AND next_check_at IS NULL AND sealed_refresh_token IS NOT NULL LIMIT ?
            """, [client, Self.planningBatch])
        {
            try plan(try row["identity"], client, at: schedule.unplanned(at: now))
        }
        // The last check is unknown by this clock; a day from now is late enough.
        for row in try rows(
            "SELECT identity FROM apple_credential WHERE client_id = ? AND next_check_at > ? LIMIT ?",
            [client, now.adding(seconds: CheckSchedule.horizon), Self.planningBatch])
        {
            try plan(try row["identity"], client, at: schedule.afterSignIn(at: now))
        }
    }

    private func plan(_ identity: Int64, _ client: ClientID, at moment: Timestamp) throws {
        try run(
            "UPDATE apple_credential SET next_check_at = ? WHERE identity = ? AND client_id = ?",
            [moment, identity, client])
    }

    fileprivate func waitingChecks(_ client: ClientID, limit: Int) throws -> [WaitingCheck] {
        try rows(
            """
            SELECT c.identity, i.team, i.subject, c.issued_at, c.sealed_refresh_token, c.check_failures,
            c.next_check_at, c.checked_at FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
            WHERE c.client_id = ? AND c.next_check_at <= ? ORDER BY c.next_check_at LIMIT ?
            """, [client, now, limit]
        ).map { row in
            let check = DueCheck(
                team: try row["team"], subject: try row["subject"], clientID: client, issuedAt: try row["issued_at"],
                sealedRefreshToken: try row["sealed_refresh_token"] ?? [], askedAt: now,
                failures: try row["check_failures"])
            return (check, try row["identity"], try row["next_check_at"], try row["checked_at"])
        }
    }

    /// Marks a credential as asked about; nil when it must not be asked about today after all.
    fileprivate func begin(_ waiting: WaitingCheck, team: TeamID, schedule: CheckSchedule) throws -> DueCheck? {
        let check = waiting.check
        if check.sealedRefreshToken.isEmpty {
            // Already dead; its plan was left behind.
            try run(
                "UPDATE apple_credential SET next_check_at = NULL WHERE identity = ? AND client_id = ?",
                [waiting.identity, check.clientID])
            return nil
        }
        // The app has left this team: our key cannot ask about it.
        guard check.team.rawValue.isExactly(team.rawValue) else {
            try plan(waiting.identity, check.clientID, at: schedule.afterCheck(at: now))
            return nil
        }
        // Whatever the plan says, a day passes between two checks. A check in the future is from before the clock was
        // set back.
        if let last = waiting.checkedAt, last <= now, last.adding(seconds: CheckSchedule.interval) > now {
            try plan(waiting.identity, check.clientID, at: schedule.afterCheck(at: last))
            return nil
        }
        try run(
            """
            UPDATE apple_credential SET checked_at = ?, next_check_at = ?, held_back_at = NULL
            WHERE identity = ? AND client_id = ?
            """, [now, schedule.afterCheck(at: now), waiting.identity, check.clientID])
        return check
    }

    /// Apple accepted a code of this client in a sign-in that began after it had refused us: it accepts us again.
    func endPause(of client: ClientID, before moment: Timestamp) throws {
        try run("DELETE FROM credential_pause WHERE client_id = ? AND since < ?", [client, moment])
    }
}
