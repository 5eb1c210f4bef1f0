import Coding
import Crypto
import Storage

/// What Apple has just given an app, sent to delete an account for which no refresh token may be stored.
package struct FreshAuthorization: Sendable {
    package var authorizationCode: String
    /// Verified as at a sign-in, if given; then `nonce` is required.
    package var identityToken: String?
    /// Of a challenge of ours; if given, Apple's token must match it.
    package var nonce: String?

    package init(authorizationCode: String, identityToken: String? = nil, nonce: String? = nil) {
        self.authorizationCode = authorizationCode
        self.identityToken = identityToken
        self.nonce = nonce
    }
}

extension SignIn {
    /// Redeems a code that Apple has just given the app that this person is signed in with, and stores the refresh
    /// token, so that the following deletion can revoke it (Apple, TN3194). This also proves that the person was
    /// present.
    ///
    /// The code must belong to the same person and app; it is sent once.
    package func redeem(_ fresh: FreshAuthorization, of signedIn: SignedIn) async throws(Failure) {
        let (session, user) = (signedIn.session, signedIn.user)
        guard session.kind == .native, provider.bundleIDs.contains(session.clientID) else {
            throw Failure(.malformedCallback, "an authorization code is taken from an app that is signed in")
        }
        var nonce: String?
        if let text = fresh.nonce {
            _ = try openChallenge(text)
            nonce = configuration.nativeNonce.claim(for: text)
        }
        if let token = fresh.identityToken {
            guard let nonce else { throw Failure(.malformedCallback, "identityToken needs a nonce") }
            let claims = try await provider.verify(
                identityToken: token, authorizationCode: fresh.authorizationCode, nonce: nonce,
                clientIDs: [session.clientID])
            guard claims.subject == user.appleSubject else {
                throw Failure(.tokenMismatch, "the token is another person's")
            }
        }
        let attempt = SignInAttempt(
            id: SHA256.hash(utf8: "deletion|" + fresh.authorizationCode), issuedAt: clock.now())
        let request = SHA256.hash(utf8: "\(session.id)|\(fresh.authorizationCode)")
        guard try await claimCode(request, attempt, consent: nil) else {
            throw Failure(.providerUnavailable, "the code is being exchanged, or was when a process ended")
        }
        let identity: VerifiedIdentity
        do throws(Failure) {
            identity = try await provider.redeem(
                authorizationCode: fresh.authorizationCode, nonce: nonce, clientID: session.clientID)
        } catch {
            throw await settled(attempt.id, after: error)
        }
        guard identity.claims.subject == user.appleSubject, identity.claims.clientID == session.clientID else {
            throw Failure(.tokenMismatch, "the code is another person's")
        }
        guard let sealed = seal(identity.refreshToken, claims: identity.claims) else { return }
        try await Failure.mapping(
            await database.keepCredential(
                FreshCredential(
                    team: provider.team, subject: identity.claims.subject, clientID: identity.claims.clientID,
                    sealedRefreshToken: sealed, issuedAt: identity.claims.issuedAt)))
    }
}
