package import Coding
package import Crypto
import Storage

/// `access.signUp`.
package enum SignUpPolicy: String, Sendable, CaseIterable {
    case open, approval, closed
}

/// Everything the completing transaction needs, verified and sealed beforehand.
package struct SignInRecord: Sendable {
    package var attempt: Digest256
    package var bindingHash: Digest256
    /// When the attempt began, by our clock: what Apple reported before cannot concern this sign-in.
    package var attemptIssuedAt: Timestamp
    /// When the attempt's row may be deleted: its end plus the time during which replays are recognised.
    package var attemptExpiresAt: Timestamp
    package var team: TeamID
    package var claims: IdentityClaims
    package var sealedRefreshToken: [UInt8]?
    /// When Apple is first asked whether the token is still valid.
    package var firstCheckAt: Timestamp
    package var policy: SignUpPolicy
    package var newUser: UserID
    package var session: NewSession
    package var replacing: SessionID?
    package var now: Timestamp

    package init(
        attempt: Digest256, bindingHash: Digest256, attemptIssuedAt: Timestamp, attemptExpiresAt: Timestamp,
        team: TeamID, claims: IdentityClaims,
        sealedRefreshToken: [UInt8]?, policy: SignUpPolicy, newUser: UserID, session: NewSession,
        replacing: SessionID?, now: Timestamp, firstCheckAt: Timestamp? = nil
    ) {
        self.attempt = attempt
        self.bindingHash = bindingHash
        self.attemptIssuedAt = attemptIssuedAt
        self.attemptExpiresAt = attemptExpiresAt
        self.team = team
        self.claims = claims
        self.sealedRefreshToken = sealedRefreshToken
        self.firstCheckAt = firstCheckAt ?? now.adding(seconds: CheckSchedule.interval)
        self.policy = policy
        self.newUser = newUser
        self.session = session
        self.replacing = replacing
        self.now = now
    }
}

extension SignInRecord {
    /// Whether another window of this browser made the session after this attempt began. The browser then keeps the
    /// token of whichever answer comes last, so both get the same one.
    package func sharesToken(of session: Session) -> Bool {
        guard case .ofBrowser(let tokens) = self.session.token, attemptIssuedAt < session.createdAt else {
            return false
        }
        return tokens.all(of: session.id, since: session.createdAt).contains { $0.hash == session.tokenHash }
    }
}

/// A session to be stored; the transaction decides its user.
package struct NewSession: Sendable {
    package var id: SessionID
    package var token: NewToken
    package var kind: SessionKind
    package var device: Device
    package var expiresAt: Timestamp
}

/// What the completing transaction decided.
package enum SignInResult: Hashable, Sendable {
    case signedIn(user: User, session: Session, isNewUser: Bool)
    /// The attempt was used before; nothing was written.
    case alreadyUsed(UsedAttempt)
    /// The attempt is used, no session was created.
    case refused(SignInRefusal, UserID?)
}

/// Why a sign-in that Apple verified made no session, as stored with the attempt.
package enum SignInRefusal: String, Sendable, CaseIterable {
    /// The user waits for approval; created if new.
    case pending
    case disabled
    /// Sign-up is closed and this person is unknown; nobody was created.
    case closed
    /// Since the attempt began, Apple has reported that the person withdrew consent, or is gone, at or after the `iat`
    /// of this sign-in. Nothing else was written.
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

package struct UsedAttempt: Hashable, Sendable {
    package var bindingHash: Digest256
    package var session: SessionID?
    /// When its session began; nil when it ended.
    package var sessionBegan: Timestamp?
    package var sessionIsLive: Bool
    /// Nil when there was a session, and for attempts from before this was stored.
    package var refusal: SignInRefusal?
}
