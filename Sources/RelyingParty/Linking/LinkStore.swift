package import Coding
package import Crypto

/// An identity that authorizes a link.
package struct LinkAuthorization: Sendable {
    package var key: LinkKey
    package var request: Digest256
    package var codeHash: Digest256
    /// `LinkedIdentity`, sealed for this link.
    package var sealedIdentity: [UInt8]
    package var team: TeamID
    package var subject: AppleSubject
    /// Where the identity waited: from now on only this link may use it.
    package var waiting: WaitingID?
    package var now: Timestamp
}

package enum LinkCodeResult: Hashable, Sendable {
    case right(Link)
    /// Also when it was the last try and ended the link.
    case wrong
    case unknown
}

/// The input of the committing transaction.
package struct LinkCommit: Sendable {
    package var key: LinkKey
    /// As a sign-in of this identity would be stored; its session is not created.
    package var record: SignInRecord
    /// When the job may take over the conversion.
    package var conversionDueAt: Timestamp
}

package enum LinkCommitResult: Hashable, Sendable {
    /// The user has the external ID; the link is `converting`, or, with kind `link`, `done`.
    case committed(Link)
    /// The rule refused, or Apple ended the consent: the link has ended, and nothing else changed.
    case refused(LinkFailure)
    /// The link is not, or no longer, `authorized`.
    case other(Link)
    case unknown
}

/// The input of the finishing transaction.
package struct LinkFinish: Sendable {
    package var key: LinkKey
    /// The identity that waited, with the planned session; nil when it can no longer be opened. The user got its data
    /// at the commit, and much may have changed since.
    package var record: SignInRecord?
    package var makesSession: Bool
    package var now: Timestamp

    package init(key: LinkKey, record: SignInRecord?, makesSession: Bool, now: Timestamp) {
        self.key = key
        self.record = record
        self.makesSession = makesSession
        self.now = now
    }
}

/// A password or code that is about to be tried.
package enum CountedTry: Hashable, Sendable {
    /// As if made at this moment; no two tries of a name have the same.
    case counted(Timestamp)
    /// Too many count until then.
    case refused(until: Timestamp)
}

/// An identity whose person is asked whether they have an account.
package struct WaitingIdentity: Hashable, Sendable {
    package var id: WaitingID
    package var attempt: Digest256
    package var bindingHash: Digest256
    package var ticketHash: Digest256
    package var sealedIdentity: [UInt8]
    package var team: TeamID
    package var subject: AppleSubject
    /// The subject that the sending team uses, after a transfer.
    package var transferSubject: String?
    package var expiresAt: Timestamp
    /// The only link that may use it.
    package var link: LinkKey?

    package init(
        id: WaitingID, attempt: Digest256, bindingHash: Digest256, ticketHash: Digest256, sealedIdentity: [UInt8],
        team: TeamID, subject: AppleSubject, transferSubject: String? = nil, expiresAt: Timestamp
    ) {
        self.id = id
        self.attempt = attempt
        self.bindingHash = bindingHash
        self.ticketHash = ticketHash
        self.sealedIdentity = sealedIdentity
        self.team = team
        self.subject = subject
        self.transferSubject = transferSubject
        self.expiresAt = expiresAt
    }
}

/// Links and waiting identities. Each method is one transaction, durable when it returns.
package protocol LinkStore: Sendable {
    func createLink(_ link: Link) async throws(StoreError)
    func link(_ key: LinkKey) async throws(StoreError) -> Link?
    /// The user of a committed link.
    func user(of key: LinkKey) async throws(StoreError) -> User?

    /// Ties an open link to the browser that opens it.
    /// - Parameter takesOver: replaces another browser; otherwise the first one keeps the link.
    /// - Returns: false when the link belongs to another browser, or is not open.
    func claimLink(_ key: LinkKey, for browser: Digest256, takesOver: Bool) async throws(StoreError) -> Bool

    /// Counts a try for a name unless `maximum` count already, each for `RetentionPolicy.usernameTries`.
    func countTry(of name: Digest256, maximum: Int, at now: Timestamp) async throws(StoreError) -> CountedTry
    func restoreTry(of name: Digest256, at moment: Timestamp) async throws(StoreError)

    /// Counts a second-factor try before it is made.
    /// - Returns: the link; nil when it is not `challenged`, or when no tries are left, which ends it.
    func consumeSecondFactorTry(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link?
    /// Restores a try that nobody has judged.
    func restoreSecondFactorTry(_ key: LinkKey) async throws(StoreError)
    /// From `challenged` to `open`, or, with a new challenge, to the next factor. False when the link was not
    /// `challenged`.
    func passSecondFactor(_ key: LinkKey, externalID: String, at now: Timestamp) async throws(StoreError) -> Bool
    func renewChallenge(
        _ key: LinkKey, sealedChallenge: [UInt8], methods: [String]
    ) async throws(StoreError) -> Bool

    /// From `open` to `authorized`, unless expired.
    /// - Returns: the link afterwards, whoever authorized it; nil when there is none.
    func authorizeLink(_ authorization: LinkAuthorization) async throws(StoreError) -> Link?
    /// Whether this is the link's code. Counts a wrong one while the link waits; the fifth ends it.
    func tryCode(_ hash: Digest256, of key: LinkKey, at now: Timestamp) async throws(StoreError) -> LinkCodeResult
    /// Applies `LinkRule`, sets the external ID, creates the user if necessary, and stores what the identity brings, as
    /// a sign-in would.
    func commitLink(_ commit: LinkCommit) async throws(StoreError) -> LinkCommitResult
    /// Ends a link that is not committed.
    func failLink(_ key: LinkKey, reason: String, at now: Timestamp) async throws(StoreError)

    /// Reserves the request to the application until `deadline`, if `ConversionRule` allows it.
    /// - Parameter onlyIfDue: true for the job; with false, for a request, also before it is due, unless somebody is
    ///   asking already.
    func beginConversion(
        _ key: LinkKey, at now: Timestamp, until deadline: Timestamp, onlyIfDue: Bool
    ) async throws(StoreError) -> ConversionStart
    /// - Parameter counts: whether the next pause is longer.
    func postponeConversion(
        _ key: LinkKey, until next: Timestamp, failure: String, counts: Bool
    ) async throws(StoreError)
    /// Finishes a converted link: `done`, with session and event; `failed` when the account is no longer the user's.
    /// - Returns: the link afterwards; nil when the user was deleted in the meantime.
    func finishLink(_ finish: LinkFinish) async throws(StoreError) -> Link?
    /// Undoes a link that the application refused: the external ID returns to where it was, and a user created by the
    /// commit is deleted. What Apple said about an earlier user stays.
    /// - Returns: the link afterwards; nil when the user was deleted in the meantime.
    func undoLink(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link?
    /// At most `limit` conversions that are due, oldest first.
    func dueConversions(at now: Timestamp, limit: Int) async throws(StoreError) -> [Link]

    /// Keeps an identity without a user waiting.
    /// - Returns: what waits for this attempt, now or since earlier; nil when the identity has a user, or its attempt
    ///   is used.
    func keepWaiting(_ identity: WaitingIdentity, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    /// Nil when expired.
    func waiting(_ id: WaitingID, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    func waiting(ticket: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    func waiting(attempt: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
}
