package import Coding

/// Apple's view of the user's authorization, in the terms of `ASAuthorizationAppleIDProvider.CredentialState`.
package enum CredentialState: String, Sendable, CaseIterable {
    case authorized, revoked, notFound, transferred
}

/// What last changed an identity's `CredentialState`.
package enum CredentialCause: String, Sendable, CaseIterable {
    /// A sign-in, proven by Apple's token.
    case signIn = "sign_in"
    /// The operator vouched for the person: `bramley users import`.
    case imported
    /// Apple reported that the person withdrew consent.
    case consentRevoked = "consent_revoked"
    /// Apple reported that the Apple Account was deleted.
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
    /// When the state changed: by Apple's clock for sign-ins and notifications, otherwise by ours. Nil for changes from
    /// before times were stored.
    package var changedAt: Timestamp?
    package var cause: CredentialCause
}

/// What happens to an identity, as far as it affects the credential state.
///
/// A sign-in that lost against a notification is refused earlier (`SignInResult.revoked`), and a notification with a
/// known jti is not an event.
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
    /// The daily check: Apple no longer accepts a refresh token that used to work.
    /// - Parameters:
    ///   - at: when Apple answered, by our clock.
    ///   - newestIssuedAt: the latest `iat` of the identity's tokens, dead ones included, by Apple's clock.
    ///   - othersLive: whether another client still holds a token of this identity.
    case tokenDead(at: Timestamp, newestIssuedAt: Timestamp, othersLive: Bool)
    /// Here, by the person or the operator.
    case deleted
    /// A team transfer gave the identity to another team; by our clock.
    case transferredOut(at: Timestamp)
    /// A team transfer brought the identity; by our clock.
    case transferredIn(at: Timestamp)
}
