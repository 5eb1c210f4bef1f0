import Coding
import Crypto
import RelyingParty

/// The newest end of a consent that Apple has told of, or that is our own doing, for a person whom no user stands for: a
/// sign-in from before it may still be in flight, and must not bring them back. By keyed hashes, which name nobody; kept
/// for `RetentionPolicy.consentEnds`, whether the person returns or not.
extension Transaction {
    /// Apple has ended whatever this person consented to up to `end`, by Apple's clock.
    /// - Parameter hashes: of each name of theirs, under the current key.
    func recordEnd(_ hashes: [[UInt8]], upTo end: Timestamp, at noted: Timestamp) throws {
        for hash in hashes {
            try run(
                """
                INSERT INTO consent_end (subject_hash, ended_at, noted_at) VALUES (?, ?, ?)
                ON CONFLICT (subject_hash) DO UPDATE SET ended_at = max(ended_at, excluded.ended_at),
                noted_at = max(noted_at, excluded.noted_at)
                """, [hash, end, noted])
        }
    }

    /// Keeps the end that the notifications about a leaving identity tell of, which are about to be erased.
    func keepEnd(of identity: LeavingIdentity) throws {
        let row = try firstRow(
            """
            SELECT max(event_time) AS event_time, max(received_at) AS received_at FROM notification
            WHERE subject = ? AND \(EndQuery.isEnd)
            """, [identity.subject])
        guard let row, let end: Timestamp = try row["event_time"] else { return }
        try recordEnd(context.subjectHashes.names(of: identity), upTo: end, at: try row["received_at"])
    }

}

extension Snapshot {
    /// Whether we learnt, since this sign-in's attempt began, that Apple has ended what this person consented to at or
    /// after the sign-in's `iat`: it brings a token that is dead.
    func hasEnded(_ hashes: [[UInt8]], issuedAt: Timestamp, attemptIssuedAt: Timestamp) throws -> Bool {
        try hashes.contains { hash in
            try exists(
                "SELECT 1 FROM consent_end WHERE subject_hash = ? AND ended_at >= ? AND noted_at >= ?",
                [hash, issuedAt, attemptIssuedAt])
        }
    }
}

enum EndQuery {
    /// Of a row of `notification`.
    static let isEnd = "type IN ('consent-revoked', 'account-delete', 'account-deleted')"
}

extension SubjectHashes {
    /// What a sign-in of this person may be known by: their own subject, that of the team they moved to, and the names
    /// under which another team may meet them.
    func names(of identity: LeavingIdentity) -> [[UInt8]] {
        var names = [current(identity.team, identity.subject)]
        if let (team, subject) = identity.movedTo { names.append(current(team, subject)) }
        if let (target, subject) = identity.transfer {
            // Apple may still call them by the old subject when it speaks to the new team.
            names += [transfer(target, subject), current(target, identity.subject)]
        }
        return names
    }
}
