package import Coding
import Storage

package struct CheckScope: Hashable, Sendable {
    package var team: TeamID
    package var clients: [ClientID]

    package init(team: TeamID, clients: [ClientID]) {
        self.team = team
        self.clients = clients
    }
}

/// A credential that is about to be checked at Apple, and is marked so in the store.
package struct DueCheck: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var clientID: ClientID
    /// `iat` of the sign-in that brought the token, by Apple's clock.
    package var issuedAt: Timestamp
    package var sealedRefreshToken: [UInt8]
    /// The mark. An answer counts only while the credential has it; a sign-in and the next check replace it.
    package var askedAt: Timestamp
    /// Attempts in a row before this one that Apple did not act on.
    package var failures: Int
}

package enum CheckAnswer: Hashable, Sendable {
    case alive
    case dead
    /// Apple made no check; try again at that time.
    case notMade(retryAt: Timestamp)
    /// Apple refused our client credentials, and made no check.
    case clientRefused(detail: String, retryAt: Timestamp)
}

package enum CheckOutcome: Hashable, Sendable {
    case recorded
    /// The credential was replaced or deleted.
    case superseded
    /// The credential is dead; this many sessions ended with it.
    case died(UserID, sessions: Int)
    /// A dead answer that was not applied: the brake is on, or Apple refuses our client credentials.
    case heldBack
}

/// Why there are no checks, or fewer.
package struct CheckGate: Hashable, Sendable {
    /// A wave stopped all checks, until the operator decides.
    package struct Brake: Hashable, Sendable {
        package var since: Timestamp
        /// Dead answers and all answers of the hour when the brake came on.
        package var dead: Int
        package var checks: Int
    }

    /// Apple refuses one of our clients; its credentials wait.
    package struct Pause: Hashable, Sendable {
        package var clientID: ClientID
        package var since: Timestamp
        package var nextTryAt: Timestamp
        /// Refusals so far.
        package var attempts: Int
        /// Apple's message, made safe for the operator's terminal.
        package var detail: String
    }

    package var brake: Brake?
    /// Ordered by client ID.
    package var pauses: [Pause] = []
}

/// The state of the daily checks, for the operator.
package struct CheckStatus: Hashable, Sendable {
    /// Credentials with a refresh token.
    package var live = 0
    /// Credentials whose check is due, and since when the first one is.
    package var due = 0
    package var dueSince: Timestamp?
    /// Of the last hour's answers.
    package var alive = 0
    package var dead = 0
    /// Dead answers that were not applied.
    package var heldBack = 0
    package var gate = CheckGate()
    /// Nothing is held back until then: the operator confirmed the wave.
    package var acceptsUntil: Timestamp?
}

package struct CheckResumption: Hashable, Sendable {
    /// What had stopped the checks.
    package var gate: CheckGate
    /// Held-back answers that were applied, and the sessions that ended with them.
    package var died = 0
    package var sessions = 0
    /// Held-back answers that were discarded: those credentials are checked again when their day is over.
    package var forgotten = 0
}

// The operator's control of the daily checks.
extension Database {
    package func checkStatus(_ scope: CheckScope, at now: Timestamp) async throws(Failure) -> CheckStatus {
        try await read(at: now) { snapshot in
            var status = CheckStatus()
            status.heldBack = try snapshot.count("SELECT count(*) \(CheckedCredential.heldBack)")
            status.gate = try snapshot.checkGate()
            status.acceptsUntil = try snapshot.acceptsWaves()
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
    /// - Parameter accepting: the wave is real: applies held-back answers, and the brake stays off for
    ///   `CheckGate.Brake.exemption`. Otherwise such answers are discarded.
    package func resumeChecks(accepting: Bool, at now: Timestamp) async throws(Failure) -> CheckResumption {
        try await write(at: now) { transaction in
            var resumption = CheckResumption(gate: try transaction.checkGate())
            let held = try transaction.rows(
                "SELECT c.identity, c.client_id, c.issued_at, i.user \(CheckedCredential.heldBack)"
            ).map { try CheckedCredential($0) }
            if accepting {
                for dead in held { resumption.sessions += try transaction.endCredential(dead) }
                resumption.died = held.count
            } else {
                resumption.forgotten = held.count
            }
            try transaction.audit(.command, object: accepting ? "credentials resume --accept" : "credentials resume")
            try transaction.run("UPDATE apple_credential SET held_back_at = NULL WHERE held_back_at IS NOT NULL")
            try transaction.run("DELETE FROM credential_pause")
            try transaction.run("DELETE FROM credential_check")
            try transaction.run("DELETE FROM credential_brake")
            // Without a wave there is nothing to accept, and the brake stays as it is.
            if accepting, resumption.gate.brake != nil {
                try transaction.run(
                    "INSERT INTO credential_brake (id, accepts_until) VALUES (1, ?)",
                    [now.adding(seconds: CheckGate.Brake.exemption)])
            }
            return resumption
        }
    }
}

extension CheckedCredential {
    /// Credentials with a dead answer that was not applied.
    fileprivate static let heldBack = """
        FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
        WHERE c.held_back_at IS NOT NULL AND c.sealed_refresh_token IS NOT NULL
        """
}
