import Coding
import Crypto

/// The newest end of a consent, reported by Apple or caused by us, for a person without a user: an earlier sign-in may
/// still be in flight, and must not create the user again. Stored by keyed hashes for `RetentionPolicy.consentEnds`.
extension Transaction {
    /// Records that Apple has ended a person's consent up to `end`. Hashes are of each identifier, under the current
    /// key.
    func recordEnd(_ hashes: [[UInt8]], upTo end: Timestamp, at recorded: Timestamp) throws {
        for hash in hashes {
            try run(
                """
                INSERT INTO consent_end (subject_hash, ended_at, noted_at) VALUES (?, ?, ?)
                ON CONFLICT (subject_hash) DO UPDATE SET ended_at = max(consent_end.ended_at, excluded.ended_at),
                noted_at = max(consent_end.noted_at, excluded.noted_at)
                """, [hash, end, recorded])
        }
    }

    /// Keeps the end that notifications reported about a leaving identity: they are about to be erased.
    func keepEnd(of identity: LeavingIdentity) throws {
        let row = try firstRow(
            """
            SELECT max(event_time) AS event_time, max(received_at) AS received_at FROM notification
            WHERE subject = ? AND \(AppleNotification.isEnd)
            """, [identity.subject])
        guard let row, let end: Timestamp = try row["event_time"] else { return }
        try recordEnd(context.subjectHashes.names(of: identity), upTo: end, at: try row["received_at"])
    }
}

extension Snapshot {
    /// Whether Apple has reported, since this sign-in's attempt began, the end of this person's consent at or after the
    /// sign-in's `iat`: its token is dead.
    func hasEnded(_ hashes: [[UInt8]], issuedAt: Timestamp, attemptIssuedAt: Timestamp) throws -> Bool {
        try hashes.contains { hash in
            try exists(
                "SELECT 1 FROM consent_end WHERE subject_hash = ? AND ended_at >= ? AND noted_at >= ?",
                [hash, issuedAt, attemptIssuedAt])
        }
    }
}

extension AppleNotification {
    /// A condition on a row of `notification`.
    static let isEnd = "type IN ('consent-revoked', 'account-delete', 'account-deleted')"
}

extension SubjectHashes {
    /// The hashes that may identify a sign-in of this person: of their subject here and in the team they moved to, and
    /// of the identifiers that another team may use for them.
    func names(of identity: LeavingIdentity) -> [[UInt8]] {
        var names = [current(identity.team, identity.subject)]
        if let (team, subject) = identity.movedTo { names.append(current(team, subject)) }
        if let (target, subject) = identity.transfer {
            // Apple may still use the old subject towards the new team.
            names += [transfer(target, subject), current(target, identity.subject)]
        }
        return names
    }
}
