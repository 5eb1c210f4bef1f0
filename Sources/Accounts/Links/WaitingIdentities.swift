package import Coding
package import Crypto
package import Storage

// Identities whose people are asked whether they have an account.
extension Database {
    /// Keeps an identity without a user waiting.
    /// - Returns: what waits for this attempt, now or since earlier; nil when the identity has a user, or its attempt
    ///   is used.
    package func keepWaiting(
        _ identity: WaitingIdentity, at now: Timestamp
    ) async throws(StoreError) -> WaitingIdentity? {
        try await write(at: now) { transaction in
            let earlier = try transaction.waiting("attempt = ?", [identity.attempt])
            if let earlier { return earlier }
            // Includes people who are moving from another team and are about to be recognised by their transfer
            // subject.
            let isKnown = try transaction.exists(
                """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM apple_identity WHERE team = ?1 AND subject = ?2)
                OR EXISTS (SELECT 1 FROM apple_identity WHERE transfer_target = ?1 AND transfer_subject = ?3)
                OR EXISTS (SELECT 1 FROM used_attempt WHERE attempt = ?4)
                """, [identity.team, identity.subject, identity.transferSubject, identity.attempt])
            guard !isKnown else { return nil }
            let kept = try transaction.change(
                """
                INSERT INTO waiting_identity (id, attempt, binding_hash, ticket_hash, team, subject, sealed_identity,
                expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (attempt) DO NOTHING
                """,
                [
                    identity.id, identity.attempt, identity.bindingHash, identity.ticketHash, identity.team,
                    identity.subject, identity.sealedIdentity, identity.expiresAt,
                ])
            return kept > 0 ? identity : nil
        }
    }

    /// Nil when expired.
    package func waiting(_ id: WaitingID, at now: Timestamp) async throws(StoreError) -> WaitingIdentity? {
        try await read(at: now) { snapshot in try snapshot.waiting("id = ?", [id]) }
    }

    package func waiting(ticket: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity? {
        try await read(at: now) { snapshot in try snapshot.waiting("ticket_hash = ?", [ticket]) }
    }

    package func waiting(attempt: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity? {
        try await read(at: now) { snapshot in try snapshot.waiting("attempt = ?", [attempt]) }
    }
}

extension Snapshot {
    /// - Parameter condition: selects one.
    fileprivate func waiting(_ condition: String, _ arguments: StatementArguments) throws -> WaitingIdentity? {
        let row = try firstRow(
            """
            SELECT id, attempt, binding_hash, ticket_hash, sealed_identity, team, subject, expires_at, link
            FROM waiting_identity WHERE \(condition)
            """, arguments)
        guard let row else { return nil }
        var found = WaitingIdentity(
            id: try row["id"], attempt: try row["attempt"], bindingHash: try row["binding_hash"],
            ticketHash: try row["ticket_hash"], sealedIdentity: try row["sealed_identity"], team: try row["team"],
            subject: try row["subject"], expiresAt: try row["expires_at"])
        found.link = try row["link"]
        return now < found.expiresAt ? found : nil
    }
}
