package import Coding
package import Crypto

/// An identity with which a link is authorized.
package struct LinkAuthorization: Sendable {
    package var key: LinkKey
    package var request: Digest256
    package var codeHash: Digest256
    /// `LinkedIdentity`, sealed for this link.
    package var sealedIdentity: [UInt8]
    package var team: TeamID
    package var subject: AppleSubject
    /// Where the identity waited: from now on it waits for this link alone.
    package var waiting: WaitingID?
    package var now: Timestamp
}

package enum LinkCodeResult: Hashable, Sendable {
    case right(Link)
    /// Also when it was one too many and ended the link.
    case wrong
    case unknown
}

/// What the committing transaction needs.
package struct LinkCommit: Sendable {
    package var key: LinkKey
    /// As a sign-in of this identity would be stored; its session is not made.
    package var record: SignInRecord
    /// When the job may take the conversion over.
    package var conversionDueAt: Timestamp
}

package enum LinkCommitResult: Hashable, Sendable {
    /// The user has the external ID; the link is `converting`, or with kind `link` `done`.
    case committed(Link)
    /// The rule refused, or Apple ended the consent: the link is over, and nothing else changed.
    case refused(LinkFailure)
    /// It is not `authorized` (any more).
    case other(Link)
    case unknown
}

/// What the finishing transaction needs.
package struct LinkFinish: Sendable {
    package var key: LinkKey
    /// The identity that waited, with the session planned; nil when it cannot be opened any more. What it says of its
    /// user they were given at the commit, and much may have changed since.
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

/// An identity whose person is asked whether they have an account.
package struct WaitingIdentity: Hashable, Sendable {
    package var id: WaitingID
    package var attempt: Digest256
    package var bindingHash: Digest256
    package var ticketHash: Digest256
    package var sealedIdentity: [UInt8]
    package var team: TeamID
    package var subject: AppleSubject
    /// What the sending team calls them, after a transfer.
    package var transferSubject: String?
    package var expiresAt: Timestamp
    /// The link that has taken it, and no other may.
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
    /// - Parameter takesOver: also when it is another browser's; else the first one stays.
    /// - Returns: false when it is another browser's, or not open.
    func claimLink(_ key: LinkKey, for browser: Digest256, takesOver: Bool) async throws(StoreError) -> Bool

    /// Counts a try at the second factor before it is made.
    /// - Returns: the link; nil when it is not `challenged`, or when the tries are used up: then it is over.
    func consumeSecondFactorTry(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link?
    /// Takes a try back about which nobody has said anything.
    func restoreSecondFactorTry(_ key: LinkKey) async throws(StoreError)
    /// From `challenged` to `open`; or, with a new challenge, on to the next factor. False when it was not `challenged`.
    func passSecondFactor(_ key: LinkKey, externalID: String, at now: Timestamp) async throws(StoreError) -> Bool
    func renewChallenge(
        _ key: LinkKey, sealedChallenge: [UInt8], methods: [String]
    ) async throws(StoreError) -> Bool

    /// From `open` to `authorized`, unless its time is over.
    /// - Returns: the link as it is then, whoever authorized it; nil when there is none.
    func authorizeLink(_ authorization: LinkAuthorization) async throws(StoreError) -> Link?
    /// Whether this is the link's code. A wrong one is counted while it waits, and the fifth ends it.
    func tryCode(_ hash: Digest256, of key: LinkKey, at now: Timestamp) async throws(StoreError) -> LinkCodeResult
    /// Applies `LinkRule`, sets the external ID, makes the user where there is none, and gives them what the identity
    /// brings, as a sign-in would.
    func commitLink(_ commit: LinkCommit) async throws(StoreError) -> LinkCommitResult
    /// Ends a link that is not committed.
    func failLink(_ key: LinkKey, reason: String, at now: Timestamp) async throws(StoreError)

    /// The application is about to be asked, until `deadline` by nobody else: if `ConversionRule` lets it be.
    /// - Parameter onlyIfDue: as the job asks; false, for a request, also before its time, unless somebody asks already.
    func beginConversion(
        _ key: LinkKey, at now: Timestamp, until deadline: Timestamp, onlyIfDue: Bool
    ) async throws(StoreError) -> ConversionStart
    /// - Parameter counts: the next pause is longer.
    func postponeConversion(
        _ key: LinkKey, until next: Timestamp, failure: String, counts: Bool
    ) async throws(StoreError)
    /// The application converted: `done`, with the session and the event; `failed` when the account is no longer the
    /// user's.
    /// - Returns: the link as it is then; nil when the user was deleted meanwhile.
    func finishLink(_ finish: LinkFinish) async throws(StoreError) -> Link?
    /// The application refused: the external ID is where it was before, and the user a commit made is gone. What Apple said
    /// of a user who was there before stays.
    /// - Returns: the link as it is then; nil when the user was deleted meanwhile.
    func undoLink(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link?
    /// At most `limit` conversions that are due, oldest first.
    func dueConversions(at now: Timestamp, limit: Int) async throws(StoreError) -> [Link]

    /// Lets an identity wait that no user has.
    /// - Returns: what waits for this attempt, also when it did before; nil when the identity has a user, or its attempt
    ///   is used.
    func keepWaiting(_ identity: WaitingIdentity, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    /// Nil when its time is over.
    func waiting(_ id: WaitingID, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    func waiting(ticket: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    func waiting(attempt: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
}
