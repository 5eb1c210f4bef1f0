package import Coding
package import Storage

// The daily checks, as the operator controls them.
extension Database {
    package func checkStatus(_ scope: CheckScope, at now: Timestamp) async throws(StoreError) -> CheckStatus {
        try await read(at: now) { snapshot in
            var status = CheckStatus(
                live: 0, due: 0, dueSince: nil, alive: 0, dead: 0,
                heldBack: try snapshot.count("SELECT count(*) \(HeldBack.source)"),
                gate: try snapshot.checkGate(), acceptsUntil: try snapshot.acceptsWaves())
            (status.alive, status.dead) = try snapshot.checkCounts()
            for client in scope.clients {
                let row = try snapshot.firstRow(
                    """
                    SELECT count(*) AS live, count(*) FILTER (WHERE c.next_check_at <= ?1) AS due,
                    min(c.next_check_at) FILTER (WHERE c.next_check_at <= ?1) AS due_since
                    FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
                    WHERE c.client_id = ?2 AND i.team = ?3 AND c.sealed_refresh_token IS NOT NULL
                    """, [now, client, scope.team])
                guard let row else { continue }
                status.live += try row["live"]
                status.due += try row["due"]
                if let since: Timestamp = try row["due_since"] {
                    status.dueSince = min(status.dueSince ?? since, since)
                }
            }
            return status
        }
    }

    /// Removes brake and pauses, and restarts the counts.
    /// - Parameter accepting: the wave is real: applies dead answers that were held back, and the brake holds none back
    ///   for `CheckBrake.exemption`. Otherwise such answers are discarded.
    package func resumeChecks(accepting: Bool, at now: Timestamp) async throws(StoreError) -> CheckResumption {
        try await write(at: now) { transaction in
            var resumption = CheckResumption(gate: try transaction.checkGate(), died: 0, sessions: 0, forgotten: 0)
            let held = try transaction.rows(
                "SELECT c.identity, c.client_id, c.issued_at, i.user \(HeldBack.source)"
            ).map { try CheckedCredential($0) }
            if accepting {
                for dead in held { resumption.sessions += try transaction.endCredential(dead) }
                resumption.died = held.count
            } else {
                resumption.forgotten = held.count
            }
            let words = accepting ? "credentials resume --accept" : "credentials resume"
            try transaction.audit(.command, object: words)
            try transaction.run("UPDATE apple_credential SET held_back_at = NULL WHERE held_back_at IS NOT NULL")
            try transaction.run("DELETE FROM credential_pause")
            try transaction.run("DELETE FROM credential_check")
            try transaction.run("DELETE FROM credential_brake")
            // Without a wave there is nothing to accept, and the brake stays as it is.
            if accepting, resumption.gate.brake != nil {
                try transaction.run(
                    "INSERT INTO credential_brake (id, accepts_until) VALUES (1, ?)",
                    [now.adding(seconds: CheckBrake.exemption)])
            }
            return resumption
        }
    }
}

/// Dead credentials whose answer was not applied.
private enum HeldBack {
    static let source = """
        FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
        WHERE c.held_back_at IS NOT NULL AND c.sealed_refresh_token IS NOT NULL
        """
}
