package import Coding
package import Crypto
import Storage

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
