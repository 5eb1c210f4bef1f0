package import Coding
package import RelyingParty
import Synchronization

extension Database: SealedTokenStore {
    package func sealingKeyStamp() async throws(StoreError) -> SealingKeyStamp? {
        try await read { connection in
            guard let keyID = try connection.stamp(Migrations.sealingKeyID) else { return nil }
            let since = try connection.stamp(Migrations.sealingKeySince).flatMap { Int64($0) }
            return SealingKeyStamp(keyID: keyID, since: since.map { Timestamp(milliseconds: $0) })
        }
    }

    package func sealedTokenCount() async throws(StoreError) -> Int {
        try await read { connection in
            let count = try connection.integer(
                """
                SELECT (SELECT count(*) FROM apple_credential WHERE sealed_refresh_token IS NOT NULL)
                + (SELECT count(*) FROM revocation WHERE sealed_refresh_token IS NOT NULL)
                + (SELECT count(*) FROM account_link WHERE sealed_identity IS NOT NULL)
                """)
            return Int(count ?? 0)
        }
    }

    package func sealedTokens(
        after place: SealedToken.Place?, limit: Int
    ) async throws(StoreError) -> [SealedToken] {
        try await read { connection in
            switch place {
            case nil, .credential:
                let tokens = try connection.credentialTokens(after: place, limit: limit)
                if !tokens.isEmpty { return tokens }
                let queued = try connection.queuedTokens(after: 0, limit: limit)
                return queued.isEmpty ? try connection.linkedIdentities(after: "", limit: limit) : queued
            case .revocation(let id):
                let queued = try connection.queuedTokens(after: id, limit: limit)
                return queued.isEmpty ? try connection.linkedIdentities(after: "", limit: limit) : queued
            case .link(let key):
                return try connection.linkedIdentities(after: key.rawValue, limit: limit)
            }
        }
    }

    package func replaceSealedTokens(
        _ changes: [(token: SealedToken, sealed: [UInt8])]
    ) async throws(StoreError) -> Int {
        try await commits.write { connection, _ in
            try changes.reduce(0) { try $0 + connection.replace($1.token, with: $1.sealed) }
        }
    }

    package func lastDeletion(before moment: Timestamp?) async throws(StoreError) -> Timestamp? {
        try await read { connection in
            try connection.integer(
                "SELECT max(queued_at) FROM revocation WHERE queued_at < ?", [moment?.milliseconds ?? Int64.max]
            ).map { Timestamp(milliseconds: $0) }
        }
    }

    package func forgetReplacedSeals() async throws(StoreError) {
        erasures.store(true, ordering: .releasing)
        try await emptyLogAfterErasures()
    }
}

extension SQLiteConnection {
    fileprivate func stamp(_ key: String) throws -> String? {
        try firstRow("SELECT value FROM meta WHERE key = ?", [key]).map {
            String(decoding: try $0.bytes(0), as: UTF8.self)
        }
    }

    fileprivate func credentialTokens(after place: SealedToken.Place?, limit: Int) throws -> [SealedToken] {
        var start: (identity: Int64, clientID: String) = (Int64.min, "")
        if case .credential(let identity, let clientID) = place { start = (identity, clientID.rawValue) }
        return try rows(
            """
            SELECT c.identity, c.client_id, c.sealed_refresh_token, i.team, i.subject
            FROM apple_credential c JOIN apple_identity i ON i.id = c.identity
            WHERE (c.identity, c.client_id) > (?, ?) AND c.sealed_refresh_token IS NOT NULL
            ORDER BY c.identity, c.client_id LIMIT ?
            """, [start.identity, start.clientID, limit]
        ).map { row in
            let clientID = ClientID(try row.text(1))
            return SealedToken(
                place: .credential(identity: row[0] as Int64? ?? 0, clientID: clientID), sealed: try row.bytes(2),
                context: RefreshToken.sealingContext(
                    team: TeamID(try row.text(3)), subject: AppleSubject(try row.text(4)), clientID: clientID))
        }
    }

    fileprivate func queuedTokens(after id: Int64, limit: Int) throws -> [SealedToken] {
        try rows(
            """
            SELECT id, client_id, sealed_refresh_token, subject_hash FROM revocation
            WHERE id > ? AND sealed_refresh_token IS NOT NULL ORDER BY id LIMIT ?
            """, [id, limit]
        ).map { row in
            SealedToken(
                place: .revocation(row[0] as Int64? ?? 0), sealed: try row.bytes(2),
                context: QueuedRevocation.sealingContext(
                    subjectHash: try row.bytes(3), clientID: ClientID(try row.text(1))))
        }
    }

    /// Identities that wait for a link's completion: an application that is down may let them wait for days.
    fileprivate func linkedIdentities(after id: String, limit: Int) throws -> [SealedToken] {
        try rows(
            """
            SELECT id, sealed_identity FROM account_link WHERE id > ? AND sealed_identity IS NOT NULL ORDER BY id LIMIT ?
            """, [id, limit]
        ).map { row in
            let key = LinkKey(unchecked: try row.text(0))
            return SealedToken(
                place: .link(key), sealed: try row.bytes(1), context: LinkSealing.context(of: key),
                purpose: LinkSealing.purpose)
        }
    }

    /// - Returns: 1, or 0 when it is not there any more as it was read.
    fileprivate func replace(_ token: SealedToken, with sealed: [UInt8]) throws -> Int {
        switch token.place {
        case .credential(let identity, let clientID):
            try run(
                """
                UPDATE apple_credential SET sealed_refresh_token = ?
                WHERE identity = ? AND client_id = ? AND sealed_refresh_token = ?
                """, [sealed, identity, clientID.rawValue, token.sealed])
        case .revocation(let id):
            try run(
                "UPDATE revocation SET sealed_refresh_token = ? WHERE id = ? AND sealed_refresh_token = ?",
                [sealed, id, token.sealed])
        case .link(let key):
            try run(
                "UPDATE account_link SET sealed_identity = ? WHERE id = ? AND sealed_identity = ?",
                [sealed, key.rawValue, token.sealed])
        }
        return changesCount
    }
}
