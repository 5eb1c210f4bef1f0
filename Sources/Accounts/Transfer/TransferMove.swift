import Coding
import Crypto
import Storage

/// A person who is moving to another team, by the identity in the former team.
struct TransferOrigin {
    var row: Int64
    var user: User
    var lastSignIn: Timestamp
    var movedTo: Int64?

    fileprivate init(_ found: Row) throws(StoreError) {
        row = try found["i.id"]
        user = try User(found)
        lastSignIn = try found["last_sign_in_issued_at"]
        movedTo = try found["moved_to"]
    }
}

// Moves people to another team.
extension Transaction {
    func origin(_ name: TransferSubject, to team: TeamID) throws -> TransferOrigin? {
        try firstRow(
            """
            SELECT \(User.columns), i.last_sign_in_issued_at, i.moved_to FROM apple_identity i
            JOIN user u ON u.id = i.user WHERE i.transfer_target = ? AND i.transfer_subject = ?
            """, [team, name]
        ).map { try TransferOrigin($0) }
    }

    /// Moves a person who first signs in under this team with the transfer subject of their old team, if there is one.
    func welcome(_ claims: IdentityClaims, to team: TeamID) throws -> Bool {
        guard let name = claims.transferSubject.map({ TransferSubject($0) }),
            let origin = try origin(name, to: team), origin.movedTo == nil
        else { return false }
        let target = try insert(claims.subject, name: name, of: origin, to: team)
        try link(origin, to: target)
        try finish(origin.user, before: origin.user)
        return true
    }

    /// Moves a person according to Apple's answer to the import.
    func move(
        _ name: TransferSubject, to identity: TransferredIdentity, of team: TeamID, joins: Bool
    ) throws -> MoveResult {
        guard let origin = try origin(name, to: team) else { return .gone }
        if origin.movedTo != nil { return .alreadyMoved(origin.user.id) }
        guard let second = try self.person(team: team, subject: identity.subject) else {
            let target = try insert(identity.subject, name: name, of: origin, to: team)
            return try settle(origin, at: target, address: identity.email)
        }
        guard second.user.id == origin.user.id else { return try join(origin, second, joins: joins) }
        // The person is back, with their former identity here.
        try run(
            """
            UPDATE apple_identity SET moved_to = NULL, transfer_target = NULL, transfer_subject = NULL,
            transfer_failure = NULL WHERE id = ?
            """, [second.identity])
        if second.user.identityCredential.state == .transferred, let status = arrival(of: origin) {
            try update(status, ofIdentity: second.identity)
        }
        return try settle(origin, at: second.identity, address: identity.email)
    }

    /// - Parameter address: the person's current one, from Apple.
    private func settle(_ origin: TransferOrigin, at target: Int64, address: EmailAddress?) throws -> MoveResult {
        try link(origin, to: target)
        var user = origin.user
        user.adoptRelayAddress(address)
        if user.email != origin.user.email { try recordReport(email: now, ofIdentity: target) }
        try finish(user, before: origin.user)
        return .moved(origin.user.id)
    }

    /// Two accounts of one person.
    private func join(_ origin: TransferOrigin, _ person: Person, joins: Bool) throws -> MoveResult {
        let (first, second, target) = (origin.user, person.user, person.identity)
        if let one = first.externalID, let other = second.externalID, !one.isExactly(other) {
            try recordTransferFailure(TransferFailure.twoExternalIDs, of: origin.row)
            return .twoExternalIDs(of: first.id, second.id)
        }
        guard joins else {
            try recordTransferFailure(TransferFailure.secondAccount, of: origin.row)
            return .secondAccount(of: first.id, second.id)
        }
        var reports = try lastReports(of: first.id)
        let secondReports = try lastReports(of: second.id)
        try run("UPDATE apple_identity SET user = ? WHERE user = ?", [first.id, second.id])
        // Applications know the person by the account that is deleted, so they sign in there again.
        try endSessions(
            where: "s.user = ?1 AND s.id IN (SELECT session FROM openid_participant)", [second.id], cause: .replaced)
        try run("UPDATE session SET user = ? WHERE user = ?", [first.id, second.id])
        try run("UPDATE account_link SET user = ? WHERE user = ?", [first.id, second.id])
        try record(.userTransferred, user: second.id, into: first.id)
        invalidate(.user(second.id))
        try forgetAudited(second.id)
        try run("DELETE FROM user WHERE id = ?", [second.id])
        try link(origin, to: target)
        var user = first
        user.absorb(second, reports: &reports, secondReports)
        try run("UPDATE user SET email_event_at = ? WHERE id = ?", [reports.forwarding, first.id])
        try finish(user, before: first)
        // A person disabled under one identity is not enabled through the other.
        if second.state == .disabled {
            try setState(.disabled, of: user, cause: .userDisabled)
        } else if user.state != .active {
            try endSessions(of: first.id, cause: .userDisabled)
        }
        return .joined(first.id, from: second.id)
    }

    private func insert(
        _ subject: AppleSubject, name: TransferSubject, of origin: TransferOrigin, to team: TeamID
    ) throws -> Int64 {
        var user = origin.user
        user.appleSubject = subject
        if let status = arrival(of: origin) { user.identityCredential = status }
        return try insertIdentity(of: user, team: team, transferSubject: name.rawValue, lastSignIn: origin.lastSignIn)
    }

    private func arrival(of origin: TransferOrigin) -> CredentialStatus? {
        CredentialStatus.transition(from: nil, on: .transferredIn(at: now), lastSignIn: origin.lastSignIn)
    }

    /// The new identity replaces the old one, and those that led to it. Sessions continue under the new one; refresh tokens
    /// stay with the old one, for a deletion to revoke.
    private func link(_ origin: TransferOrigin, to target: Int64) throws {
        try run(
            """
            UPDATE session SET identity = ?1 WHERE user IN (SELECT user FROM apple_identity WHERE id = ?2)
            AND identity IN (SELECT id FROM apple_identity WHERE id = ?2 OR moved_to = ?2)
            """, [target, origin.row])
        try run(
            "UPDATE apple_identity SET moved_to = ?1 WHERE (id = ?2 OR moved_to = ?2) AND id <> ?1",
            [target, origin.row])
        try run("UPDATE apple_identity SET transfer_failure = NULL WHERE id = ?", [origin.row])
        // No user.updated: the person is now known by the new identity and its state.
        let status = CredentialStatus.transition(
            from: origin.user.identityCredential, on: .transferredOut(at: now), lastSignIn: origin.lastSignIn)
        if let status { try update(status, ofIdentity: origin.row) }
    }

    private func finish(_ user: User, before: User) throws {
        let changed = before.changedFields(comparedWith: user)
        if !changed.isEmpty { try update(user) }
        var fields = ["appleSubject"] + changed
        // A person who was refused before, or had withdrawn consent, is back.
        if before.credential.state != .authorized { fields.append("credentialState") }
        try record(.userTransferred, user: user.id, fields: fields)
        invalidate(.user(user.id))
        if changed.contains("organizationID") { try endLeftClients(user) }
    }

    func recordTransferFailure(_ reason: String, of row: Int64) throws {
        try run(
            "UPDATE apple_identity SET transfer_failure = ?, transfer_asked_at = ? WHERE id = ?", [reason, now, row])
    }
}

/// Values of `transfer_failure` besides Apple's.
enum TransferFailure {
    static let secondAccount = "second_account"
    static let twoExternalIDs = "two_external_ids"
    static let contradiction = "contradiction"
}
