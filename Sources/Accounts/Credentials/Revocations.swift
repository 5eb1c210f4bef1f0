package import Coding
import Crypto
import Storage

/// A refresh token of a deleted person, waiting to be revoked at Apple. The person is a keyed hash, by which a sign-in in
/// the meantime removes it from the queue.
package struct QueuedRevocation: Hashable, Sendable {
    package var id: Int64
    package var subjectHash: [UInt8]
    package var clientID: ClientID
    /// Sealed under `SealingPurpose.refreshToken` with `sealingContext`: that of its sign-in names the erased subject.
    package var sealedRefreshToken: [UInt8]
    package var queuedAt: Timestamp
    package var attempts: Int
    /// Why the last attempt failed.
    package var failure: String?

    /// A value of `failure`: Apple is being asked, until `next_attempt_at`.
    static let inFlight = "in_flight"
    /// A value of `failure`: acknowledged, or no token. The row's hash recognises later notifications for a while.
    static let done = "done"

    var context: [UInt8] { Self.sealingContext(subjectHash: subjectHash, clientID: clientID) }

    /// How long a revocation is tried, in seconds.
    package static let lifetime: Int64 = 7 * 86_400

    /// The context of a queued token's seal: binds it to this entry's person.
    package static func sealingContext(subjectHash: [UInt8], clientID: ClientID) -> [UInt8] {
        Array("revocation|\(Hexadecimal.encode(subjectHash))|\(clientID.rawValue)".utf8)
    }
}

/// Keyed hashes of a person's team and subject, by which deleted people are recognised.
struct SubjectHashes: Sendable {
    private static let purpose = SealingPurpose.other("subject-hash")

    let keyring: SealingKeyring

    /// Under the current key, for storing.
    func current(_ team: TeamID, _ subject: AppleSubject) -> [UInt8] {
        keyring.keyedHash(of: message(team, subject.rawValue), purpose: Self.purpose)
    }

    /// Under each key, for finding.
    func all(_ team: TeamID, _ subject: AppleSubject) -> [[UInt8]] {
        keyring.keyedHashes(of: message(team, subject.rawValue), purpose: Self.purpose)
    }

    /// Team IDs contain no slash.
    func message(_ team: TeamID, _ subject: String) -> [UInt8] { Array("\(team.rawValue)/\(subject)".utf8) }
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

extension Transaction {
    /// Queues each live refresh token of an identity, and returns how many; without one, records the deletion.
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
            let sealed = QueuedToken.seal(
                try row["sealed_refresh_token"],
                from: RefreshToken.sealingContext(team: team, subject: subject, clientID: clientID),
                context: QueuedRevocation.sealingContext(subjectHash: hash, clientID: clientID),
                keyring: context.keyring)
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

    /// Records a deletion, for later reports from Apple about the person.
    private func remember(_ hash: [UInt8]) throws {
        try run(
            "INSERT INTO revocation (subject_hash, client_id, queued_at, failure) VALUES (?, '', ?, ?)",
            [hash, now, QueuedRevocation.done])
    }

    /// A deleted person is back: the new consent must not be revoked.
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
            var identity = LeavingIdentity(row: try row["id"], team: try row["team"], subject: try row["subject"])
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

    /// Other hashes of these deleted people, at the team they were moving to.
    func transferHashes(_ subjectHashes: [[UInt8]]) throws -> [[UInt8]] {
        try subjectHashes.flatMap { hash in
            try rows(
                "SELECT DISTINCT transfer_hash FROM revocation WHERE subject_hash = ? AND transfer_hash IS NOT NULL",
                [hash]
            ).map { try $0["transfer_hash"] }
        }
    }

    /// Whether Apple is being asked to end this authorization. A mark too far ahead is from a clock set back since.
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

    /// Marks that Apple is about to be asked. Until `deadline`, or until one of the next two calls, a sign-in of this person
    /// is refused as revoked: Apple may end it a moment later. The entry is due again at `deadline`. False when it is not
    /// due: a sign-in removed it, or another process is asking.
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

    /// Records that Apple acknowledged: deletes the token, and refuses as revoked a sign-in in flight that Apple confirmed
    /// before `now`. False when a sign-in removed the entry in the meantime.
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

    /// Records that Apple did not acknowledge: try again at `next`, or, with nil, give up and keep the entry without its
    /// token. Does nothing to a finished entry.
    package func postponeRevocation(_ id: Int64, until next: Timestamp?, failure: String) async throws(Failure) {
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
