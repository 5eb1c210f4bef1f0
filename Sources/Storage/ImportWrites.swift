package import Coding
package import RelyingParty

extension Database {
    /// Imports some people in one transaction, in order, each with its event. New ones are `active`, whatever the
    /// policy for sign-ups: the operator vouches for them.
    /// - Parameter isRehearsal: says what would become of each, and writes nothing.
    /// - Returns: one result for each, in the same order.
    package func importPeople(
        _ people: [ImportedPerson], team: TeamID, isRehearsal: Bool, at now: Timestamp
    ) async throws(StoreError) -> [ImportResult] {
        let writer = ImportWriter(team: team, now: now, identifiers: identifiers, subjectHashes: subjectHashes)
        return try await commits.write { connection, effects in
            guard isRehearsal else {
                return try people.map { try writer.write($0, on: connection, effects: &effects) }
            }
            var forgotten = WriteEffects()
            try connection.run("SAVEPOINT rehearsal")
            let results = try people.map { try writer.write($0, on: connection, effects: &forgotten) }
            try connection.run("ROLLBACK TO rehearsal")
            try connection.run("RELEASE rehearsal")
            return results
        }
    }
}

/// Imports one person after the other inside one transaction.
private struct ImportWriter: Sendable {
    let team: TeamID
    let now: Timestamp
    let identifiers: RandomIdentifier
    let subjectHashes: SubjectHashes

    func write(
        _ person: ImportedPerson, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> ImportResult {
        let known = try connection.firstRow(
            """
            SELECT \(UserColumns.list), i.id FROM apple_identity i JOIN user u ON u.id = i.user
            WHERE i.team = ? AND i.subject = ?
            """, [team.rawValue, person.subject.rawValue])
        if let known {
            return try fill(
                try User(row: known), identity: known[UserColumns.count] as Int64? ?? 0, from: person, on: connection,
                effects: &effects)
        }
        if let refusal = try refusal(ofNew: person, on: connection) { return .refused(refusal) }
        try insert(person, on: connection)
        return .imported(person.newUser)
    }

    private func refusal(ofNew person: ImportedPerson, on connection: SQLiteConnection) throws -> ImportRefusal? {
        for hash in subjectHashes.all(team, person.subject) {
            let waits = try connection.integer(
                "SELECT 1 FROM revocation WHERE subject_hash = ? AND sealed_refresh_token IS NOT NULL", [hash])
            if waits != nil { return .beingDeleted }
        }
        guard let externalID = person.externalID else { return nil }
        return try connection.owner(ofExternalID: externalID).map { .externalIDTaken(by: $0) }
    }

    private func fill(
        _ user: User, identity: Int64, from person: ImportedPerson, on connection: SQLiteConnection,
        effects: inout WriteEffects
    ) throws -> ImportResult {
        if let wanted = person.externalID {
            if let present = user.externalID {
                guard present.isExactly(wanted) else { return .refused(.otherExternalID(of: user.id)) }
            } else if let owner = try connection.owner(ofExternalID: wanted) {
                return .refused(.externalIDTaken(by: owner))
            }
        }
        var filled = user
        let fields = filled.fill(from: person)
        if !fields.isEmpty {
            try connection.write(filled, at: now)
            try connection.record(.userUpdated, user: user.id, fields: fields, at: now, identifiers: identifiers)
            effects.invalidations.append(.user(user.id))
        }
        // A token of somebody who has since withdrawn their consent is worth nothing.
        let tookToken =
            user.identityCredential.state == .authorized
            ? try insert(person.credential, identity: identity, on: connection) : false
        return fields.isEmpty && !tookToken ? .unchanged(user.id) : .updated(user.id)
    }

    private func insert(_ person: ImportedPerson, on connection: SQLiteConnection) throws {
        let transition = CredentialStatus.transition(
            from: nil, on: .imported(at: now), lastSignIn: ImportedPerson.signInTime)
        guard let status = transition else { throw StoreError.inconsistent("an import makes no identity") }
        try connection.run(
            """
            INSERT INTO user (id, state, external_id, given_name, family_name, email, email_verified, email_private,
            created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                person.newUser.rawValue, User.State.active.rawValue, person.externalID, person.name.given,
                person.name.family, person.email?.address, person.email?.isVerified ?? false,
                person.email?.isPrivate ?? false, now.milliseconds, now.milliseconds,
            ])
        try connection.run(
            """
            INSERT INTO apple_identity (user, team, subject, credential_state, credential_changed_at,
            credential_cause, last_sign_in_issued_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                person.newUser.rawValue, team.rawValue, person.subject.rawValue, status.state.rawValue,
                status.changedAt?.milliseconds, status.cause.rawValue, ImportedPerson.signInTime.milliseconds,
                now.milliseconds,
            ])
        try insert(person.credential, identity: connection.lastInsertedRowID, on: connection)
        try connection.record(.userCreated, user: person.newUser, at: now, identifiers: identifiers)
    }

    /// Keeps the token of a client that has none yet; a dead one counts, since it is the newer truth.
    /// - Returns: whether it was taken.
    @discardableResult
    private func insert(
        _ credential: ImportedPerson.Credential?, identity: Int64, on connection: SQLiteConnection
    ) throws -> Bool {
        guard let credential else { return false }
        try connection.run(
            """
            INSERT INTO apple_credential (identity, client_id, sealed_refresh_token, issued_at, state)
            VALUES (?, ?, ?, ?, 'authorized') ON CONFLICT (identity, client_id) DO NOTHING
            """,
            [
                identity, credential.clientID.rawValue, credential.sealedRefreshToken,
                ImportedPerson.signInTime.milliseconds,
            ])
        return connection.changesCount > 0
    }
}
