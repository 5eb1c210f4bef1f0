package import Coding
import Storage

/// Apple's view of the user's authorization, in the terms of `ASAuthorizationAppleIDProvider.CredentialState`.
package enum CredentialState: String, Sendable, CaseIterable {
    case authorized, revoked, notFound, transferred
}

/// Why an identity's `CredentialState` last changed.
package enum CredentialCause: String, Sendable, CaseIterable {
    case signIn = "sign_in"
    /// The operator vouched for the person: `bramley users import`.
    case imported
    /// Apple reported that the person withdrew consent.
    case consentRevoked = "consent_revoked"
    case accountDeleted = "account_deleted"
    /// Apple accepts no refresh token of the identity any more: consent withdrawn, or password changed.
    case tokenDead = "token_dead"
    /// The identity moved to another team with its app.
    case transferredOut = "transferred_out"
    /// The identity came from another team with its app.
    case transferredIn = "transferred_in"
}

/// The state of one identity's authorization, and when and why it changed.
package struct CredentialStatus: Hashable, Sendable {
    package var state: CredentialState
    /// By Apple's clock for sign-ins and notifications, otherwise by ours; nil if older than this column.
    package var changedAt: Timestamp?
    package var cause: CredentialCause

    package static let fields: [Field<CredentialStatus>] = [
        Field("credentialState") { .text($0.state.rawValue) }, Field("credentialChangedAt") { .time($0.changedAt) },
        Field("credentialCause") { .text($0.cause.rawValue) },
    ]
}

/// What may change an identity's credential state: not a sign-in refused as revoked, nor a duplicate notification.
package enum CredentialEvent: Hashable, Sendable {
    /// `iat` of the identity token, by Apple's clock.
    case signIn(issuedAt: Timestamp)
    case imported(at: Timestamp)
    /// `event_time`, by Apple's clock.
    case consentRevoked(at: Timestamp)
    /// `event_time`, by Apple's clock.
    case accountDeleted(at: Timestamp, AccountDeletionPolicy)
    /// The daily check: Apple accepts a refresh token of this identity.
    case tokenAlive
    /// The daily check: Apple no longer accepts a refresh token that used to work. `newestIssuedAt` is the latest `iat`
    /// of the identity's tokens, dead ones included, by Apple's clock; `othersLive` that another client still holds
    /// one.
    case tokenDead(at: Timestamp, newestIssuedAt: Timestamp, othersLive: Bool)
    /// Deleted here, by the person or the operator.
    case deleted
    /// A team transfer gave the identity to another team; by our clock.
    case transferredOut(at: Timestamp)
    /// A team transfer brought the identity; by our clock.
    case transferredIn(at: Timestamp)
}

extension CredentialStatus {
    /// The columns of an identity `i`.
    static let columns = Accounts.columns("i.credential_state", "i.credential_changed_at", "i.credential_cause")

    /// The statuses of the other identities of `i`'s user, without those that were moved, in one text; null without
    /// any.
    static let others = """
        (SELECT group_concat(o.credential_state || ' ' || o.credential_cause || ' ' || \
        coalesce(CAST(o.credential_changed_at AS TEXT), ''), ',') FROM apple_identity o \
        WHERE o.user = i.user AND o.id <> i.id AND o.moved_to IS NULL)
        """

    init(_ row: Row) throws(StoreError) {
        self.init(
            state: try row["i.credential_state"], changedAt: try row["i.credential_changed_at"],
            cause: try row["i.credential_cause"])
    }

    static func others(_ text: String?) throws(StoreError) -> [CredentialStatus] {
        guard let text else { return [] }
        var list: [CredentialStatus] = []
        for item in text.split(separator: ",") {
            let parts = item.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3, let state = CredentialState(rawValue: String(parts[0])),
                let cause = CredentialCause(rawValue: String(parts[1])), parts[2].isEmpty || Int64(parts[2]) != nil
            else { throw .corrupt("a credential state reads \(item)") }
            list.append(
                CredentialStatus(
                    state: state, changedAt: Int64(parts[2]).map { Timestamp(milliseconds: $0) }, cause: cause))
        }
        return list
    }
}

extension Transaction {
    /// Applies an event to an identity's status, as `CredentialStatus.transition` decides; when the person's state
    /// changes, records `user.updated`.
    /// - Returns: the status afterwards; nil when the identity does not exist, or must be deleted, which is left to the
    ///   caller.
    @discardableResult
    func apply(_ event: CredentialEvent, toIdentity identity: Int64) throws -> CredentialStatus? {
        guard
            let row = try firstRow(
                """
                SELECT i.user, i.last_sign_in_issued_at, \(CredentialStatus.columns),
                \(CredentialStatus.others) AS others FROM apple_identity i WHERE i.id = ?
                """, [identity])
        else { return nil }
        let before = try CredentialStatus(row)
        let transition = CredentialStatus.transition(
            from: before, on: event, lastSignIn: try row["last_sign_in_issued_at"])
        guard let after = transition, after != before else { return transition }
        try update(after, ofIdentity: identity)
        let user: UserID = try row["user"]
        let others = try CredentialStatus.others(try row["others"])
        if CredentialStatus.ofPerson(after, others).state != CredentialStatus.ofPerson(before, others).state {
            try record(.userUpdated, user: user, fields: ["credentialState"])
        }
        invalidate(.user(user))
        return after
    }

    /// A token of this identity is gone. When none is left, the newest decides.
    @discardableResult
    func applyDeadToken(ofIdentity identity: Int64) throws -> CredentialStatus? {
        let row = try firstRow(
            """
            SELECT coalesce(max(issued_at), 0) AS newest, count(sealed_refresh_token) > 0 AS others_live
            FROM apple_credential WHERE identity = ?
            """, [identity])
        guard let row else { return nil }
        let event = CredentialEvent.tokenDead(
            at: now, newestIssuedAt: try row["newest"], othersLive: try row["others_live"])
        return try apply(event, toIdentity: identity)
    }

    func update(_ status: CredentialStatus, ofIdentity identity: Int64) throws {
        try run(
            """
            UPDATE apple_identity SET credential_state = ?, credential_changed_at = ?, credential_cause = ? WHERE id = ?
            """, [status.state, status.changedAt, status.cause, identity])
    }
}

// The life of a credential: docs/apps/credential-states.md draws it, and a test compares the drawing with this function.
extension CredentialStatus {
    /// An identity's status after an event.
    ///
    /// By Apple's clock, in whatever order events arrive: an end counts unless a sign-in is later, ties included; of
    /// two ends of one kind the earlier made the change; a deleted Apple Account outweighs a withdrawn consent.
    /// - Parameters:
    ///   - before: nil when the identity is not stored.
    ///   - lastSignIn: the latest `iat` of the identity's sign-ins, before this event.
    /// - Returns: nil when the identity is not stored afterwards.
    package static func transition(
        from before: CredentialStatus?, on event: CredentialEvent, lastSignIn: Timestamp
    ) -> CredentialStatus? {
        guard let before else { return beginning(event) }
        switch event {
        case .signIn(let issuedAt):
            return before.signedIn(issuedAt)
        case .consentRevoked(let time):
            return time < lastSignIn ? before : before.revoked(time)
        case .accountDeleted(let time, let policy):
            if time < lastSignIn { return before }
            return policy == .erase ? nil : before.notFound(time)
        case .tokenDead(let time, let newestIssuedAt, let othersLive):
            guard before.state == .authorized, !othersLive, newestIssuedAt >= lastSignIn else { return before }
            return CredentialStatus(state: .revoked, changedAt: time, cause: .tokenDead)
        case .transferredOut(let time):
            // Apple does not transfer people who have withdrawn consent.
            guard before.state == .authorized else { return before }
            return CredentialStatus(state: .transferred, changedAt: time, cause: .transferredOut)
        case .deleted:
            return nil
        case .imported, .transferredIn, .tokenAlive:
            // The known status is more reliable: a check may have been in flight when a notification came.
            return before
        }
    }

    /// The status of a person with several identities: authorized while any is; otherwise the latest change.
    package static func ofPerson(_ first: CredentialStatus, _ others: [CredentialStatus]) -> CredentialStatus {
        others.reduce(first) { $0.outweighs($1) ? $0 : $1 }
    }

    private func outweighs(_ other: CredentialStatus) -> Bool {
        if (state == .authorized) != (other.state == .authorized) { return state == .authorized }
        let (mine, theirs) = (changedAt?.milliseconds ?? .min, other.changedAt?.milliseconds ?? .min)
        if mine != theirs { return mine > theirs }
        return (state.rawValue, cause.rawValue) <= (other.state.rawValue, other.cause.rawValue)
    }

    /// The events that create an identity.
    private static func beginning(_ event: CredentialEvent) -> CredentialStatus? {
        switch event {
        case .signIn(let time): CredentialStatus(state: .authorized, changedAt: time, cause: .signIn)
        case .imported(let time): CredentialStatus(state: .authorized, changedAt: time, cause: .imported)
        case .transferredIn(let time): CredentialStatus(state: .authorized, changedAt: time, cause: .transferredIn)
        case .consentRevoked, .accountDeleted, .tokenAlive, .tokenDead, .deleted, .transferredOut: nil
        }
    }

    private func signedIn(_ issuedAt: Timestamp) -> CredentialStatus {
        switch state {
        case .authorized: return self
        case .revoked, .notFound: break
        case .transferred:
            // A sign-in from before the transfer; `iat` has whole seconds.
            if let changedAt, issuedAt <= changedAt.adding(seconds: -1) { return self }
        }
        return CredentialStatus(state: .authorized, changedAt: issuedAt, cause: .signIn)
    }

    private func revoked(_ time: Timestamp) -> CredentialStatus {
        switch state {
        case .authorized: CredentialStatus(state: .revoked, changedAt: time, cause: .consentRevoked)
        case .revoked: earlier(time, .consentRevoked)
        case .notFound, .transferred: self
        }
    }

    private func notFound(_ time: Timestamp) -> CredentialStatus {
        switch state {
        case .authorized, .revoked, .transferred:
            CredentialStatus(state: .notFound, changedAt: time, cause: .accountDeleted)
        case .notFound: earlier(time, .accountDeleted)
        }
    }

    /// The same state, beginning at the earlier time that Apple now reports.
    private func earlier(_ time: Timestamp, _ cause: CredentialCause) -> CredentialStatus {
        if let changedAt, changedAt <= time { return self }
        return CredentialStatus(state: state, changedAt: time, cause: cause)
    }
}
