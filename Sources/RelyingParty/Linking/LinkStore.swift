package import Coding
package import Crypto

/// An identity that authorizes a link.
package struct LinkAuthorization: Sendable {
    package var id: LinkID
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
    package var id: LinkID
    /// As a sign-in of this identity would be stored; its session is not created.
    package var record: SignInRecord
}

package enum LinkCommitResult: Hashable, Sendable {
    /// The user has the external ID; the link is `done`.
    case committed(Link)
    /// The rule refused, or Apple ended the consent: the link has ended, and nothing else changed.
    case refused(LinkFailure)
    /// The link is not, or no longer, `authorized`.
    case other(Link)
    case unknown
}

/// What a completed link says about its account.
package enum LinkedAccount: Hashable, Sendable {
    /// Apple opens it.
    case opens(User)
    case closed(LinkFailure)
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
    package var link: LinkID?

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
    func link(_ id: LinkID) async throws(StoreError) -> Link?

    /// Ties an open link to the browser that opens it first.
    /// - Returns: false when the link belongs to another browser, or is not open.
    func claimLink(_ id: LinkID, for browser: Digest256) async throws(StoreError) -> Bool

    /// From `open` to `authorized`, unless expired.
    /// - Returns: the link afterwards, whoever authorized it; nil when there is none.
    func authorizeLink(_ authorization: LinkAuthorization) async throws(StoreError) -> Link?
    /// Whether this is the link's code. Counts a wrong one while the link waits; the fifth ends it.
    func tryCode(_ hash: Digest256, of id: LinkID, at now: Timestamp) async throws(StoreError) -> LinkCodeResult
    /// Applies `LinkRule`, sets the external ID, creates the user if necessary, stores what the identity brings, as a
    /// sign-in would, and writes the event.
    func commitLink(_ commit: LinkCommit) async throws(StoreError) -> LinkCommitResult
    /// Ends a link that is not committed.
    func failLink(_ id: LinkID, reason: String, at now: Timestamp) async throws(StoreError)
    /// The account of a completed link, by `LinkRule.obstacle`; nil when its user was deleted.
    func linkedAccount(_ id: LinkID) async throws(StoreError) -> LinkedAccount?

    /// Keeps an identity without a user waiting.
    /// - Returns: what waits for this attempt, now or since earlier; nil when the identity has a user, or its attempt
    ///   is used.
    func keepWaiting(_ identity: WaitingIdentity, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    /// Nil when expired.
    func waiting(_ id: WaitingID, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    func waiting(ticket: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
    func waiting(attempt: Digest256, at now: Timestamp) async throws(StoreError) -> WaitingIdentity?
}
