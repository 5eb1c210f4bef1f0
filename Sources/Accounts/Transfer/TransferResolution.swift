import Coding
import Crypto

// Resolves subjects to people during a move from one team to another.
extension Snapshot {
    /// The identity of a subject for `team`: its own, or a transferring team's, resolved to the current identity.
    func identity(team: TeamID, subject: AppleSubject) throws -> Int64? {
        let own: Int64? = try value(
            "SELECT coalesce(moved_to, id) FROM apple_identity WHERE team = ? AND subject = ?", [team, subject])
        if let own { return own }
        let former = try rows(
            """
            SELECT coalesce(o.moved_to, o.id) AS id FROM apple_identity o LEFT JOIN apple_identity n ON n.id = o.moved_to
            WHERE o.subject = ? AND o.transfer_target IS NOT NULL AND coalesce(n.team, o.transfer_target) = ? LIMIT 2
            """, [subject, team])
        // Two teams may have used one subject for two people; then it is ambiguous.
        return former.count == 1 ? try former[0]["id"] : nil
    }

    /// The owners of many subjects, resolved likewise.
    func owners(of subjects: Set<AppleSubject>, team: TeamID) throws -> [AppleSubject: UserID] {
        let wanted = TextList(subjects.map(\.rawValue))
        var owners: [AppleSubject: UserID] = [:]
        for row in try rows(
            """
            SELECT subject, user FROM apple_identity
            WHERE team = ? AND subject IN (SELECT value FROM json_each(?))
            """, [team, wanted])
        {
            owners[try row["subject"]] = try row["user"]
        }
        let former = try rows(
            """
            SELECT o.subject, min(o.user) AS user FROM apple_identity o LEFT JOIN apple_identity n ON n.id = o.moved_to
            WHERE o.subject IN (SELECT value FROM json_each(?)) AND o.transfer_target IS NOT NULL
            AND coalesce(n.team, o.transfer_target) = ? GROUP BY o.subject HAVING count(*) = 1
            """, [wanted, team])
        for row in former {
            let subject: AppleSubject = try row["subject"]
            if owners[subject] == nil { owners[subject] = try row["user"] }
        }
        return owners
    }

    /// The person's subjects under teams they came from.
    func formerSubjects(of claims: IdentityClaims, team: TeamID) throws -> [AppleSubject] {
        try rows(
            """
            SELECT subject FROM apple_identity WHERE transfer_target = ?1 AND transfer_subject = ?2 UNION
            SELECT o.subject FROM apple_identity n JOIN apple_identity o ON o.moved_to = n.id
            WHERE n.team = ?1 AND n.subject = ?3
            """, [team, claims.transferSubject, claims.subject]
        ).map { try $0["subject"] }
    }
}

extension SubjectHashes {
    /// For a deleted person who was moving to another team: the hash that identifies them when they arrive there.
    func transfer(_ target: TeamID, _ subject: TransferSubject) -> [UInt8] {
        keyring.keyedHash(of: message(target, subject.rawValue), purpose: Self.transferPurpose)
    }

    /// The hashes under which this person's deletion may be queued: of their subject, and of their transfer subject.
    func all(_ team: TeamID, _ claims: IdentityClaims) -> [[UInt8]] {
        let named = claims.transferSubject.map { name in
            keyring.keyedHashes(of: message(team, name), purpose: Self.transferPurpose)
        }
        return all(team, claims.subject) + (named ?? [])
    }

    private static var transferPurpose: SealingPurpose { .other("transfer-hash") }
}

extension User {
    /// Whether this is their address; also true for nil, since notifications may omit it.
    func has(_ address: EmailAddress?) -> Bool {
        guard let mine = email?.address, let address else { return false }
        return mine.isExactly(address.address)
    }
}
