package import Coding

// The life of a credential: docs/credential-states.md draws it, and a test compares the drawing with this function.
extension CredentialStatus {
    /// An identity's status after an event. Every store uses this function.
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
            // Apple transfers nobody who has withdrawn consent.
            guard before.state == .authorized else { return before }
            return CredentialStatus(state: .transferred, changedAt: time, cause: .transferredOut)
        case .deleted:
            return nil
        case .imported, .transferredIn, .tokenAlive:
            // What is already known is more reliable. A check that was in flight when a notification came proves
            // nothing.
            return before
        }
    }

    /// The status of a person with several identities: authorized while any identity is; among equals, the latest
    /// change. An unknown time counts as the oldest. The order of the arguments does not matter.
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
