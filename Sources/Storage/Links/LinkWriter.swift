import Coding
import RelyingParty

/// What a link does to users, in one transaction each.
struct LinkWriter: Sendable {
    let identifiers: RandomIdentifier
    let subjectHashes: SubjectHashes

    // MARK: Commit

    func commit(
        _ commit: LinkCommit, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> LinkCommitResult {
        let (key, record) = (commit.key, commit.record)
        let now = record.now
        guard let link = try connection.storedLink(key)?.link else { return .unknown }
        guard link.state == .authorized, !link.isOver(at: now), let externalID = link.externalID else {
            return .other(link)
        }
        let hashes = subjectHashes.all(record.team, record.claims)
        if try connection.hasEnded(record, hashes: hashes) {
            return try refuse(link, .signIn(.revoked), at: now, on: connection)
        }
        let known = try connection.known(record, identifiers: identifiers, effects: &effects)
        let decision = LinkRule.decide(
            holder: try known.map { row in
                let user = try User(row: row)
                return LinkRule.Holder(user: user.id, state: user.state, externalID: user.externalID)
            },
            owner: try connection.owner(ofExternalID: externalID), externalID: externalID,
            convertingFor: try connection.firstRow(
                "SELECT user FROM account_link WHERE external_id = ? AND state = 'converting' AND id <> ?",
                [externalID, key.rawValue]
            ).map { UserID(unchecked: try $0.text(0)) },
            mayReplace: link.mayReplace && link.style == .ticket)

        let user: UserID
        let change: StoredLink.Change
        var takenFrom: UserID?
        var consentSavedAt: Timestamp?
        switch decision {
        case .refused(let refusal): return try refuse(link, refusal.failure, at: now, on: connection)
        case .present(let present):
            (user, change) = (present, .present)
            _ = try admit(record, on: connection, effects: &effects)
        case .set(let present, let from):
            (user, change, takenFrom) = (present, .set, from)
            try take(from, at: now, on: connection, effects: &effects)
            try set(externalID, of: user, at: now, on: connection, effects: &effects)
            _ = try admit(record, on: connection, effects: &effects)
        case .create(let from):
            (change, takenFrom) = (.made, from)
            try take(from, at: now, on: connection, effects: &effects)
            consentSavedAt = try connection.firstRow(
                "SELECT saved_at FROM first_consent WHERE team = ? AND subject = ?",
                [record.team.rawValue, record.claims.subject.rawValue]
            ).map { try $0.moment(0) }
            user = try admit(record, on: connection, effects: &effects).user.id
            try connection.run(
                "UPDATE user SET external_id = ? WHERE id = ?", [externalID, user.rawValue])
            // They are back: what they consented to now must not be revoked.
            try connection.cancelRevocations(hashes)
        }
        try connection.run(
            """
            UPDATE account_link SET state = 'converting', user = ?, change = ?, taken_from = ?, consent_saved_at = ?,
            next_attempt_at = ?, is_asking = 0, failure = NULL WHERE id = ?
            """,
            [
                user.rawValue, change.rawValue, takenFrom?.rawValue, consentSavedAt?.milliseconds,
                commit.conversionDueAt.milliseconds, key.rawValue,
            ])
        if link.kind == .link {
            // Nothing to convert.
            try connection.end(key, as: .done, at: now)
            try connection.record(.accountLinked, user: user, at: now, identifiers: identifiers)
        }
        guard let committed = try connection.storedLink(key)?.link else { return .unknown }
        return .committed(committed)
    }

    /// What the identity brings to its user, known or new: the address, the refresh token, the name. Now, as in every
    /// sign-in, and not when the application has converted: by then others may have said newer things.
    private func admit(
        _ record: SignInRecord, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> AdmittedPerson {
        guard let person = try connection.admit(record, identifiers: identifiers, effects: &effects) else {
            throw StoreError.inconsistent("a link's sign-in is closed")
        }
        return person
    }

    private func refuse(
        _ link: Link, _ failure: LinkFailure, at now: Timestamp, on connection: SQLiteConnection
    ) throws -> LinkCommitResult {
        try connection.end(link.key, as: .failed, failure: failure.stored, at: now)
        return .refused(failure)
    }

    /// Takes the external ID from who has it: they are signed in to the application's account no more.
    private func take(
        _ owner: UserID?, at now: Timestamp, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        guard let owner else { return }
        // First the sessions: their events carry the external ID, by which the application knows whose they were.
        try connection.endSessions(
            where: "s.user = ?", [owner.rawValue], cause: .replaced, at: now, identifiers: identifiers,
            effects: &effects)
        try set(nil, of: owner, at: now, on: connection, effects: &effects)
    }

    private func set(
        _ externalID: String?, of user: UserID, at now: Timestamp, on connection: SQLiteConnection,
        effects: inout WriteEffects
    ) throws {
        try connection.run(
            "UPDATE user SET external_id = ?, updated_at = ? WHERE id = ?",
            [externalID, now.milliseconds, user.rawValue])
        try connection.record(
            .userUpdated, user: user, fields: ["externalID"], at: now, identifiers: identifiers)
        effects.invalidations.append(.user(user))
    }

    // MARK: Done

    func finish(
        _ finish: LinkFinish, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> Link? {
        guard let link = try connection.storedLink(finish.key)?.link else { return nil }
        guard link.state == .converting, let user = link.user else { return link }
        // Changed while the application was being asked: nobody is told that their Apple Account opens it.
        guard let present = try connection.user(user), ConversionRule.isAccount(of: present, link) else {
            try connection.end(
                finish.key, as: .failed, failure: ConversionRule.Obstacle.accountChanged.rawValue, at: finish.now)
            return try connection.storedLink(finish.key)?.link
        }
        let session = try session(finish, of: user, on: connection, effects: &effects)
        try connection.end(finish.key, as: .done, session: session, at: finish.now)
        try connection.record(
            link.kind == .upgrade ? .accountUpgraded : .accountLinked, user: user, at: finish.now,
            identifiers: identifiers)
        return try connection.storedLink(finish.key)?.link
    }

    /// The session of whoever upgraded, unless Apple has ended what it stands on while the application converted: the
    /// password is gone all the same, and the person consents again.
    private func session(
        _ finish: LinkFinish, of user: UserID, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> SessionID? {
        guard finish.makesSession, let record = finish.record else { return nil }
        let hashes = subjectHashes.all(record.team, record.claims)
        if try connection.hasEnded(record, hashes: hashes) { return nil }
        guard let identity = try connection.identity(team: record.team, subject: record.claims.subject),
            let row = try connection.firstRow(
                """
                SELECT \(UserColumns.list) FROM apple_identity i JOIN user u ON u.id = i.user
                WHERE i.id = ? AND u.id = ?
                """, [identity, user.rawValue])
        else { return nil }
        let person = AdmittedPerson(user: try User(row: row), identity: identity, isNew: false)
        guard person.user.state == .active, person.user.identityCredential.state == .authorized else { return nil }
        return try connection.makeSession(
            record, person: person, identifiers: identifiers, effects: &effects
        ).id
    }

    // MARK: Undo

    func undo(
        _ key: LinkKey, at now: Timestamp, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> Link? {
        guard let stored = try connection.storedLink(key) else { return nil }
        let link = stored.link
        guard link.state == .converting, let user = link.user, let externalID = link.externalID else { return link }
        // Before the user goes: the row would go with them.
        try connection.run("UPDATE account_link SET user = NULL WHERE id = ?", [key.rawValue])
        // Unless the application has given them another one since.
        let isTheirs = try connection.owner(ofExternalID: externalID) == user
        let isUntouched = try isTheirs && stored.change == .made && isUntouched(user, on: connection)
        // Told before the end of a user: whoever deletes what they keep of them keeps the account.
        if isTheirs, stored.change != .present {
            try set(nil, of: user, at: now, on: connection, effects: &effects)
        }
        if isUntouched { try unmake(user, stored, at: now, on: connection, effects: &effects) }
        if let former = stored.takenFrom, try connection.owner(ofExternalID: externalID) == nil,
            let before = try connection.user(former), before.externalID == nil
        {
            try set(externalID, of: former, at: now, on: connection, effects: &effects)
        }
        try connection.end(
            key, as: .failed, failure: LinkFailure.conversionFailed(retryAfter: nil).reason, at: now)
        return try connection.storedLink(key)?.link
    }

    /// Whether the application and the operator have left a user alone whom a link made.
    private func isUntouched(_ user: UserID, on connection: SQLiteConnection) throws -> Bool {
        guard let present = try connection.user(user) else { return false }
        return present.state == .active && present.groups.isEmpty
    }

    /// Deletes the user a commit made. Their consent at Apple is left alone: it may be older than the link. The name goes
    /// back to where it waits for their next sign-in, since Apple does not send it again. The journal goes on: whoever
    /// was told of the user is told of the end.
    private func unmake(
        _ user: UserID, _ stored: StoredLink, at now: Timestamp, on connection: SQLiteConnection,
        effects: inout WriteEffects
    ) throws {
        if let savedAt = stored.consentSavedAt {
            try connection.run(
                """
                INSERT INTO first_consent (team, subject, given_name, family_name, saved_at)
                SELECT i.team, i.subject, u.given_name, u.family_name, ?2 FROM user u
                JOIN apple_identity i ON i.user = u.id WHERE u.id = ?1 AND i.moved_to IS NULL
                ON CONFLICT (team, subject) DO NOTHING
                """, [user.rawValue, savedAt.milliseconds])
        }
        try connection.record(
            .accountDeleted, user: user, cause: .linkRemoved, at: now, identifiers: identifiers)
        effects.invalidations.append(.user(user))
        try connection.run("DELETE FROM user WHERE id = ?", [user.rawValue])
    }
}
