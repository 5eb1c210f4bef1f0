import Coding
package import Crypto
package import Storage

extension Database {
    /// Takes the claim unless another request has it, and in the same transaction stores the name.
    package func beginExchange(
        _ claim: ExchangeClaim, consent: FirstConsent?
    ) async throws(StoreError) -> ExchangeClaimResult {
        try await write(at: claim.begunAt) { transaction in
            transaction.claim(.attempt(claim.attempt))
            if let consent { transaction.claim(.subject(consent.subject)) }
            if let row = try transaction.firstRow(
                "SELECT request, begun_at, is_spent FROM code_exchange WHERE attempt = ?", [claim.attempt])
            {
                return .taken(
                    request: try row["request"], begunAt: try row["begun_at"], isSpent: try row["is_spent"])
            }
            try transaction.run(
                "INSERT INTO code_exchange (attempt, request, begun_at, expires_at) VALUES (?, ?, ?, ?)",
                [claim.attempt, claim.request, claim.begunAt, claim.expiresAt])
            if let consent { try transaction.saveFirstConsent(consent) }
            return .begun
        }
    }

    /// Records that the exchange failed. With `isSpent` the claim stays and the code is gone; otherwise Apple did not
    /// redeem it, and the next request may try.
    package func settleExchange(_ attempt: Digest256, isSpent: Bool) async throws(StoreError) {
        try await write { transaction in
            transaction.claim(.attempt(attempt))
            try transaction.run(
                isSpent
                    ? "UPDATE code_exchange SET is_spent = 1 WHERE attempt = ?"
                    : "DELETE FROM code_exchange WHERE attempt = ?", [attempt])
        }
    }

    /// Stores a refresh token with its identity, replacing an older one by Apple's clock. Does nothing when the
    /// identity is gone.
    package func keepCredential(_ credential: FreshCredential) async throws(StoreError) {
        try await write { transaction in
            try transaction.run(
                """
                INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state)
                SELECT id, ?, ?, ?, 'authorized' FROM apple_identity WHERE team = ? AND subject = ?
                ON CONFLICT (identity, client_id) DO UPDATE SET sealed_refresh_token = excluded.sealed_refresh_token,
                issued_at = excluded.issued_at, state = excluded.state, cause = NULL, next_check_at = NULL
                WHERE excluded.issued_at >= apple_credential.issued_at
                OR apple_credential.sealed_refresh_token IS NULL
                """,
                [
                    credential.clientID, credential.sealedRefreshToken,
                    credential.issuedAt, credential.team, credential.subject,
                ])
        }
    }
}

extension Transaction {
    func saveFirstConsent(_ consent: FirstConsent) throws {
        try run(
            """
            INSERT INTO first_consent (team, subject, given_name, family_name, saved_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (team, subject) DO UPDATE SET given_name = excluded.given_name,
            family_name = excluded.family_name, saved_at = excluded.saved_at
            """,
            [
                consent.team, consent.subject, consent.name.given, consent.name.family,
                now,
            ])
    }
}
