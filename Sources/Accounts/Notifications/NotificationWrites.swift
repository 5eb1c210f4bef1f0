package import Coding
import Storage

extension Database {
    /// Records and applies it in one transaction; a jti seen within 30 days is `.duplicate`, without effect.
    package func apply(
        _ notification: AppleNotification, team: TeamID, at now: Timestamp
    ) async throws(Failure) -> NotificationOutcome {
        try await write(at: now) { transaction in
            if try transaction.exists("SELECT 1 FROM notification WHERE jti = ?", [notification.id]) {
                return .duplicate
            }
            let change = try transaction.apply(notification, team: team)
            try transaction.run(
                """
                INSERT INTO notification (jti, type, client_id, subject, event_time, received_at, payload, outcome)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    notification.id, notification.type, notification.clientID,
                    change.erases ? nil : notification.subject, notification.eventTime, now,
                    change.erases ? nil : notification.payload, change.outcome,
                ])
            return change.outcome
        }
    }
}

struct NotificationChange {
    var outcome: NotificationOutcome
    /// Whether the person is, or was, deleted: neither payload nor subject is stored.
    var erases = false
}

extension Transaction {
    /// The identity ?1 and those of teams it moved away from.
    private static let linked = "(SELECT id FROM apple_identity WHERE id = ?1 OR moved_to = ?1)"

    /// Applies one notification, as if it arrived now.
    func apply(_ notification: AppleNotification, team: TeamID) throws -> NotificationChange {
        if case .unknown = notification.kind { return NotificationChange(outcome: .unknownType) }
        guard let name = notification.subject else { return NotificationChange(outcome: .unknownSubject) }
        guard let identity = try identity(team: team, subject: name),
            let row = try firstRow(
                """
                SELECT \(User.columns), (SELECT max(l.last_sign_in_issued_at) FROM apple_identity l
                WHERE l.id = i.id OR l.moved_to = i.id) AS last_sign_in FROM apple_identity i
                JOIN user u ON u.id = i.user WHERE i.id = ?
                """, [identity])
        else { return try applyToStranger(notification, name, team: team) }
        let person = try Person(row)
        // The relay address of the old team is not the one in use now.
        let isPresent = person.user.appleSubject.rawValue.isExactly(name.rawValue)
        if notification.isAboutEmail, !isPresent, !person.user.has(notification.email) {
            return NotificationChange(outcome: .stale)
        }
        let effect = NotificationEffect(
            of: notification, lastSignIn: try row["last_sign_in"], reports: try lastReports(of: person.user.id),
            address: person.user.email, onAccountDeleted: context.onAccountDeleted)
        var change = NotificationChange(outcome: .applied)
        switch effect {
        case .unknownType: change.outcome = .unknownType
        case .stale: change.outcome = .stale
        case .emailForwarding(let isOn): try setForwarding(isOn, of: person, notification)
        case .end(let cause, let loss):
            try end(person, upTo: notification.eventTime, cause: cause, isLast: loss != nil)
            if let loss {
                change.erases = loss == .erased
                try lose(loss, person, upTo: notification.eventTime, cause: cause)
            } else {
                // The later sign-in may be one whose token a check has found dead, so that none is left now.
                try applyDeadToken(ofIdentity: person.identity)
            }
        }
        return change
    }

    /// Applies a notification about a person without a user: an unfinished sign-in, or someone deleted here, about whom
    /// reports are not stored.
    private func applyToStranger(
        _ notification: AppleNotification, _ name: AppleSubject, team: TeamID
    ) throws -> NotificationChange {
        let hashes = context.subjectHashes
        let known = hashes.all(team, name)
        let change = NotificationChange(outcome: .unknownSubject, erases: try wasDeleted(known))
        guard notification.kind == .consentRevoked || notification.kind == .accountDeleted else { return change }
        try recordEnd([hashes.current(team, name)] + transferHashes(known), upTo: notification.eventTime, at: now)
        // A name that came later belongs to a consent that is still valid.
        try forgetFirstConsent(of: name, team: team, before: notification.eventTime)
        return change
    }

    private func setForwarding(_ isOn: Bool, of person: Person, _ notification: AppleNotification) throws {
        let user = person.user.id
        try run(
            "UPDATE user SET email_forwarding = ?, email_event_at = ?, updated_at = ? WHERE id = ?",
            [isOn, notification.eventTime, now, user])
        // It also confirms that this was the address at that time.
        if person.user.has(notification.email) {
            try recordReport(email: notification.eventTime, ofIdentity: person.identity)
        }
        try record(isOn ? .emailEnabled : .emailDisabled, user: user)
        invalidate(.user(user))
    }

    /// Ends the sessions and tokens of this identity's sign-ins up to the event's time, ties included, by Apple's clock,
    /// and what the person allowed applications until then.
    ///
    /// - Parameter isLast: whether there is no later sign-in.
    private func end(_ person: Person, upTo time: Timestamp, cause: SessionEndCause, isLast: Bool) throws {
        try endSessions(
            where: "s.user = ?3 AND s.identity IN \(Self.linked) AND s.issued_at <= ?2",
            [person.identity, time, person.user.id], cause: cause)
        if isLast { try endGrants(of: person.user.id) }
        try endGrants(of: person.user.id, upTo: time)
        try run(
            """
            UPDATE apple_credential SET sealed_refresh_token = NULL, state = 'revoked', cause = ?3,
            next_check_at = NULL WHERE identity IN \(Self.linked) AND issued_at <= ?2
            """, [person.identity, time, cause])
    }

    private func lose(
        _ loss: NotificationEffect.AuthorizationLoss, _ person: Person, upTo time: Timestamp, cause: SessionEndCause
    ) throws {
        let user = person.user.id
        invalidate(.user(user))
        switch loss {
        case .revoked:
            try record(.consentRevoked, user: user)
            try apply(.consentRevoked(at: time), toIdentity: person.identity)
        case .disabled:
            let isLast = try !hasOthers(person.identity, of: user)
            try recordDeletion(of: user, isLast: isLast)
            try apply(.accountDeleted(at: time, context.onAccountDeleted), toIdentity: person.identity)
            if isLast { try setState(.disabled, of: person.user, cause: cause) }
        case .erased: try erase(person, upTo: time)
        }
    }

    /// With the last identity the person is deleted; otherwise they lose one identity.
    private func recordDeletion(of user: UserID, isLast: Bool, fields: [String] = []) throws {
        if isLast {
            try record(.accountDeleted, user: user)
        } else {
            try record(.userUpdated, user: user, fields: ["identities"] + fields)
        }
    }

    /// Deletes the identity, and with the last one the user. The journal keeps ids; a hash recognises the person.
    private func erase(_ person: Person, upTo time: Timestamp) throws {
        let id = person.user.id
        let before = try user(id)
        for identity in try leavingIdentities(where: "i.id = ?1 OR i.moved_to = ?1", [person.identity]) {
            try queueRevocations(identity)
            try eraseTraces(of: identity, before: time)
            try recordEnd(context.subjectHashes.names(of: identity), upTo: time, at: now)
        }
        try endSessions(
            where: "s.user = ?2 AND s.identity IN \(Self.linked)", [person.identity, id], cause: .accountDeleted)
        try run("DELETE FROM apple_identity WHERE id IN \(Self.linked)", [person.identity])
        if let before, let after = try user(id) {
            try recordDeletion(of: id, isLast: false, fields: before.changedFields(comparedWith: after))
        } else {
            try recordDeletion(of: id, isLast: true)
            try forgetAudited(id)
            try run("DELETE FROM user WHERE id = ?", [id])
        }
    }

    /// Whether the user has another identity, not replaced by this one, whose Apple Account still exists.
    private func hasOthers(_ identity: Int64, of user: UserID) throws -> Bool {
        try exists(
            """
            SELECT 1 FROM apple_identity WHERE user = ? AND id <> ? AND moved_to IS NULL AND credential_state <> ?
            LIMIT 1
            """, [user, identity, CredentialState.notFound])
    }
}

/// What a verified notification changes for a known person.
package enum NotificationEffect: Hashable, Sendable {
    /// Ends sessions and refresh tokens of sign-ins with `iat` ≤ the event's time. Without a later one, see `loss`.
    case end(SessionEndCause, loss: AuthorizationLoss?)
    case emailForwarding(Bool)
    /// An email event older than the last one applied, or about a former address.
    case stale
    case unknownType

    /// What happens to the person when the event is newer than every sign-in.
    package enum AuthorizationLoss: Hashable, Sendable {
        /// The user stays; the next sign-in counts as a first one.
        case revoked
        case erased
        case disabled
    }

    /// `lastSignIn` is the latest `iat` of this identity's sign-ins, by Apple's clock; `reports` is when Apple last
    /// reported the person's `address`, and forwarding.
    package init(
        of notification: AppleNotification, lastSignIn: Timestamp, reports: LastReports, address: EmailAddress?,
        onAccountDeleted: AccountDeletionPolicy
    ) {
        let isLatest = lastSignIn <= notification.eventTime
        switch notification.kind {
        case .consentRevoked:
            self = .end(.consentRevoked, loss: isLatest ? .revoked : nil)
        case .accountDeleted:
            let loss: AuthorizationLoss = onAccountDeleted == .erase ? .erased : .disabled
            self = .end(.accountDeleted, loss: isLatest ? loss : nil)
        case .emailDisabled, .emailEnabled:
            let isOld = reports.forwarding.map { notification.eventTime < $0 } ?? false
            let isBeforeAddress = reports.email.map { notification.eventTime < $0 } ?? false
            if isOld || isBeforeAddress && notification.isAboutOther(than: address) {
                self = .stale
            } else {
                self = .emailForwarding(notification.kind == .emailEnabled)
            }
        case .unknown:
            self = .unknownType
        }
    }
}

extension AppleNotification {
    fileprivate var isAboutEmail: Bool { kind == .emailEnabled || kind == .emailDisabled }

    package func isAboutOther(than address: EmailAddress?) -> Bool {
        guard let email else { return false }
        return address.map { !$0.address.isExactly(email.address) } ?? true
    }
}
