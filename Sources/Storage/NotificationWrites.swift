package import Coding
package import RelyingParty
import Synchronization

extension Database: NotificationStore {
    package func apply(
        _ notification: AppleNotification, team: TeamID, at now: Timestamp
    ) async throws(StoreError) -> NotificationOutcome {
        let identifiers = identifiers
        let policy = options.onAccountDeleted
        let subjectHashes = subjectHashes
        return try await commits.write { connection, effects in
            let known = try connection.integer("SELECT 1 FROM notification WHERE jti = ?", [notification.id])
            if known != nil { return .duplicate }
            var changes = NotificationChanges(
                notification: notification, team: team, policy: policy, now: now, identifiers: identifiers,
                subjectHashes: subjectHashes)
            let outcome = try changes.apply(on: connection, effects: &effects)
            try connection.run(
                """
                INSERT INTO notification (jti, type, client_id, subject, event_time, received_at, payload, outcome)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    notification.id, notification.type, notification.clientID.rawValue,
                    changes.erases ? nil : notification.subject?.rawValue, notification.eventTime.milliseconds,
                    now.milliseconds,
                    changes.erases ? nil : notification.payload, outcome.rawValue,
                ])
            return outcome
        }
    }
}

/// One notification being applied inside its transaction.
struct NotificationChanges {
    let notification: AppleNotification
    let team: TeamID
    let policy: AccountDeletionPolicy
    let now: Timestamp
    let identifiers: RandomIdentifier
    let subjectHashes: SubjectHashes
    /// The person is erased by it or was deleted before, so it keeps neither payload nor subject itself.
    private(set) var erases = false

    /// The identity a notification is about.
    private struct Subject {
        /// The one they have now; those it stands for count with it.
        var identity: Int64
        var user: User

        func isCalled(_ name: AppleSubject) -> Bool { user.appleSubject.rawValue.isExactly(name.rawValue) }
    }

    /// The identity and those of teams it moved away from.
    private static let linked = "(SELECT id FROM apple_identity WHERE id = ?1 OR moved_to = ?1)"

    mutating func apply(
        on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> NotificationOutcome {
        if case .unknown = notification.kind { return .unknownType }
        guard let name = notification.subject else { return .unknownSubject }
        guard let identity = try connection.identity(team: team, subject: name),
            let row = try connection.firstRow(
                """
                SELECT \(UserColumns.list), i.id, (SELECT max(l.last_sign_in_issued_at) FROM apple_identity l
                WHERE l.id = i.id OR l.moved_to = i.id) FROM apple_identity i
                JOIN user u ON u.id = i.user WHERE i.id = ?
                """, [identity])
        else {
            try applyToStranger(name, on: connection)
            return .unknownSubject
        }
        let subject = Subject(identity: identity, user: try User(row: row))
        // The relay address of the old team is not the one that mail goes to now.
        if notification.isAboutEmail, !subject.isCalled(name), !subject.user.has(notification.email) { return .stale }
        let effect = NotificationEffect(
            of: notification, lastSignIn: try row.moment(UserColumns.count + 1),
            told: try connection.lastTold(of: subject.user.id), address: subject.user.email, onAccountDeleted: policy)
        switch effect {
        case .unknownType: return .unknownType
        case .stale: return .stale
        case .emailForwarding(let isOn):
            try setForwarding(isOn, of: subject, on: connection, effects: &effects)
        case .end(let cause, let loss):
            try end(subject, cause: cause, on: connection, effects: &effects)
            if let loss {
                try lose(loss, subject, cause: cause, on: connection, effects: &effects)
            } else {
                // The sign-in that is later may be one whose token a check has found dead, beside the one that went now.
                try connection.applyDeadToken(
                    ofIdentity: subject.identity, at: now, identifiers: identifiers, effects: &effects)
            }
        }
        return .applied
    }

    /// The end of a consent that no user stands for: of a sign-in that was not finished, or of somebody deleted here. What
    /// Apple says of the latter, and be it the echo of our own revocation, is not kept again.
    private mutating func applyToStranger(_ name: AppleSubject, on connection: SQLiteConnection) throws {
        let hashes = subjectHashes.all(team, name)
        erases = try connection.wasDeleted(hashes)
        guard notification.kind == .consentRevoked || notification.kind == .accountDeleted else { return }
        try connection.noteEnd(
            [subjectHashes.current(team, name)] + connection.transferHashes(hashes), upTo: notification.eventTime,
            at: now)
        // A name that came later belongs to a consent that holds.
        try connection.forgetFirstConsent(of: name, team: team, before: notification.eventTime)
    }

    private func setForwarding(
        _ isOn: Bool, of subject: Subject, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        try connection.run(
            "UPDATE user SET email_forwarding = ?, email_event_at = ?, updated_at = ? WHERE id = ?",
            [isOn, notification.eventTime.milliseconds, now.milliseconds, subject.user.id.rawValue])
        // It says too that this was the address at that time.
        if subject.user.has(notification.email) {
            try connection.noteTold(email: notification.eventTime, ofIdentity: subject.identity)
        }
        try connection.record(
            isOn ? .emailEnabled : .emailDisabled, user: subject.user.id, at: now, identifiers: identifiers)
        effects.invalidations.append(.user(subject.user.id))
    }

    /// Ends what this identity's sign-ins up to the event's time made, ties included: Apple's clock on both sides.
    private func end(
        _ subject: Subject, cause: SessionEndCause, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        let time = notification.eventTime.milliseconds
        try connection.endSessions(
            where: "s.identity IN \(Self.linked) AND s.issued_at <= ?2", [subject.identity, time], cause: cause,
            at: now,
            identifiers: identifiers, effects: &effects)
        try connection.run(
            """
            UPDATE apple_credential SET sealed_refresh_token = NULL, state = 'revoked', cause = ?3,
            next_check_at = NULL WHERE identity IN \(Self.linked) AND issued_at <= ?2
            """, [subject.identity, time, cause.rawValue])
    }

    private mutating func lose(
        _ loss: NotificationEffect.AuthorizationLoss, _ subject: Subject, cause: SessionEndCause,
        on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        let user = subject.user.id
        effects.invalidations.append(.user(user))
        switch loss {
        case .revoked:
            try connection.record(.consentRevoked, user: user, at: now, identifiers: identifiers)
            try apply(.consentRevoked(at: notification.eventTime), subject, on: connection, effects: &effects)
        case .disabled:
            let isLast = try !connection.hasOthers(subject.identity, of: user)
            try recordDeletion(of: user, isLast: isLast, on: connection)
            try apply(
                .accountDeleted(at: notification.eventTime, policy), subject, on: connection, effects: &effects)
            guard isLast else { return }
            try connection.setState(
                .disabled, of: subject.user, cause: cause, at: now, identifiers: identifiers, effects: &effects)
        case .erased:
            erases = true
            try erase(subject, cause: cause, on: connection, effects: &effects)
        }
    }

    /// Gone is the person with their last identity alone; else they have one less to sign in by.
    private func recordDeletion(
        of user: UserID, isLast: Bool, fields: [String] = [], on connection: SQLiteConnection
    ) throws {
        if isLast {
            try connection.record(.accountDeleted, user: user, at: now, identifiers: identifiers)
        } else {
            try connection.record(
                .userUpdated, user: user, fields: ["identities"] + fields, at: now, identifiers: identifiers)
        }
    }

    private func apply(
        _ event: CredentialEvent, _ subject: Subject, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        try connection.apply(
            event, toIdentity: subject.identity, at: now, identifiers: identifiers, effects: &effects)
    }

    /// Deletes the identity and, when it was the user's last, the user, with what is kept of them elsewhere. The journal
    /// keeps ids, and the hash remembers that there was somebody.
    private func erase(
        _ subject: Subject, cause: SessionEndCause, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        let before = try connection.user(subject.user.id)
        let linked = try connection.leavingIdentities(where: "i.id = ?1 OR i.moved_to = ?1", [subject.identity])
        for identity in linked {
            try connection.queueRevocations(identity, hashes: subjectHashes, at: now)
            try connection.eraseTraces(of: identity, hashes: subjectHashes, before: notification.eventTime)
            try connection.noteEnd(subjectHashes.names(of: identity), upTo: notification.eventTime, at: now)
        }
        try connection.run("DELETE FROM apple_identity WHERE id IN \(Self.linked)", [subject.identity])
        let user = subject.user.id
        if let before, let after = try connection.user(user) {
            let fields = before.changedFields(comparedWith: after)
            try recordDeletion(of: user, isLast: false, fields: fields, on: connection)
        } else {
            try recordDeletion(of: user, isLast: true, on: connection)
            try connection.run("DELETE FROM user WHERE id = ?", [user.rawValue])
        }
    }
}

extension SQLiteConnection {
    /// Whether the user has, beside this identity and those it stands for, another whose Apple Account is not gone.
    fileprivate func hasOthers(_ identity: Int64, of user: UserID) throws -> Bool {
        try integer(
            """
            SELECT 1 FROM apple_identity WHERE user = ? AND id <> ? AND moved_to IS NULL AND credential_state <> ?
            LIMIT 1
            """, [user.rawValue, identity, CredentialState.notFound.rawValue]) != nil
    }
}
