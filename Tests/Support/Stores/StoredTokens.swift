package import Coding

@testable package import Accounts
@testable import Storage

/// Refresh tokens that tests put into the database by hand, and what became of them.
extension TestDatabase {
    /// A credential that is due for its check, with the person it is of. One that is there is replaced.
    package func put(_ check: DueCheck) {
        change(at: check.askedAt) { transaction in
            let user = UserID(unchecked: "usr_\(check.subject.rawValue)")
            try transaction.run(
                "INSERT OR IGNORE INTO user (id, state, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)",
                [user, User.State.active, check.askedAt])
            try transaction.run(
                """
                INSERT OR IGNORE INTO apple_identity (user, team, subject, credential_state, last_sign_in_issued_at,
                created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
                """, [user, check.team, check.subject, CredentialState.authorized, check.issuedAt])
            try transaction.run(
                """
                INSERT OR REPLACE INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state,
                next_check_at, check_failures) SELECT id, ?, ?, ?, ?, ?, ? FROM apple_identity
                WHERE team = ? AND subject = ?
                """,
                [
                    check.clientID, check.sealedRefreshToken, check.issuedAt, CredentialState.authorized,
                    check.askedAt, check.failures, check.team, check.subject,
                ])
        }
    }

    /// The credential of this person: whether its token is there, whether Apple was asked about it, and when the next
    /// check is due.
    package func credential(
        of subject: String
    ) -> (hasToken: Bool, wasAsked: Bool, next: Timestamp?)? {
        change { transaction in
            try transaction.firstRow(
                """
                SELECT c.sealed_refresh_token IS NOT NULL AS has_token, c.checked_at IS NOT NULL AS was_asked,
                c.next_check_at FROM apple_credential c JOIN apple_identity i ON i.id = c.identity WHERE i.subject = ?
                """, [AppleSubject(subject)]
            ).map { (try $0["has_token"], try $0["was_asked"], try $0["next_check_at"]) }
        }
    }

    /// A deleted person's token, due now.
    package func put(_ revocation: QueuedRevocation) {
        change(at: revocation.queuedAt) { transaction in
            try transaction.run(
                """
                INSERT INTO revocation (id, subject_hash, client_id, sealed_refresh_token, queued_at, next_attempt_at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?5)
                """,
                [
                    revocation.id, revocation.subjectHash, revocation.clientID, revocation.sealedRefreshToken,
                    revocation.queuedAt,
                ])
        }
    }

    /// When an entry of the queue is due again, and why it is still there.
    package func revocation(_ id: Int64) -> (next: Timestamp?, failure: String?)? {
        change { transaction in
            try transaction.firstRow("SELECT next_attempt_at, failure FROM revocation WHERE id = ?", [id])
                .map { (try $0["next_attempt_at"], try $0["failure"]) }
        }
    }

    /// Whether somebody has the lease of a job.
    package var isLeased: Bool { number("SELECT count(*) FROM lease") > 0 }
}
