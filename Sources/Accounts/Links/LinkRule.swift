import Coding

/// Decides what happens when an Apple identity meets an application's account.
package enum LinkRule {
    package enum Decision: Hashable, Sendable {
        /// Nobody has the identity: create a user with the external ID.
        /// - Parameter from: its present owner, who loses it.
        case create(takenFrom: UserID?)
        /// The identity's user gets the external ID.
        case set(UserID, takenFrom: UserID?)
        /// They already have it.
        case present(UserID)
        case refused(ReasonCode)
    }

    /// - Parameters:
    ///   - holder: the user who has the identity; nil when it is unknown.
    ///   - owner: the user who has the external ID.
    ///   - mayReplace: whether the external ID may be taken from its owner.
    package static func decide(
        holder: User?, owner: UserID?, externalID: String, mayReplace: Bool
    ) -> Decision {
        if let holder {
            switch holder.state {
            case .disabled: return .refused(.userDisabled)
            case .pending: return .refused(.userPending)
            case .active: break
            }
            if let present = holder.externalID, !present.isExactly(externalID) {
                return .refused(.identityLinkedElsewhere)
            }
        }
        if let holder, holder.externalID != nil { return .present(holder.id) }
        if owner != nil, !mayReplace { return .refused(.accountAlreadyLinked) }
        guard let holder else { return .create(takenFrom: owner) }
        return .set(holder.id, takenFrom: owner)
    }

    /// Why Apple does not open the account of a completed link; nil when it does. Asked by an application that is about
    /// to drop the account's password.
    /// - Parameter hasIdentity: whether the user has the link's identity, or the one it became in a transfer.
    package static func obstacle(to link: Link, user: User, hasIdentity: Bool) -> ReasonCode? {
        // Links from before the account stayed with them have none.
        if let ours = link.externalID, user.externalID.map({ !$0.isExactly(ours) }) ?? true { return .linkEnded }
        switch user.state {
        case .disabled: return .userDisabled
        case .pending: return .userPending
        case .active: break
        }
        switch user.credential.state {
        case .authorized: return hasIdentity ? nil : .linkEnded
        case .revoked: return .revoked
        case .notFound, .transferred: return .linkEnded
        }
    }
}
