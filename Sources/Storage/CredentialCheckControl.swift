package import Coding
package import RelyingParty

// The daily checks as the operator commands them.
extension Database {
    package func checkStatus(_ scope: CheckScope, at now: Timestamp) async throws(StoreError) -> CheckStatus {
        try await read { connection in
            var status = CheckStatus(
                live: 0, due: 0, dueSince: nil, alive: 0, dead: 0,
                heldBack: Int(try connection.integer("SELECT count(*) \(HeldBack.source)") ?? 0),
                gate: try connection.checkGate(), acceptsUntil: try connection.acceptsWaves(at: now))
            (status.alive, status.dead) = try connection.checkCounts(at: now)
            for client in scope.clients {
                let row = try connection.firstRow(
                    """
                    SELECT count(*), count(*) FILTER (WHERE c.next_check_at <= ?1),
                    min(c.next_check_at) FILTER (WHERE c.next_check_at <= ?1)
                    FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
                    WHERE c.client_id = ?2 AND i.team = ?3 AND c.sealed_refresh_token IS NOT NULL
                    """, [now.milliseconds, client.rawValue, scope.team.rawValue])
                status.live += Int(row?[0] as Int64? ?? 0)
                status.due += Int(row?[1] as Int64? ?? 0)
                if let since = (row?[2] as Int64?).map({ Timestamp(milliseconds: $0) }) {
                    status.dueSince = min(status.dueSince ?? since, since)
                }
            }
            return status
        }
    }

    /// Takes brake and pauses away, and begins to count anew.
    /// - Parameter accepting: the wave is real: dead answers held back are applied, and none is held back by the brake for
    ///   `CheckBrake.exemption`. Else they are forgotten.
    package func resumeChecks(accepting: Bool, at now: Timestamp) async throws(StoreError) -> CheckResumption {
        let identifiers = identifiers
        return try await commits.write { connection, effects in
            var resumption = CheckResumption(
                gate: try connection.checkGate(), died: 0, sessions: 0, forgotten: 0)
            let held = try connection.rows(
                "SELECT c.identity, c.client_id, c.issued_at, i.user \(HeldBack.source)"
            ).map { row in
                DeadCredential(
                    identity: row[0] as Int64? ?? 0, clientID: ClientID(try row.text(1)), issuedAt: try row.moment(2),
                    user: UserID(unchecked: try row.text(3)))
            }
            if accepting {
                for dead in held {
                    resumption.sessions += try connection.endCredential(
                        dead, at: now, identifiers: identifiers, effects: &effects)
                }
                resumption.died = held.count
            } else {
                resumption.forgotten = held.count
            }
            let words = accepting ? "credentials resume --accept" : "credentials resume"
            try connection.audit(.command, object: words, at: now)
            try connection.run("UPDATE apple_credential SET held_back_at = NULL WHERE held_back_at IS NOT NULL")
            try connection.run("DELETE FROM credential_pause")
            try connection.run("DELETE FROM credential_check")
            try connection.run("DELETE FROM credential_brake")
            // Without a wave there is nothing to accept, and the brake stays as it is.
            if accepting, resumption.gate.brake != nil {
                try connection.run(
                    "INSERT INTO credential_brake (id, accepts_until) VALUES (1, ?)",
                    [now.adding(seconds: CheckBrake.exemption).milliseconds])
            }
            return resumption
        }
    }
}

/// Credentials that Apple called dead while that was not applied.
private enum HeldBack {
    static let source = """
        FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
        WHERE c.held_back_at IS NOT NULL AND c.sealed_refresh_token IS NOT NULL
        """
}
