import Coding

/// Whether the application may be asked to remove a password: only while the account can be opened with Apple. Every
/// store evaluates it in the transaction that begins the request.
package enum ConversionRule {
    /// Why the application is not asked. The link stores these texts.
    package enum Obstacle: String, Hashable, Sendable, CaseIterable {
        /// The user now has another external ID, or none, so the link no longer concerns them. Ends the link.
        case accountChanged = "account_changed"
        case userDisabled = "user_disabled"
        case userPending = "user_pending"
        /// The person's consent is withdrawn; wait until they consent again.
        case consentRevoked = "consent_revoked"
        /// The link's Apple Account was deleted.
        case accountDeleted = "account_deleted"
        /// The identity moved to another team, where nobody has it yet.
        case transferred
    }

    /// - Parameters:
    ///   - user: of the link.
    ///   - hasIdentity: whether the user has the link's identity, or the one it became in a transfer.
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

/// The result of trying to begin a conversion.
package enum ConversionStart: Hashable, Sendable {
    /// Ask the application; nobody else does until the deadline. The link is unchanged.
    case ask(Link)
    /// Not now; retry after this many seconds.
    case putOff(ConversionRule.Obstacle, retryAfter: Int64)
    /// Never: the link has ended.
    case over(ConversionRule.Obstacle)
    /// There is nothing to ask, or another process is asking.
    case nothing
}
