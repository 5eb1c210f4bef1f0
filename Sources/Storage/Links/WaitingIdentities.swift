package import Coding
package import Crypto
package import RelyingParty

// Identities whose people are asked whether they have an account.
extension Database {
    package func keepWaiting(
        _ identity: WaitingIdentity, at now: Timestamp
    ) async throws(StoreError) -> WaitingIdentity? {
        try await commits.write { connection, _ in
            let earlier = try connection.waiting("attempt = ?", [identity.attempt], at: now)
            if let earlier { return earlier }
            // Also somebody who comes from another team, and is about to be recognized by Apple's name for them there.
            let isKnown = try connection.integer(
                """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM apple_identity WHERE team = ?1 AND subject = ?2)
                OR EXISTS (SELECT 1 FROM apple_identity WHERE transfer_target = ?1 AND transfer_subject = ?3)
                """,
                [identity.team.rawValue, identity.subject.rawValue, identity.transferSubject])
            let isUsed = try connection.integer(
                "SELECT 1 FROM used_attempt WHERE attempt = ?", [identity.attempt])
            guard isKnown == nil, isUsed == nil else { return nil }
            try connection.run(
                """
                INSERT INTO waiting_identity (id, attempt, binding_hash, ticket_hash, team, subject, sealed_identity,
                expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (attempt) DO NOTHING
                """,
                [
                    identity.id.rawValue, identity.attempt, identity.bindingHash,
                    identity.ticketHash, identity.team.rawValue, identity.subject.rawValue,
                    identity.sealedIdentity, identity.expiresAt.milliseconds,
                ])
            return connection.changesCount > 0 ? identity : nil
        }
    }

    package func waiting(_ id: WaitingID, at now: Timestamp) async throws(StoreError) -> WaitingIdentity? {
        try await read { connection in try connection.waiting("id = ?", [id.rawValue], at: now) }
    }

    package func waiting(ticket: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity? {
        try await read { connection in try connection.waiting("ticket_hash = ?", [ticket], at: now) }
    }

    package func waiting(attempt: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity? {
        try await read { connection in try connection.waiting("attempt = ?", [attempt], at: now) }
    }
}

extension SQLiteConnection {
    /// - Parameter condition: selects one.
    fileprivate func waiting(
        _ condition: String, _ arguments: StatementArguments, at now: Timestamp
    ) throws -> WaitingIdentity? {
        let row = try firstRow(
            """
            SELECT id, attempt, binding_hash, ticket_hash, sealed_identity, team, subject, expires_at, link
            FROM waiting_identity WHERE \(condition)
            """, arguments)
        guard let row else { return nil }
        var found = WaitingIdentity(
            id: WaitingID(unchecked: try row.text(0)), attempt: try row.digest(1), bindingHash: try row.digest(2),
            ticketHash: try row.digest(3), sealedIdentity: try row.bytes(4), team: TeamID(try row.text(5)),
            subject: AppleSubject(try row.text(6)), expiresAt: try row.moment(7))
        found.link = (row[8] as String?).map { LinkKey(unchecked: $0) }
        return now < found.expiresAt ? found : nil
    }
}
