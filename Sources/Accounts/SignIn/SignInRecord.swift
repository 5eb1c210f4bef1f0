package import Coding
package import Crypto
import Storage

/// `access.signUp`.
package enum SignUpPolicy: String, Sendable, CaseIterable {
    case open, approval, closed
}

/// The attempt that a sign-in of a browser or app uses up.
package struct SignInAttempt: Sendable {
    /// Zero while it has no `state`.
    package var id = Digest256(words: (0, 0, 0, 0))
    /// When it began, by our clock: earlier reports from Apple cannot concern this sign-in.
    package var issuedAt: Timestamp
    /// The hash of the browser's binding; for an app, the digest of its request.
    package var bindingHash = SHA256.hash([])
    /// The browser's session that it ends.
    package var replacing: SessionID?
}

/// Everything the completing transaction needs, verified and sealed.
package struct SignInRecord: Sendable {
    package var attempt: SignInAttempt
    /// When the attempt's row may be deleted: its end plus the time during which replays are recognised.
    package var attemptExpiresAt: Timestamp
    package var team: TeamID
    package var claims: IdentityClaims
    package var sealedRefreshToken: [UInt8]?
    /// When Apple is first asked whether the token is still valid.
    package var firstCheckAt: Timestamp
    package var policy: SignUpPolicy
    package var newUser: UserID
    /// For a new session, if the transaction creates one.
    package var session: SessionID
    package var token: NewToken
    package var kind: SessionKind
    package var device: Device
    package var sessionExpiresAt: Timestamp
    package var now: Timestamp

    /// Whether another window made the session after this attempt began: the browser keeps the last answer's token.
    package func sharesToken(of session: Session) -> Bool {
        guard case .ofBrowser(let tokens) = token, attempt.issuedAt < session.createdAt else { return false }
        return tokens.all(of: session.id, since: session.createdAt).contains { $0.hash == session.tokenHash }
    }
}

/// The decision of the completing transaction.
package enum SignInResult: Hashable, Sendable {
    case signedIn(user: User, session: Session, isNewUser: Bool)
    /// The attempt was used before; nothing was written.
    case alreadyUsed(UsedAttempt)
    /// The attempt is used, no session was created.
    case refused(SignInRefusal, UserID?)
}

/// The result of one post to the callback, which determines what the visitor sees.
package enum SignInOutcome: Sendable {
    /// 303 to the target, with the session cookie.
    case signedIn(token: SessionToken, session: Session, returnTo: ReturnTarget)
    /// A later replay in the browser whose session is live: 303 without a cookie.
    case alreadySignedIn(returnTo: ReturnTarget)
    /// The binding cookie is missing: the page that posts the form again from our own origin.
    case repost(CallbackForm)
    /// The person is verified and may not sign in: a page.
    case refused(SignInRefusal, UserID?)
    /// The error page. `returnTo`, known once the state opened, is where the attempt would have led.
    case failed(Failure, returnTo: ReturnTarget? = nil, link: LinkID? = nil)
    /// The visitor cancelled at Apple: 303 to `errorReturn.cancelled`. `returnTo` is where the sign-in would have led.
    case cancelled(_ errorReturn: ReturnTarget, returnTo: ReturnTarget)
    /// The attempt authorized a link, which the application's backend completes: 303 to this address.
    case linkAuthorized(location: String)
    /// The identity is unknown, and its person is asked whether they have an account: a page.
    case asksExisting(WaitingPerson)
}

/// Why a verified sign-in made no session, as stored with the attempt.
package enum SignInRefusal: String, Sendable, CaseIterable {
    /// The user waits for approval; created if new.
    case pending
    case disabled
    /// Sign-up is closed and this person is unknown; no user was created.
    case closed
    /// Apple has reported the end of the consent, at or after this sign-in's `iat`, since the attempt began.
    case revoked

    package var code: ReasonCode {
        switch self {
        case .pending: .userPending
        case .disabled: .userDisabled
        case .closed: .signUpClosed
        case .revoked: .revoked
        }
    }
}

extension User.State {
    /// Why a person in this state may not sign in; nil when they may.
    var refusal: SignInRefusal? {
        switch self {
        case .active: nil
        case .pending: .pending
        case .disabled: .disabled
        }
    }
}

package struct UsedAttempt: Hashable, Sendable {
    package var bindingHash: Digest256
    package var session: SessionID?
    /// When its session began; nil when it ended.
    package var sessionBegan: Timestamp?
    package var sessionIsLive: Bool
    /// Nil when there was a session, and for attempts from before this was stored.
    package var refusal: SignInRefusal?
}
