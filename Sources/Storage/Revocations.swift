package import Coding
import Crypto
import GRDB
package import RelyingParty

/// Keyed hashes of a person's key at Apple: what a queue entry of a deleted person is found by.
struct SubjectHashes: Sendable {
    private static let purpose = SealingPurpose.other("subject-hash")

    let keyring: SealingKeyring

    /// Under the current key: what is stored.
    func current(_ team: TeamID, _ subject: AppleSubject) -> [UInt8] {
        keyring.keyedHash(of: message(team, subject), purpose: Self.purpose)
    }

    /// Under each key: what may be stored.
    func all(_ team: TeamID, _ subject: AppleSubject) -> [[UInt8]] {
        keyring.keyedHashes(of: message(team, subject), purpose: Self.purpose)
    }

    /// Team IDs hold no slash.
    private func message(_ team: TeamID, _ subject: AppleSubject) -> [UInt8] {
        Array("\(team.rawValue)/\(subject.rawValue)".utf8)
    }
}

extension SQLiteConnection {
    /// Queues each live refresh token of an identity.
    func queueRevocations(identity: Int64, subjectHash: [UInt8], at now: Timestamp) throws {
        try run(
            """
            INSERT INTO revocation (subject_hash, client_id, sealed_refresh_token, queued_at, next_attempt_at)
            SELECT ?, client_id, sealed_refresh_token, ?, ? FROM apple_credential
            WHERE identity = ? AND sealed_refresh_token IS NOT NULL
            """, [blob(subjectHash), now.milliseconds, now.milliseconds, identity])
    }

    /// A person who was deleted is back: what they consented to now must not be revoked.
    func cancelRevocations(_ subjectHashes: [[UInt8]]) throws {
        for hash in subjectHashes { try run("DELETE FROM revocation WHERE subject_hash = ?", [blob(hash)]) }
    }
}

extension Database: RevocationQueue {
    package func dueRevocations(at now: Timestamp, limit: Int) async throws(StoreError) -> [QueuedRevocation] {
        try await read { connection in
            try connection.rows(
                """
                SELECT id, client_id, sealed_refresh_token, queued_at, attempts FROM revocation
                WHERE next_attempt_at <= ? AND sealed_refresh_token IS NOT NULL ORDER BY next_attempt_at LIMIT ?
                """, [now.milliseconds, limit]
            ).map { row in
                QueuedRevocation(
                    id: row[0] as Int64? ?? 0, clientID: ClientID(try row.text(1)),
                    sealedRefreshToken: try row.bytes(2), queuedAt: try row.moment(3),
                    attempts: Int(row[4] as Int64? ?? 0))
            }
        }
    }

    package func finishRevocation(_ id: Int64) async throws(StoreError) -> Bool {
        try await commits.write { connection, _ in
            try connection.run("DELETE FROM revocation WHERE id = ?", [id])
            return connection.changesCount > 0
        }
    }

    package func postponeRevocation(
        _ id: Int64, until next: Timestamp?, failure: String
    ) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                """
                UPDATE revocation SET attempts = attempts + 1, next_attempt_at = ?1, failure = ?2,
                sealed_refresh_token = CASE WHEN ?1 IS NULL THEN NULL ELSE sealed_refresh_token END WHERE id = ?3
                """, [next?.milliseconds, failure, id])
        }
    }
}
