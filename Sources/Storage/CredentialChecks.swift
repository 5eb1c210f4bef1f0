package import Coding
package import RelyingParty

extension Database: CredentialCheckStore {
    package func checkWork(_ scope: CheckScope, at now: Timestamp) async throws(StoreError) -> CheckWork {
        try await read { connection in
            let gate = try connection.checkGate()
            guard gate.brake == nil else { return CheckWork(hasDue: false, gate: gate) }
            let hasDue = try scope.clients.contains { client in
                try connection.hasPlanning(client, at: now)
                    || gate.mayAsk(client, at: now) && connection.hasDueCheck(client, at: now)
            }
            return CheckWork(hasDue: hasDue, gate: gate)
        }
    }

    package func beginChecks(
        _ scope: CheckScope, limit: Int, schedule: CheckSchedule, at now: Timestamp
    ) async throws(StoreError) -> [DueCheck] {
        try await commits.write { connection, _ in
            let gate = try connection.checkGate()
            for client in scope.clients { try connection.planChecks(client, schedule: schedule, at: now) }
            guard gate.brake == nil else { return [] }
            var waiting: [WaitingCheck] = []
            for client in scope.clients where gate.mayAsk(client, at: now) {
                let isPaused = gate.pause(of: client) != nil
                waiting += try connection.waitingChecks(client, limit: isPaused ? 1 : limit, at: now)
            }
            waiting.sort { $0.dueAt < $1.dueAt }
            var begun: [DueCheck] = []
            for check in waiting.prefix(limit) {
                guard let due = try connection.begin(check, team: scope.team, schedule: schedule, at: now) else {
                    continue
                }
                // Marked like the credential: a process that dies while it asks has made this attempt.
                if let pause = gate.pause(of: due.clientID) {
                    try connection.run(
                        "UPDATE credential_pause SET next_try_at = ? WHERE client_id = ?",
                        [CheckPause.next(attempts: pause.attempts, at: now).milliseconds, due.clientID.rawValue])
                }
                begun.append(due)
            }
            return begun
        }
    }
}

extension CheckGate {
    func pause(of client: ClientID) -> Pause? {
        pauses.first { $0.clientID.rawValue.utf8.elementsEqual(client.rawValue.utf8) }
    }

    /// Whether Apple may be asked about this client's credentials: always, or once when the next attempt is due.
    fileprivate func mayAsk(_ client: ClientID, at now: Timestamp) -> Bool {
        pause(of: client).map { CheckPause.isDue($0.nextTryAt, at: now) } ?? true
    }
}

/// A credential whose time has come, not yet marked.
private struct WaitingCheck {
    var check: DueCheck
    var team: String
    var dueAt: Int64
    var checkedAt: Int64?
}

extension SQLiteConnection {
    /// The most credentials one transaction plans.
    private static var planningBatch: Int { 500 }

    func checkGate() throws -> CheckGate {
        var gate = CheckGate()
        if let row = try firstRow("SELECT since, dead, checks FROM credential_brake WHERE since IS NOT NULL") {
            gate.brake = CheckGate.Brake(
                since: try row.moment(0), dead: Int(row[1] as Int64? ?? 0), checks: Int(row[2] as Int64? ?? 0))
        }
        gate.pauses = try rows(
            "SELECT client_id, since, next_try_at, attempts, detail FROM credential_pause ORDER BY client_id"
        ).map { row in
            CheckGate.Pause(
                clientID: ClientID(try row.text(0)), since: try row.moment(1), nextTryAt: try row.moment(2),
                attempts: Int(row[3] as Int64? ?? 0), detail: try row.text(4))
        }
        return gate
    }

    fileprivate func hasDueCheck(_ client: ClientID, at now: Timestamp) throws -> Bool {
        try integer(
            "SELECT 1 FROM apple_credential WHERE client_id = ? AND next_check_at <= ? LIMIT 1",
            [client.rawValue, now.milliseconds]) != nil
    }

    // MARK: Plans

    /// Whether some of this client's credentials have no plan, or one that a clock made which was set back since.
    fileprivate func hasPlanning(_ client: ClientID, at now: Timestamp) throws -> Bool {
        try integer(
            """
            SELECT 1 FROM apple_credential
            WHERE client_id = ? AND next_check_at IS NULL AND sealed_refresh_token IS NOT NULL LIMIT 1
            """, [client.rawValue]) != nil
            || integer(
                "SELECT 1 FROM apple_credential WHERE client_id = ? AND next_check_at > ? LIMIT 1",
                [client.rawValue, now.adding(seconds: CheckSchedule.horizon).milliseconds]) != nil
    }

    fileprivate func planChecks(_ client: ClientID, schedule: CheckSchedule, at now: Timestamp) throws {
        // Imported, or older than the checks: asked about within a day, in no order.
        for row in try rows(
            """
            SELECT identity FROM apple_credential
            WHERE client_id = ? AND next_check_at IS NULL AND sealed_refresh_token IS NOT NULL LIMIT ?
            """, [client.rawValue, Self.planningBatch])
        {
            try plan(row[0] as Int64? ?? 0, client, at: schedule.unplanned(at: now))
        }
        // When it was asked about last nobody knows by this clock; a day from now on is late enough.
        for row in try rows(
            "SELECT identity FROM apple_credential WHERE client_id = ? AND next_check_at > ? LIMIT ?",
            [client.rawValue, now.adding(seconds: CheckSchedule.horizon).milliseconds, Self.planningBatch])
        {
            try plan(row[0] as Int64? ?? 0, client, at: schedule.afterSignIn(at: now))
        }
    }

    private func plan(_ identity: Int64, _ client: ClientID, at moment: Timestamp) throws {
        try run(
            "UPDATE apple_credential SET next_check_at = ? WHERE identity = ? AND client_id = ?",
            [moment.milliseconds, identity, client.rawValue])
    }

    // MARK: Marks

    fileprivate func waitingChecks(_ client: ClientID, limit: Int, at now: Timestamp) throws -> [WaitingCheck] {
        try rows(
            """
            SELECT c.identity, i.subject, c.issued_at, c.sealed_refresh_token, c.check_failures, i.team,
            c.next_check_at, c.checked_at FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
            WHERE c.client_id = ? AND c.next_check_at <= ? ORDER BY c.next_check_at LIMIT ?
            """, [client.rawValue, now.milliseconds, limit]
        ).map { row in
            WaitingCheck(
                check: DueCheck(
                    identity: row[0] as Int64? ?? 0, subject: AppleSubject(try row.text(1)), clientID: client,
                    issuedAt: try row.moment(2),
                    sealedRefreshToken: row.hasNull(atIndex: 3) ? [] : try row.bytes(3), askedAt: now,
                    failures: Int(row[4] as Int64? ?? 0)),
                team: try row.text(5), dueAt: row[6] as Int64? ?? 0, checkedAt: row[7] as Int64?)
        }
    }

    /// Marks a credential as asked about; nil when it is not to be asked about today after all.
    fileprivate func begin(
        _ waiting: WaitingCheck, team: TeamID, schedule: CheckSchedule, at now: Timestamp
    ) throws -> DueCheck? {
        let check = waiting.check
        if check.sealedRefreshToken.isEmpty {
            // Dead already; whoever ended it left the plan.
            try run(
                "UPDATE apple_credential SET next_check_at = NULL WHERE identity = ? AND client_id = ?",
                [check.identity, check.clientID.rawValue])
            return nil
        }
        // Of a team that the app has left: its key is not ours, so nobody is asked.
        guard waiting.team.utf8.elementsEqual(team.rawValue.utf8) else {
            try plan(check.identity, check.clientID, at: schedule.afterCheck(at: now))
            return nil
        }
        // Whatever the plan says, a day passes between two checks. A check in the future is of another clock.
        if let checkedAt = waiting.checkedAt, checkedAt <= now.milliseconds {
            let last = Timestamp(milliseconds: checkedAt)
            guard last.adding(seconds: CheckSchedule.interval) <= now else {
                try plan(check.identity, check.clientID, at: schedule.afterCheck(at: last))
                return nil
            }
        }
        try run(
            """
            UPDATE apple_credential SET checked_at = ?, next_check_at = ?, held_back_at = NULL
            WHERE identity = ? AND client_id = ?
            """,
            [
                now.milliseconds, schedule.afterCheck(at: now).milliseconds, check.identity, check.clientID.rawValue,
            ])
        return check
    }

    /// Apple took a code of this client in a sign-in that began after it had refused us: it accepts us again.
    func endPause(of client: ClientID, before moment: Timestamp) throws {
        try run(
            "DELETE FROM credential_pause WHERE client_id = ? AND since < ?", [client.rawValue, moment.milliseconds])
    }
}
