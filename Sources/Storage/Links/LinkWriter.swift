import Coding
import RelyingParty

// What a link does to users, in one transaction each.
extension Transaction {
    // MARK: Commit

    func commit(_ commit: LinkCommit) throws -> LinkCommitResult {
        let (key, record) = (commit.key, commit.record)
        guard let link = try storedLink(key)?.link else { return .unknown }
        guard link.state == .authorized, !link.isOver(at: now), let externalID = link.externalID else {
            return .other(link)
        }
        if try hasEnded(record) { return try refuse(link, .signIn(.revoked)) }
        let decision = LinkRule.decide(
            holder: try knownPerson(record).map { person in
                LinkRule.Holder(user: person.user.id, state: person.user.state, externalID: person.user.externalID)
            },
            owner: try owner(ofExternalID: externalID), externalID: externalID,
            convertingFor: try value(
                "SELECT user FROM account_link WHERE external_id = ? AND state = 'converting' AND id <> ?",
                [externalID, key]),
            mayReplace: link.mayReplace && link.style == .ticket)

        let user: UserID
        let change: StoredLink.Change
        var takenFrom: UserID?
        var consentSavedAt: Timestamp?
        switch decision {
        case .refused(let refusal): return try refuse(link, refusal.failure)
        case .present(let present):
            (user, change) = (present, .present)
            _ = try admitLinked(record)
        case .set(let present, let from):
            (user, change, takenFrom) = (present, .set, from)
            try releaseExternalID(from: from)
            try setExternalID(externalID, of: user)
            _ = try admitLinked(record)
        case .create(let from):
            (change, takenFrom) = (.made, from)
            try releaseExternalID(from: from)
            consentSavedAt = try value(
                "SELECT saved_at FROM first_consent WHERE team = ? AND subject = ?",
                [record.team, record.claims.subject])
            user = try admitLinked(record).user.id
            try run("UPDATE user SET external_id = ? WHERE id = ?", [externalID, user])
            // They are back: what they consented to now must not be revoked.
            try cancelRevocations(context.subjectHashes.all(record.team, record.claims))
        }
        try run(
            """
            UPDATE account_link SET state = 'converting', user = ?, change = ?, taken_from = ?, consent_saved_at = ?,
            next_attempt_at = ?, is_asking = 0, failure = NULL WHERE id = ?
            """,
            [user, change, takenFrom, consentSavedAt, commit.conversionDueAt, key])
        if link.kind == .link {
            // Nothing to convert.
            try end(key, as: .done)
            try self.record(.accountLinked, user: user)
        }
        guard let committed = try storedLink(key)?.link else { return .unknown }
        return .committed(committed)
    }

    /// Stores what the identity brings to its user, new or known: address, refresh token and name. This happens now, as
    /// in every sign-in, not after the conversion: by then newer data may exist.
    private func admitLinked(_ record: SignInRecord) throws -> Person {
        guard let person = try admit(record) else { throw StoreError.inconsistent("a link's sign-in is closed") }
        return person
    }

    private func refuse(_ link: Link, _ failure: LinkFailure) throws -> LinkCommitResult {
        try end(link.key, as: .failed, failure: failure.stored)
        return .refused(failure)
    }

    /// Takes the external ID from its owner, and ends their sessions, which belong to the application's account.
    private func releaseExternalID(from owner: UserID?) throws {
        guard let owner else { return }
        // The sessions first: their events carry the external ID, by which the application recognises them.
        try endSessions(of: owner, cause: .replaced)
        try setExternalID(nil, of: owner)
    }

    private func setExternalID(_ externalID: String?, of user: UserID) throws {
        try run("UPDATE user SET external_id = ?, updated_at = ? WHERE id = ?", [externalID, now, user])
        try record(.userUpdated, user: user, fields: ["externalID"])
        invalidate(.user(user))
    }

    // MARK: Done

    func finish(_ finish: LinkFinish) throws -> Link? {
        guard let link = try storedLink(finish.key)?.link else { return nil }
        guard link.state == .converting, let user = link.user else { return link }
        // Changed while the application was being asked: do not claim that their Apple Account opens it.
        guard let present = try self.user(user), ConversionRule.isAccount(of: present, link) else {
            try end(finish.key, as: .failed, failure: ConversionRule.Obstacle.accountChanged.rawValue)
            return try storedLink(finish.key)?.link
        }
        let session = try session(finish, of: user)
        try end(finish.key, as: .done, session: session)
        try record(link.kind == .upgrade ? .accountUpgraded : .accountLinked, user: user)
        return try storedLink(finish.key)?.link
    }

    /// The session of the person who upgraded, unless Apple ended their consent during the conversion: then the
    /// password is gone all the same, and the person consents again.
    private func session(_ finish: LinkFinish, of user: UserID) throws -> SessionID? {
        guard finish.makesSession, let record = finish.record else { return nil }
        if try hasEnded(record) { return nil }
        guard let identity = try identity(team: record.team, subject: record.claims.subject),
            let row = try firstRow("\(User.ofIdentity) WHERE i.id = ? AND u.id = ?", [identity, user])
        else { return nil }
        let person = try Person(row)
        guard person.user.state == .active, person.user.identityCredential.state == .authorized else { return nil }
        return try makeSession(record, person: person).id
    }

    // MARK: Undo

    func undo(_ key: LinkKey) throws -> Link? {
        guard let stored = try storedLink(key) else { return nil }
        let link = stored.link
        guard link.state == .converting, let user = link.user, let externalID = link.externalID else { return link }
        // Before the user is deleted: the row would be deleted too.
        try run("UPDATE account_link SET user = NULL WHERE id = ?", [key])
        // Unless the application has given them another one since.
        let isTheirs = try owner(ofExternalID: externalID) == user
        let isUntouched = try isTheirs && stored.change == .made && isUntouched(user)
        // Recorded before the user's end: an application that deletes their data then keeps the account.
        if isTheirs, stored.change != .present { try setExternalID(nil, of: user) }
        if isUntouched { try unmake(user, stored) }
        if let former = stored.takenFrom, try owner(ofExternalID: externalID) == nil,
            let before = try self.user(former), before.externalID == nil
        {
            try setExternalID(externalID, of: former)
        }
        try end(key, as: .failed, failure: LinkFailure.conversionFailed(retryAfter: nil).reason)
        return try storedLink(key)?.link
    }

    /// Whether neither the application nor the operator has changed a user that a link created.
    private func isUntouched(_ user: UserID) throws -> Bool {
        guard let present = try self.user(user) else { return false }
        return present.state == .active && present.groups.isEmpty
    }

    /// Deletes the user that a commit created. Their consent at Apple is left alone: it may be older than the link. The
    /// name returns to where it waits for their next sign-in, since Apple does not send it again. The journal
    /// continues: readers that learned of the user learn of the end.
    private func unmake(_ user: UserID, _ stored: StoredLink) throws {
        if let savedAt = stored.consentSavedAt {
            try run(
                """
                INSERT INTO first_consent (team, subject, given_name, family_name, saved_at)
                SELECT i.team, i.subject, u.given_name, u.family_name, ?2 FROM user u
                JOIN apple_identity i ON i.user = u.id WHERE u.id = ?1 AND i.moved_to IS NULL
                ON CONFLICT (team, subject) DO NOTHING
                """, [user, savedAt])
        }
        try record(.accountDeleted, user: user, cause: .linkRemoved)
        invalidate(.user(user))
        try run("DELETE FROM user WHERE id = ?", [user])
    }
}
