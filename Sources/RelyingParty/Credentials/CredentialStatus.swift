package import Coding

/// Apple's view of the user's authorization, in the words of `ASAuthorizationAppleIDProvider.CredentialState`.
package enum CredentialState: String, Sendable, CaseIterable {
    case authorized, revoked, notFound, transferred
}

/// What last changed an identity's `CredentialState`.
package enum CredentialCause: String, Sendable, CaseIterable {
    /// A sign-in that Apple's token proves.
    case signIn = "sign_in"
    /// The operator vouched for the person: `bramley users import`.
    case imported
    /// Apple told that the person withdrew their consent.
    case consentRevoked = "consent_revoked"
    /// Apple told that the Apple Account is gone.
    case accountDeleted = "account_deleted"
    /// Apple no longer takes any refresh token of the identity: consent withdrawn, or a password changed.
    case tokenDead = "token_dead"
    /// The identity went to another team with its app.
    case transferredOut = "transferred_out"
    /// The identity came from another team with its app.
    case transferredIn = "transferred_in"
}

/// The state of one identity's authorization, and when and why it became that.
package struct CredentialStatus: Hashable, Sendable {
    package var state: CredentialState
    /// When the state became this: Apple's clock for sign-ins and notifications, ours for everything else. Nil when it
    /// was so before the time was kept.
    package var changedAt: Timestamp?
    package var cause: CredentialCause

    package init(state: CredentialState, changedAt: Timestamp?, cause: CredentialCause) {
        self.state = state
        self.changedAt = changedAt
        self.cause = cause
    }
}

/// What happens to an identity, as far as its credential state is concerned.
///
/// A sign-in that lost the race against a notification is refused before it gets here (`SignInResult.revoked`), and a
/// notification whose jti is known is no event.
package enum CredentialEvent: Hashable, Sendable {
    /// `iat` of the identity token, Apple's clock.
    case signIn(issuedAt: Timestamp)
    case imported(at: Timestamp)
    /// `event_time`, Apple's clock.
    case consentRevoked(at: Timestamp)
    /// `event_time`, Apple's clock.
    case accountDeleted(at: Timestamp, AccountDeletionPolicy)
    /// The daily check: Apple takes a refresh token of this identity.
    case tokenAlive
    /// The daily check: Apple no longer takes a refresh token that worked.
    /// - Parameters:
    ///   - at: when Apple answered, our clock.
    ///   - newestIssuedAt: the latest `iat` of the identity's tokens, dead ones included, Apple's clock.
    ///   - othersLive: whether another client still holds a token of this identity.
    case tokenDead(at: Timestamp, newestIssuedAt: Timestamp, othersLive: Bool)
    /// By the person or the operator, here.
    case deleted
    /// A team transfer gave the identity to another team; our clock.
    case transferredOut(at: Timestamp)
    /// A team transfer brought the identity; our clock.
    case transferredIn(at: Timestamp)
}
