package import Coding
package import Crypto
import Storage
import Synchronization

/// A stored refresh token, with the context of its seal.
package struct SealedToken: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        /// For an existing person.
        case credential(TeamID, AppleSubject, ClientID)
        /// In the revocation queue, for a deleted person.
        case revocation(Int64)
        /// In the identity that waits for a link to complete.
        case link(LinkID)
    }

    package var place: Place
    package var sealed: [UInt8]
    /// Needed to open the seal and to seal the token again.
    package var context: [UInt8]
    package var purpose: SealingPurpose = .refreshToken
}

/// The sealing key of the last started server.
package struct SealingKeyStamp: Hashable, Sendable {
    package var keyID: String
    /// When a server first started with it; nil when that was before Bramley recorded it.
    package var since: Timestamp?
}

extension Database {
    /// Nil before the first server started.
    package func sealingKeyStamp() async throws(Failure) -> SealingKeyStamp? {
        try await read { snapshot in
            guard let keyID = try snapshot.stamp(Migrations.sealingKeyID) else { return nil }
            let since = try snapshot.stamp(Migrations.sealingKeySince).flatMap { Int64($0) }
            return SealingKeyStamp(keyID: keyID, since: since.map { Timestamp(milliseconds: $0) })
        }
    }

    package func sealedTokenCount() async throws(Failure) -> Int {
        try await read { snapshot in
            try snapshot.count(
                """
                SELECT (SELECT count(*) FROM apple_credential WHERE sealed_refresh_token IS NOT NULL)
                + (SELECT count(*) FROM revocation WHERE sealed_refresh_token IS NOT NULL)
                + (SELECT count(*) FROM account_link WHERE sealed_identity IS NOT NULL)
                """)
        }
    }

    /// At most `limit` tokens after `place`, in a stable order; nil begins at the first.
    package func sealedTokens(after place: SealedToken.Place?, limit: Int) async throws(Failure) -> [SealedToken] {
        try await read { snapshot in
            let tokens: [SealedToken]
            switch place {
            case .link(let id): return try snapshot.linkedIdentities(after: id.rawValue, limit: limit)
            case .revocation(let id): tokens = try snapshot.queuedTokens(after: id, limit: limit)
            case nil, .credential:
                let found = try snapshot.credentialTokens(after: place, limit: limit)
                tokens = found.isEmpty ? try snapshot.queuedTokens(after: 0, limit: limit) : found
            }
            return tokens.isEmpty ? try snapshot.linkedIdentities(after: "", limit: limit) : tokens
        }
    }

    /// Replaces and counts seals that are still as they were read; a token that was replaced or removed is skipped.
    package func replaceSealedTokens(_ changes: [(token: SealedToken, sealed: [UInt8])]) async throws(Failure) -> Int {
        try await write { transaction in
            try changes.reduce(0) { try $0 + transaction.replace($1.token, with: $1.sealed) }
        }
    }

    /// The latest entry about a deleted person, before `moment` or at all. Its hash is under the key of that time.
    package func lastDeletion(before moment: Timestamp?) async throws(Failure) -> Timestamp? {
        try await read { snapshot in
            try snapshot.value(
                "SELECT max(queued_at) FROM revocation WHERE queued_at < ?", [moment?.milliseconds ?? Int64.max])
        }
    }
}

extension Snapshot {
    fileprivate func stamp(_ key: String) throws -> String? {
        try stored(key).map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate func credentialTokens(after place: SealedToken.Place?, limit: Int) throws -> [SealedToken] {
        var last = ("", "", "")
        if case .credential(let team, let subject, let client) = place {
            last = (team.rawValue, subject.rawValue, client.rawValue)
        }
        return try rows(
            """
            SELECT c.client_id, c.sealed_refresh_token, i.team, i.subject
            FROM apple_identity i JOIN apple_credential c ON c.identity = i.id
            WHERE (i.team, i.subject, c.client_id) > (?, ?, ?) AND c.sealed_refresh_token IS NOT NULL
            ORDER BY i.team, i.subject, c.client_id LIMIT ?
            """, [last.0, last.1, last.2, limit]
        ).map { row in
            let (team, subject, client): (TeamID, AppleSubject, ClientID) = (
                try row["team"], try row["subject"], try row["client_id"]
            )
            return SealedToken(
                place: .credential(team, subject, client), sealed: try row["sealed_refresh_token"],
                context: RefreshToken.sealingContext(team: team, subject: subject, clientID: client))
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
                place: .revocation(try row["id"]), sealed: try row["sealed_refresh_token"],
                context: QueuedRevocation.sealingContext(
                    subjectHash: try row["subject_hash"], clientID: try row["client_id"]))
        }
    }

    /// Identities that wait for a link to complete.
    fileprivate func linkedIdentities(after id: String, limit: Int) throws -> [SealedToken] {
        try rows(
            "SELECT id, sealed_identity FROM account_link WHERE id > ? AND sealed_identity IS NOT NULL ORDER BY id LIMIT ?",
            [id, limit]
        ).map { row in
            let id: LinkID = try row["id"]
            return SealedToken(
                place: .link(id), sealed: try row["sealed_identity"], context: LinkedIdentity.context(of: id),
                purpose: LinkedIdentity.purpose)
        }
    }
}

extension Transaction {
    /// - Returns: 1, or 0 when it is no longer there as it was read.
    fileprivate func replace(_ token: SealedToken, with sealed: [UInt8]) throws -> Int {
        switch token.place {
        case .credential(let team, let subject, let client):
            try change(
                """
                UPDATE apple_credential SET sealed_refresh_token = ?
                WHERE identity = (SELECT id FROM apple_identity WHERE team = ? AND subject = ?) AND client_id = ?
                AND sealed_refresh_token = ?
                """, [sealed, team, subject, client, token.sealed])
        case .revocation(let id):
            try change(
                "UPDATE revocation SET sealed_refresh_token = ? WHERE id = ? AND sealed_refresh_token = ?",
                [sealed, id, token.sealed])
        case .link(let id):
            try change(
                "UPDATE account_link SET sealed_identity = ? WHERE id = ? AND sealed_identity = ?",
                [sealed, id, token.sealed])
        }
    }
}
