package import Coding
import GRDB
package import RelyingParty
import Synchronization

extension Database: NotificationStore {
    package func apply(
        _ notification: AppleNotification, team: TeamID, at now: Timestamp
    ) async throws(StoreError) -> NotificationOutcome {
        let identifiers = identifiers
        let policy = options.onAccountDeleted
        let subjectHashes = subjectHashes
        defer { if notification.kind == .accountDeleted { erasures.store(true, ordering: .releasing) } }
        return try await commits.write { connection, effects in
            let known = try connection.integer("SELECT 1 FROM notification WHERE jti = ?", [notification.id])
            if known != nil { return .duplicate }
            var changes = NotificationChanges(
                notification: notification, team: team, policy: policy, now: now, identifiers: identifiers)
            let outcome = try changes.apply(on: connection, effects: &effects)
            // What Apple says of somebody deleted here, and be it the echo of our own revocation, is not kept again.
            var subject = notification.subject
            if outcome == .unknownSubject, let name = subject,
                try connection.wasDeleted(subjectHashes.all(team, name))
            {
                subject = nil
                changes.erases = true
            }
            try connection.run(
                """
                INSERT INTO notification (jti, type, client_id, subject, event_time, received_at, payload, outcome)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    notification.id, notification.type, notification.clientID.rawValue,
                    subject?.rawValue, notification.eventTime.milliseconds, now.milliseconds,
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
    /// The person is erased by it, so it keeps no payload itself.
    var erases = false

    /// The identity a notification is about.
    private struct Subject {
        var identity: Int64
        var user: User
    }

    mutating func apply(
        on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws -> NotificationOutcome {
        if case .unknown = notification.kind { return .unknownType }
        guard let name = notification.subject,
            let row = try connection.firstRow(
                """
                SELECT \(UserColumns.list), i.id, i.last_sign_in_issued_at, u.email_event_at FROM apple_identity i
                JOIN user u ON u.id = i.user WHERE i.team = ? AND i.subject = ?
                """, [team.rawValue, name.rawValue])
        else { return .unknownSubject }
        let subject = Subject(identity: row[14] as Int64? ?? 0, user: try User(row: row))
        let effect = NotificationEffect(
            of: notification, lastSignIn: try row.moment(15),
            lastEmailEvent: (row[16] as Int64?).map { Timestamp(milliseconds: $0) }, onAccountDeleted: policy)
        switch effect {
        case .unknownType: return .unknownType
        case .stale: return .stale
        case .emailForwarding(let isOn):
            try setForwarding(isOn, of: subject, on: connection, effects: &effects)
        case .end(let cause, let loss):
            try end(subject, cause: cause, on: connection, effects: &effects)
            if let loss { try lose(loss, subject, cause: cause, on: connection, effects: &effects) }
        }
        return .applied
    }

    private func setForwarding(
        _ isOn: Bool, of subject: Subject, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        try connection.run(
            "UPDATE user SET email_forwarding = ?, email_event_at = ?, updated_at = ? WHERE id = ?",
            [isOn, notification.eventTime.milliseconds, now.milliseconds, subject.user.id.rawValue])
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
            where: "s.identity = ? AND s.issued_at <= ?", [subject.identity, time], cause: cause, at: now,
            identifiers: identifiers, effects: &effects)
        try connection.run(
            """
            UPDATE apple_credential SET sealed_refresh_token = NULL, state = 'revoked', cause = ?,
            next_check_at = NULL WHERE identity = ? AND issued_at <= ?
            """, [cause.rawValue, subject.identity, time])
    }

    private mutating func lose(
        _ loss: NotificationEffect.AuthorizationLoss, _ subject: Subject, cause: SessionEndCause,
        on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        let user = subject.user.id
        effects.invalidations.append(.user(user))
        try connection.record(
            cause == .consentRevoked ? .consentRevoked : .accountDeleted, user: user, at: now,
            identifiers: identifiers)
        switch loss {
        case .revoked:
            try setCredentialState(.revoked, subject, on: connection)
        case .disabled:
            try setCredentialState(.notFound, subject, on: connection)
            try connection.setState(
                .disabled, of: subject.user, cause: cause, at: now, identifiers: identifiers, effects: &effects)
        case .erased:
            erases = true
            try erase(subject, cause: cause, on: connection, effects: &effects)
        }
    }

    private func setCredentialState(
        _ state: CredentialState, _ subject: Subject, on connection: SQLiteConnection
    ) throws {
        try connection.run(
            "UPDATE apple_identity SET credential_state = ? WHERE id = ?", [state.rawValue, subject.identity])
    }

    /// Deletes the identity and, when it was the user's last, the user. The journal keeps ids.
    private func erase(
        _ subject: Subject, cause: SessionEndCause, on connection: SQLiteConnection, effects: inout WriteEffects
    ) throws {
        let apple = subject.user.appleSubject.rawValue
        try connection.run("DELETE FROM first_consent WHERE team = ? AND subject = ?", [team.rawValue, apple])
        try connection.run("UPDATE notification SET payload = NULL WHERE subject = ?", [apple])
        try connection.run("DELETE FROM apple_identity WHERE id = ?", [subject.identity])
        let user = subject.user.id.rawValue
        guard try connection.integer("SELECT 1 FROM apple_identity WHERE user = ?", [user]) == nil else { return }
        try connection.run("DELETE FROM user WHERE id = ?", [user])
    }
}
