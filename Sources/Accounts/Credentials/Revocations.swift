package import Coding
import Crypto
import Storage

/// A refresh token of a deleted person, waiting to be revoked at Apple. It names nobody: the person is a keyed hash, so
/// that a sign-in in the meantime can remove it from the queue.
package struct QueuedRevocation: Hashable, Sendable {
    package var id: Int64
    package var subjectHash: [UInt8]
    package var clientID: ClientID
    /// Sealed under `SealingPurpose.refreshToken` with `sealingContext`. The context of the sign-in that brought it
    /// names the subject, which has been erased.
    package var sealedRefreshToken: [UInt8]
    package var queuedAt: Timestamp
    package var attempts: Int
    /// Why the last attempt failed.
    package var failure: String?

    // Values of `failure` other than the reason of the last attempt.
    /// Apple is being asked, until `next_attempt_at`.
    static let inFlight = "in_flight"
    /// Apple has answered, or there was no token to revoke. The row stays for a while without a token: its hash
    /// identifies later notifications about the deleted person.
    static let done = "done"

    /// Of its seal.
    var context: [UInt8] { Self.sealingContext(subjectHash: subjectHash, clientID: clientID) }

    /// How long a revocation is tried, in seconds: 7 days.
    package static let lifetime: Int64 = 7 * 86_400

    /// The context of a queued token's seal: it belongs to this entry and to no other person's.
    package static func sealingContext(subjectHash: [UInt8], clientID: ClientID) -> [UInt8] {
        Array("revocation|\(Hexadecimal.encode(subjectHash))|\(clientID.rawValue)".utf8)
    }
}

/// Keyed hashes of a person's key at Apple, by which the queue entry of a deleted person is found.
struct SubjectHashes: Sendable {
    private static let purpose = SealingPurpose.other("subject-hash")

    let keyring: SealingKeyring

    /// Under the current key: what is stored.
    func current(_ team: TeamID, _ subject: AppleSubject) -> [UInt8] {
        keyring.keyedHash(of: message(team, subject), purpose: Self.purpose)
    }

    /// Under each key: what may have been stored.
    func all(_ team: TeamID, _ subject: AppleSubject) -> [[UInt8]] {
        keyring.keyedHashes(of: message(team, subject), purpose: Self.purpose)
    }

    /// Team IDs contain no slash.
    private func message(_ team: TeamID, _ subject: AppleSubject) -> [UInt8] {
        Array("\(team.rawValue)/\(subject.rawValue)".utf8)
    }
}

/// An identity of a person who is being deleted, and other identifiers Apple may use for them.
struct LeavingIdentity {
    var row: Int64
    var team: TeamID
    var subject: AppleSubject
    /// The identity that replaced it in a move to another team.
    var movedTo: (team: TeamID, subject: AppleSubject)?
    var transfer: (target: TeamID, subject: TransferSubject)?
}

extension SubjectHashes {
    /// A sign-in's refresh token in the queue's form, even when no key of the ring opens it.
    fileprivate func resealed(
        _ sealed: [UInt8], _ hash: [UInt8], team: TeamID, subject: AppleSubject, clientID: ClientID
    ) -> [UInt8] {
        let old = RefreshToken.sealingContext(team: team, subject: subject, clientID: clientID)
        return QueuedToken.seal(
            sealed, from: old, context: QueuedRevocation.sealingContext(subjectHash: hash, clientID: clientID),
            keyring: keyring)
    }
}

extension Transaction {
    /// Queues each live refresh token of an identity, under a context that does not name the person. Without one, a
    /// finished entry remembers that there was somebody.
    /// - Returns: how many tokens were queued.
    @discardableResult
    func queueRevocations(_ identity: LeavingIdentity) throws -> Int {
        let hashes = context.subjectHashes
        let (team, subject) = (identity.team, identity.subject)
        let hash = hashes.current(identity.movedTo?.team ?? team, identity.movedTo?.subject ?? subject)
        let transferHash = identity.transfer.map { hashes.transfer($0.target, $0.subject) }
        var queued = 0
        for row in try rows(
            """
            SELECT client_id, sealed_refresh_token FROM apple_credential
            WHERE identity = ? AND sealed_refresh_token IS NOT NULL
            """, [identity.row])
        {
            let clientID: ClientID = try row["client_id"]
            let sealed = hashes.resealed(
                try row["sealed_refresh_token"], hash, team: team, subject: subject, clientID: clientID)
            try run(
                """
                INSERT INTO revocation
                (subject_hash, client_id, sealed_refresh_token, queued_at, next_attempt_at, transfer_hash)
                VALUES (?, ?, ?, ?, ?, ?)
                """, [hash, clientID, sealed, now, now, transferHash])
            queued += 1
        }
        if queued == 0 { try remember(hash) }
        // Apple may still use the old subject towards the new team.
        if let target = identity.transfer?.target { try remember(hashes.current(target, subject)) }
        return queued
    }

    /// Remembers a deletion, for what Apple still reports about the person.
    private func remember(_ hash: [UInt8]) throws {
        try run(
            "INSERT INTO revocation (subject_hash, client_id, queued_at, failure) VALUES (?, '', ?, ?)",
            [hash, now, QueuedRevocation.done])
    }

    /// A deleted person is back: what they consented to now must not be revoked.
    func cancelRevocations(_ subjectHashes: [[UInt8]]) throws {
        for hash in subjectHashes {
            try run("DELETE FROM revocation WHERE subject_hash = ?1 OR transfer_hash = ?1", [hash])
        }
    }
}

extension Snapshot {
    /// - Parameter condition: on `apple_identity i`.
    func leavingIdentities(where condition: String, _ arguments: StatementArguments) throws -> [LeavingIdentity] {
        try rows(
            """
            SELECT i.id, i.team, i.subject, n.team AS new_team, n.subject AS new_subject, i.transfer_target,
            i.transfer_subject FROM apple_identity i LEFT JOIN apple_identity n ON n.id = i.moved_to WHERE \(condition)
            """, arguments
        ).map { row in
            var identity = LeavingIdentity(
                row: try row["id"], team: try row["team"], subject: try row["subject"])
            if let team: TeamID = try row["new_team"], let subject: AppleSubject = try row["new_subject"] {
                identity.movedTo = (team, subject)
            }
            if let target: TeamID = try row["transfer_target"],
                let subject: TransferSubject = try row["transfer_subject"]
            {
                identity.transfer = (target, subject)
            }
            return identity
        }
    }

    /// Other hashes by which the team that these deleted people were moving to may meet them.
    func transferHashes(_ subjectHashes: [[UInt8]]) throws -> [[UInt8]] {
        try subjectHashes.flatMap { hash in
            try rows(
                "SELECT DISTINCT transfer_hash FROM revocation WHERE subject_hash = ? AND transfer_hash IS NOT NULL",
                [hash]
            ).map { try $0["transfer_hash"] }
        }
    }

    /// Whether Apple is being asked right now to end this person's authorization. A mark further ahead than a request
    /// can take was set before the clock was set back.
    func isRevocationInFlight(_ subjectHashes: [[UInt8]]) throws -> Bool {
        let latest = now.adding(seconds: AppleRevocations.flightTime)
        return try subjectHashes.contains { hash in
            try exists(
                """
                SELECT 1 FROM revocation WHERE (subject_hash = ?1 OR transfer_hash = ?1) AND failure = ?2
                AND next_attempt_at > ?3 AND next_attempt_at <= ?4 LIMIT 1
                """, [hash, QueuedRevocation.inFlight, now, latest])
        }
    }

    /// Whether this server recently deleted this person.
    func wasDeleted(_ subjectHashes: [[UInt8]]) throws -> Bool {
        try subjectHashes.contains { hash in
            try exists("SELECT 1 FROM revocation WHERE subject_hash = ? LIMIT 1", [hash])
        }
    }
}

// The queue of revocations.
extension Database {
    /// At most `limit` entries that are due, oldest first.
    package func dueRevocations(at now: Timestamp, limit: Int) async throws(Failure) -> [QueuedRevocation] {
        try await read(at: now) { snapshot in
            try snapshot.rows(
                """
                SELECT id, client_id, sealed_refresh_token, queued_at, attempts, subject_hash, failure FROM revocation
                WHERE next_attempt_at <= ? AND sealed_refresh_token IS NOT NULL ORDER BY next_attempt_at, id LIMIT ?
                """, [now, limit]
            ).map { row in
                QueuedRevocation(
                    id: try row["id"], subjectHash: try row["subject_hash"], clientID: try row["client_id"],
                    sealedRefreshToken: try row["sealed_refresh_token"], queuedAt: try row["queued_at"],
                    attempts: try row["attempts"], failure: try row["failure"])
            }
        }
    }

    /// Marks that Apple is about to be asked. Nobody knows when Apple acts, so until `deadline`, or until one of the
    /// next two calls, a sign-in of this person is refused as revoked: what it brings may end a moment later. The entry
    /// is due again at `deadline`. False when it is not due: a sign-in removed it, or another process is asking.
    package func beginRevocation(
        _ id: Int64, at now: Timestamp, until deadline: Timestamp
    ) async throws(Failure) -> Bool {
        try await write(at: now) { transaction in
            try transaction.change(
                """
                UPDATE revocation SET failure = ?, next_attempt_at = ?
                WHERE id = ? AND next_attempt_at <= ? AND sealed_refresh_token IS NOT NULL
                """, [QueuedRevocation.inFlight, deadline, id, now]) > 0
        }
    }

    /// Records that Apple answered: deletes the token here too, and refuses as revoked a sign-in in flight that Apple
    /// confirmed before `now`. False when a sign-in removed the entry in the meantime.
    package func finishRevocation(_ id: Int64, at now: Timestamp) async throws(Failure) -> Bool {
        try await write(at: now) { transaction in
            let changes = try transaction.change(
                """
                UPDATE revocation SET attempts = attempts + 1, next_attempt_at = NULL, failure = ?,
                sealed_refresh_token = NULL WHERE id = ? AND sealed_refresh_token IS NOT NULL
                """, [QueuedRevocation.done, id])
            guard changes > 0 else { return false }
            let hashes = try transaction.rows(
                "SELECT subject_hash AS hash FROM revocation WHERE id = ?1 UNION ALL "
                    + "SELECT transfer_hash FROM revocation WHERE id = ?1 AND transfer_hash IS NOT NULL", [id]
            ).map { row -> [UInt8] in try row["hash"] }
            try transaction.recordEnd(hashes, upTo: now, at: now)
            return true
        }
    }

    /// Records that Apple did not answer, or was not asked: try again at `next`, or, with nil, give up and keep the
    /// entry for the operator without its token. Does nothing to a finished entry.
    package func postponeRevocation(
        _ id: Int64, until next: Timestamp?, failure: String
    ) async throws(Failure) {
        try await write { transaction in
            try transaction.run(
                """
                UPDATE revocation SET attempts = attempts + 1, next_attempt_at = ?1, failure = ?2,
                sealed_refresh_token = CASE WHEN CAST(?1 AS BIGINT) IS NULL THEN NULL ELSE sealed_refresh_token END
                WHERE id = ?3 AND sealed_refresh_token IS NOT NULL
                """, [next, failure, id])
        }
    }
}
