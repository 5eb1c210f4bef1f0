import Coding
package import Crypto
package import RelyingParty

extension Database {
    package func beginExchange(
        _ claim: ExchangeClaim, consent: FirstConsent?
    ) async throws(StoreError) -> ExchangeClaimResult {
        try await commits.write { connection, _ in
            if let row = try connection.firstRow(
                "SELECT request, begun_at, is_spent FROM code_exchange WHERE attempt = ?", [claim.attempt])
            {
                return .taken(
                    request: try row.digest(0), begunAt: try row.moment(1), isSpent: row[2] as Bool? ?? true)
            }
            try connection.run(
                "INSERT INTO code_exchange (attempt, request, begun_at, expires_at) VALUES (?, ?, ?, ?)",
                [
                    claim.attempt, claim.request, claim.begunAt.milliseconds,
                    claim.expiresAt.milliseconds,
                ])
            if let consent {
                try connection.saveFirstConsent(consent, at: claim.begunAt)
            }
            return .begun
        }
    }

    package func settleExchange(_ attempt: Digest256, isSpent: Bool) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                isSpent
                    ? "UPDATE code_exchange SET is_spent = 1 WHERE attempt = ?"
                    : "DELETE FROM code_exchange WHERE attempt = ?", [attempt])
        }
    }

    package func keepCredential(_ credential: FreshCredential) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                """
                INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state)
                SELECT id, ?, ?, ?, 'authorized' FROM apple_identity WHERE team = ? AND subject = ?
                ON CONFLICT (identity, client_id) DO UPDATE SET sealed_refresh_token = excluded.sealed_refresh_token,
                issued_at = excluded.issued_at, state = excluded.state, cause = NULL, next_check_at = NULL
                WHERE excluded.issued_at >= issued_at OR sealed_refresh_token IS NULL
                """,
                [
                    credential.clientID.rawValue, credential.sealedRefreshToken,
                    credential.issuedAt.milliseconds, credential.team.rawValue, credential.subject.rawValue,
                ])
        }
    }
}

extension SQLiteConnection {
    func saveFirstConsent(_ consent: FirstConsent, at now: Timestamp) throws {
        try run(
            """
            INSERT INTO first_consent (team, subject, given_name, family_name, saved_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (team, subject) DO UPDATE SET given_name = excluded.given_name,
            family_name = excluded.family_name, saved_at = excluded.saved_at
            """,
            [
                consent.team.rawValue, consent.subject.rawValue, consent.name.given, consent.name.family,
                now.milliseconds,
            ])
    }
}
