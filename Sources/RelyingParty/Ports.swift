package import Coding
package import Crypto

/// The store behind the domain. `Storage` implements it over SQLite; each method is one transaction, durable when it
/// returns. Every failure is a `StoreError`; after one nothing was written.
package protocol SignInStore: ExchangeStore {
    /// Remembers the name given at first consent before Apple is asked; an existing row's name is replaced, its
    /// age begins again. Rows expire after 30 days.
    func saveFirstConsent(
        team: TeamID, subject: AppleSubject, name: PersonName, at now: Timestamp
    ) async throws(StoreError)

    /// The one transaction of a sign-in: marks the attempt used, creates or updates the user, takes the name from
    /// `first_consent` into an empty place, stores the sealed refresh token, ends the session it replaces, creates
    /// the new one and writes the events. Applies `SignUpPolicy` to people not seen before.
    func completeSignIn(_ record: SignInRecord) async throws(StoreError) -> SignInResult

    /// The used attempt, for replays: nil when never used. `sessionIsLive` tells whether its session still lives.
    func usedAttempt(_ id: Digest256, at now: Timestamp) async throws(StoreError) -> UsedAttempt?
}

/// Sessions as pages and the API see them.
package protocol SessionStore: Sendable {
    /// The live session of this token with its user (any state), nil when unknown, ended or expired.
    func signedIn(token: Digest256, at now: Timestamp) async throws(StoreError) -> SignedIn?
    /// The user's live sessions, newest first.
    func sessions(of user: UserID, at now: Timestamp) async throws(StoreError) -> [Session]
    /// Ends one session; false when it was not there. After return every look-up in this process refuses it.
    func endSession(_ id: SessionID, cause: SessionEndCause, at now: Timestamp) async throws(StoreError) -> Bool
    /// Writes `lastSeenAt`, lazily: callers send at most one per session and minute.
    func touch(_ id: SessionID, at now: Timestamp) async throws(StoreError)
}

package protocol NotificationStore: Sendable {
    /// Records and applies in one transaction; a jti seen within 30 days is `.duplicate`, without effect.
    func apply(_ notification: AppleNotification, team: TeamID, at now: Timestamp) async throws(StoreError)
        -> NotificationOutcome
}

/// The synchronous look-up of one event loop: its own read-only connection, a cached statement, no transaction left
/// open. Made on the loop that uses it; not Sendable.
package protocol SessionReader: AnyObject {
    func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn?
}

/// Makes `SessionReader`s, and tells them when what they read before no longer holds.
package protocol SessionDirectory: Sendable {
    func makeReader() throws(StoreError) -> any SessionReader
    var invalidations: SessionInvalidations { get }
}

/// Why the store did not do as asked.
package enum StoreError: Error, Hashable, Sendable {
    /// Disk full or I/O error: nothing was written.
    case unavailable(String)
    /// Another process holds the lock too long.
    case busy(String)
    /// The database is damaged or of a newer schema.
    case corrupt(String)
    /// Our own bug, said plainly: a constraint was violated.
    case inconsistent(String)
}

/// `session.ended`'s cause, in events and logs; and that of an `account.deleted` that only takes a link back.
package enum SessionEndCause: String, Sendable, CaseIterable {
    case signOut = "sign_out"
    case replaced
    case revokedByUser = "revoked_by_user"
    case revokedByOperator = "revoked_by_operator"
    case consentRevoked = "consent_revoked"
    case accountDeleted = "account_deleted"
    case userDisabled = "user_disabled"
    case expired
    case tokenDead = "token_dead"
    /// Of `account.deleted`: the user was a link's, and the application refused it. No session ends for it.
    case linkRemoved = "link_removed"
}

/// `access.signUp`.
package enum SignUpPolicy: String, Sendable, CaseIterable {
    case open, approval, closed
}

/// Everything the completing transaction needs, verified and sealed beforehand.
package struct SignInRecord: Sendable {
    package var attempt: Digest256
    package var bindingHash: Digest256
    /// When the attempt began, by our clock: what Apple told us before it cannot be about this sign-in.
    package var attemptIssuedAt: Timestamp
    /// When the attempt's row may go: the attempt's end plus the time replays are told apart.
    package var attemptExpiresAt: Timestamp
    package var team: TeamID
    package var claims: IdentityClaims
    package var sealedRefreshToken: [UInt8]?
    /// When Apple is asked for the first time whether the token still stands.
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

/// A session about to be stored; its user is decided inside the transaction.
package struct NewSession: Sendable {
    package var id: SessionID
    package var tokenHash: Digest256
    package var kind: SessionKind
    package var device: Device
    package var expiresAt: Timestamp

    package init(id: SessionID, tokenHash: Digest256, kind: SessionKind, device: Device, expiresAt: Timestamp) {
        self.id = id
        self.tokenHash = tokenHash
        self.kind = kind
        self.device = device
        self.expiresAt = expiresAt
    }
}

/// What the completing transaction decided.
package enum SignInResult: Hashable, Sendable {
    case signedIn(user: User, session: Session, isNewUser: Bool)
    /// The attempt had been used before; nothing was written.
    case alreadyUsed(UsedAttempt)
    /// The user waits for approval (created if new); the attempt is used, no session was made.
    case pending(UserID)
    case disabled(UserID)
    /// Sign-up is closed and this person is not known; the attempt is used, nobody was created.
    case closed
    /// Since the attempt began, Apple has told us that the person withdrew consent, or is gone, at or after the `iat` of
    /// this very sign-in; the attempt is used, the name it brought forgotten, nothing else was written.
    case revoked
}

/// Why a sign-in that Apple vouches for made no session, as it is kept with the attempt.
package enum SignInRefusal: String, Sendable, CaseIterable {
    case pending, disabled, closed, revoked
}

package struct UsedAttempt: Hashable, Sendable {
    package var bindingHash: Digest256
    package var session: SessionID?
    package var sessionIsLive: Bool
    /// Nil when there was a session, and for attempts of before this was kept.
    package var refusal: SignInRefusal?

    package init(
        bindingHash: Digest256, session: SessionID?, sessionIsLive: Bool, refusal: SignInRefusal? = nil
    ) {
        self.bindingHash = bindingHash
        self.session = session
        self.sessionIsLive = sessionIsLive
        self.refusal = refusal
    }
}

/// Recorded by its case's name.
package enum NotificationOutcome: String, Sendable, CaseIterable {
    case applied, duplicate
    /// An older e-mail event than the last one applied: recorded only.
    case stale
    case unknownSubject, unknownType
}
