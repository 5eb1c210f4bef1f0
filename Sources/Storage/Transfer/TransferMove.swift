import Coding
import Crypto
import RelyingParty

/// One person being moved to another team, inside a transaction.
struct TransferMove {
    let team: TeamID
    let now: Timestamp
    let identifiers: RandomIdentifier

    /// The identity that is left behind.
    struct Origin {
        var row: Int64
        var user: User
        var lastSignIn: Timestamp
        var movedTo: Int64?
    }

    func origin(
        _ name: TransferSubject, row: Int64? = nil, on connection: SQLiteConnection
    ) throws -> Origin? {
        let found = try connection.firstRow(
            """
            SELECT \(UserColumns.list), i.id, i.last_sign_in_issued_at, i.moved_to FROM apple_identity i
            JOIN user u ON u.id = i.user WHERE i.transfer_target = ? AND i.transfer_subject = ?
            """, [team.rawValue, name.rawValue])
        guard let found, let id = found[UserColumns.count] as Int64?, row == nil || row == id else { return nil }
        return Origin(
            row: id, user: try User(row: found), lastSignIn: try found.moment(UserColumns.count + 1),
            movedTo: found[UserColumns.count + 2] as Int64?)
    }

    /// Moves somebody who signs in under this team for the first time, and whom Apple calls by a name that their old
    /// team was given for them.
    /// - Returns: whether there was somebody to move.
    func welcome(
        _ claims: IdentityClaims, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> Bool {
        guard let name = claims.transferSubject.map({ TransferSubject($0) }),
            let origin = try origin(name, on: connection), origin.movedTo == nil
        else { return false }
        let target = try insert(claims.subject, name: name, of: origin, on: connection)
        try link(origin, to: target, on: connection)
        try finish(origin.user, before: origin.user, on: connection, effects: &effects)
        return true
    }

    /// Moves somebody by what Apple answered to the import.
    func move(
        _ person: ImportedIdentity, to identity: TransferredIdentity, joins: Bool, on connection: SQLiteConnection,
        effects: inout WriteEffects
    ) throws -> MoveResult {
        guard let origin = try origin(person.transferSubject, row: person.row, on: connection) else { return .gone }
        if origin.movedTo != nil { return .alreadyMoved(origin.user.id) }
        let present = try connection.firstRow(
            """
            SELECT \(UserColumns.list), i.id FROM apple_identity i JOIN user u ON u.id = i.user
            WHERE i.team = ? AND i.subject = ?
            """, [team.rawValue, identity.subject.rawValue])
        guard let present, let target = present[UserColumns.count] as Int64? else {
            let target = try insert(identity.subject, name: person.transferSubject, of: origin, on: connection)
            try link(origin, to: target, on: connection)
            let user = try take(identity.email, of: origin, target: target, on: connection)
            try finish(user, before: origin.user, on: connection, effects: &effects)
            return .moved(origin.user.id)
        }
        let second = try User(row: present)
        guard second.id == origin.user.id else {
            return try settle(origin, target: target, second: second, joins: joins, on: connection, effects: &effects)
        }
        // They went, and are back: the identity they had here is the one they have again.
        try connection.run(
            """
            UPDATE apple_identity SET moved_to = NULL, transfer_target = NULL, transfer_subject = NULL,
            transfer_failure = NULL WHERE id = ?
            """, [target])
        if second.identityCredential.state == .transferred, let status = arrival(of: origin) {
            try connection.write(status, toIdentity: target)
        }
        try link(origin, to: target, on: connection)
        let user = try take(identity.email, of: origin, target: target, on: connection)
        try finish(user, before: origin.user, on: connection, effects: &effects)
        return .moved(origin.user.id)
    }

    /// The user with the address that Apple gives them now.
    private func take(
        _ address: EmailAddress?, of origin: Origin, target: Int64, on connection: SQLiteConnection
    ) throws -> User {
        var user = origin.user
        user.takeRelayAddress(address)
        if user.email != origin.user.email { try connection.noteTold(email: now, ofIdentity: target) }
        return user
    }

    // MARK: Two accounts of one person

    private func settle(
        _ origin: Origin, target: Int64, second: User, joins: Bool, on connection: SQLiteConnection,
        effects: inout WriteEffects
    ) throws -> MoveResult {
        let first = origin.user
        if let one = first.externalID, let other = second.externalID, !one.isExactly(other) {
            try connection.noteTransferFailure(TransferFailure.twoExternalIDs, of: origin.row, at: now)
            return .twoExternalIDs(of: first.id, second.id)
        }
        guard joins else {
            try connection.noteTransferFailure(TransferFailure.secondAccount, of: origin.row, at: now)
            return .secondAccount(of: first.id, second.id)
        }
        var told = try connection.lastTold(of: first.id)
        let secondTold = try connection.lastTold(of: second.id)
        try connection.run(
            "UPDATE apple_identity SET user = ? WHERE user = ?", [first.id.rawValue, second.id.rawValue])
        try connection.run("UPDATE session SET user = ? WHERE user = ?", [first.id.rawValue, second.id.rawValue])
        try connection.joinLinks(of: second.id, to: first.id)
        try connection.record(
            .userTransferred, user: second.id, into: first.id, at: now, identifiers: identifiers)
        effects.invalidations.append(.user(second.id))
        try connection.run("DELETE FROM user WHERE id = ?", [second.id.rawValue])
        try link(origin, to: target, on: connection)
        var user = first
        user.absorb(second, told: &told, secondTold)
        try connection.run(
            "UPDATE user SET email_event_at = ? WHERE id = ?", [told.forwarding?.milliseconds, first.id.rawValue])
        try finish(user, before: first, on: connection, effects: &effects)
        // Whoever was shut out under one name is not let in by the other.
        if second.state == .disabled {
            try connection.setState(
                .disabled, of: user, cause: .userDisabled, at: now, identifiers: identifiers, effects: &effects)
        } else if user.state != .active {
            try connection.endSessions(
                where: "s.user = ?", [first.id.rawValue], cause: .userDisabled, at: now, identifiers: identifiers,
                effects: &effects)
        }
        return .joined(first.id, from: second.id)
    }

    // MARK: Steps

    private func insert(
        _ subject: AppleSubject, name: TransferSubject, of origin: Origin, on connection: SQLiteConnection
    ) throws -> Int64 {
        try connection.run(
            """
            INSERT INTO apple_identity (user, team, subject, transfer_subject, credential_state,
            last_sign_in_issued_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                origin.user.id.rawValue, team.rawValue, subject.rawValue, name.rawValue,
                CredentialState.authorized.rawValue, origin.lastSignIn.milliseconds, now.milliseconds,
            ])
        let row = connection.lastInsertedRowID
        if let status = arrival(of: origin) { try connection.write(status, toIdentity: row) }
        return row
    }

    private func arrival(of origin: Origin) -> CredentialStatus? {
        CredentialStatus.transition(from: nil, on: .transferredIn(at: now), lastSignIn: origin.lastSignIn)
    }

    /// From here on the old identity, and what had led to it, stands for the new one. Its sessions live on as the new
    /// one's; its refresh tokens stay, for a deletion to revoke.
    private func link(_ origin: Origin, to target: Int64, on connection: SQLiteConnection) throws {
        try connection.run(
            """
            UPDATE session SET identity = ?1
            WHERE identity = ?2 OR identity IN (SELECT id FROM apple_identity WHERE moved_to = ?2)
            """, [target, origin.row])
        try connection.run(
            "UPDATE apple_identity SET moved_to = ?1 WHERE (id = ?2 OR moved_to = ?2) AND id <> ?1",
            [target, origin.row])
        try connection.run("UPDATE apple_identity SET transfer_failure = NULL WHERE id = ?", [origin.row])
        // No user.updated: the person is known by the new identity, and that one's state.
        let status = CredentialStatus.transition(
            from: origin.user.identityCredential, on: .transferredOut(at: now), lastSignIn: origin.lastSignIn)
        if let status { try connection.write(status, toIdentity: origin.row) }
    }

    private func finish(
        _ user: User, before: User, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        let changed = before.changedFields(comparedWith: user)
        if !changed.isEmpty { try connection.write(user, at: now) }
        var fields = ["appleSubject"] + changed
        // Whoever was refused before, or had taken their consent back, is here again.
        if before.credential.state != .authorized { fields.append("credentialState") }
        try connection.record(.userTransferred, user: user.id, fields: fields, at: now, identifiers: identifiers)
        effects.invalidations.append(.user(user.id))
    }
}

/// `transfer_failure` besides what Apple says.
enum TransferFailure {
    static let secondAccount = "second_account"
    static let twoExternalIDs = "two_external_ids"
    static let contradiction = "contradiction"
}

extension SQLiteConnection {
    func noteTransferFailure(_ reason: String, of row: Int64, at now: Timestamp) throws {
        try run(
            "UPDATE apple_identity SET transfer_failure = ?, transfer_asked_at = ? WHERE id = ?",
            [reason, now.milliseconds, row])
    }
}
