import Coding

/// Decides how an Apple identity is linked to an application's account.
package enum LinkRule {
    package enum Decision: Hashable, Sendable {
        /// The identity is unknown: create a user with the external ID, which its present owner loses.
        case create(takenFrom: UserID?)
        /// The identity's user gets the external ID.
        case set(UserID, takenFrom: UserID?)
        /// They already have it.
        case present(UserID)
        case refused(ReasonCode)
    }

    /// For the `holder` of the identity and the `owner` of the external ID, which may be taken from them if
    /// `mayReplace`.
    package static func decide(holder: User?, owner: UserID?, externalID: String, mayReplace: Bool) -> Decision {
        if let holder {
            if let refusal = holder.state.refusal { return .refused(refusal.code) }
            if let present = holder.externalID, !present.isExactly(externalID) {
                return .refused(.identityLinkedElsewhere)
            }
        }
        if let holder, holder.externalID != nil { return .present(holder.id) }
        if owner != nil, !mayReplace { return .refused(.accountAlreadyLinked) }
        guard let holder else { return .create(takenFrom: owner) }
        return .set(holder.id, takenFrom: owner)
    }

    /// Why a completed link's account cannot sign in with Apple: applications check it before they drop a password.
    /// `hasIdentity`: the user has the link's identity, or the one it became in a transfer.
    package static func obstacle(to link: Link, user: User, hasIdentity: Bool) -> ReasonCode? {
        // Links of earlier versions did not keep it.
        if let ours = link.externalID, user.externalID.map({ !$0.isExactly(ours) }) ?? true { return .linkEnded }
        if let refusal = user.state.refusal { return refusal.code }
        switch user.credential.state {
        case .authorized: return hasIdentity ? nil : .linkEnded
        case .revoked: return .revoked
        case .notFound, .transferred: return .linkEnded
        }
    }
}
