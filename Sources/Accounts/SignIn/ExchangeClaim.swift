package import Coding
package import Crypto
import Storage

/// The right to send one authorization code to Apple, recorded durably before it is sent: whatever happens afterwards,
/// no retry, second connection or process after a crash sends it again unless Apple certainly did not redeem it.
package struct ExchangeClaim: Hashable, Sendable {
    /// Longer than the HTTP client allows, in seconds. An older claim still open belongs to a process that ended.
    package static let flightTime: Int64 = 30

    package var attempt: Digest256
    /// The whole request, to tell an identical one from another with the same nonce.
    package var request: Digest256
    package var begunAt: Timestamp
    /// When the row may be deleted.
    package var expiresAt: Timestamp
    /// Whether the exchange has ended and Apple may have redeemed the code.
    package var isSpent = false
}

/// A name given at first consent, and whose it is.
package struct FirstConsent: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var name: PersonName
}

extension Database {
    /// Claims the right to send the code once, and stores the name; or returns another request's claim.
    package func beginExchange(_ claim: ExchangeClaim, consent: FirstConsent?) async throws(Failure) -> ExchangeClaim? {
        try await write(at: claim.begunAt) { transaction in
            transaction.claim(.attempt(claim.attempt))
            if let consent { transaction.claim(.subject(consent.subject)) }
            if let row = try transaction.firstRow(
                "SELECT request, begun_at, expires_at, is_spent FROM code_exchange WHERE attempt = ?", [claim.attempt])
            {
                return ExchangeClaim(
                    attempt: claim.attempt, request: try row["request"], begunAt: try row["begun_at"],
                    expiresAt: try row["expires_at"], isSpent: try row["is_spent"])
            }
            try transaction.run(
                "INSERT INTO code_exchange (attempt, request, begun_at, expires_at) VALUES (?, ?, ?, ?)",
                [claim.attempt, claim.request, claim.begunAt, claim.expiresAt])
            if let consent { try transaction.saveFirstConsent(consent) }
            return nil
        }
    }

    /// Records that the exchange failed. Unless the code `isSpent`, the next request may try.
    package func settleExchange(_ attempt: Digest256, isSpent: Bool) async throws(Failure) {
        try await write { transaction in
            transaction.claim(.attempt(attempt))
            try transaction.run(
                isSpent
                    ? "UPDATE code_exchange SET is_spent = 1 WHERE attempt = ?"
                    : "DELETE FROM code_exchange WHERE attempt = ?", [attempt])
        }
    }

    /// Stores a newer refresh token, sealed, that came with an account's deletion. Nothing when the identity is gone.
    package func keepCredential(_ sealed: [UInt8], of claims: IdentityClaims, team: TeamID) async throws(Failure) {
        try await write { transaction in
            try transaction.run(
                """
                INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state)
                SELECT id, ?, ?, ?, 'authorized' FROM apple_identity WHERE team = ? AND subject = ?
                ON CONFLICT (identity, client_id) DO UPDATE SET sealed_refresh_token = excluded.sealed_refresh_token,
                issued_at = excluded.issued_at, state = excluded.state, cause = NULL, next_check_at = NULL
                WHERE excluded.issued_at >= apple_credential.issued_at
                OR apple_credential.sealed_refresh_token IS NULL
                """, [claims.clientID, sealed, claims.issuedAt, team, claims.subject])
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
            """, [consent.team, consent.subject, consent.name.given, consent.name.family, now])
    }
}
