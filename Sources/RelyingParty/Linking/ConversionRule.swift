import Coding

/// Whether the application may be asked to drop a password: only while Apple opens the account in its place. For every
/// store; looked at in the transaction in which the question begins.
package enum ConversionRule {
    /// Why it is not asked. The texts are what the link keeps of it.
    package enum Obstacle: String, Hashable, Sendable, CaseIterable {
        /// The user has another external ID now, or none: this link is about them no more. Ends it.
        case accountChanged = "account_changed"
        case userDisabled = "user_disabled"
        case userPending = "user_pending"
        /// Apple no longer vouches for the person: until they consent anew.
        case consentRevoked = "consent_revoked"
        /// The Apple Account of the link is gone.
        case accountDeleted = "account_deleted"
        /// The identity went to another team, and nobody has it there yet.
        case transferred
    }

    /// - Parameters:
    ///   - user: of the link.
    ///   - hasIdentity: whether the link's identity, or what it is since a transfer, is theirs.
    /// - Returns: nil when the application may be asked.
    package static func obstacle(to link: Link, user: User, hasIdentity: Bool) -> Obstacle? {
        guard isAccount(of: user, link) else { return .accountChanged }
        switch user.state {
        case .disabled: return .userDisabled
        case .pending: return .userPending
        case .active: break
        }
        guard hasIdentity else { return .accountDeleted }
        switch user.credential.state {
        case .authorized: return nil
        case .revoked: return .consentRevoked
        case .notFound: return .accountDeleted
        case .transferred: return .transferred
        }
    }

    /// Whether the link's account is this user's, byte for byte.
    package static func isAccount(of user: User, _ link: Link) -> Bool {
        guard let theirs = user.externalID, let ours = link.externalID else { return false }
        return theirs.isExactly(ours)
    }
}

/// What became of a conversion that was about to begin.
package enum ConversionStart: Hashable, Sendable {
    /// The application is asked, by nobody else until the deadline. The link is as it was before.
    case ask(Link)
    /// Not now; retry after this many seconds.
    case putOff(ConversionRule.Obstacle, retryAfter: Int64)
    /// Never again: the link is over.
    case over(ConversionRule.Obstacle)
    /// There is nothing to ask, or somebody else does.
    case nothing
}
