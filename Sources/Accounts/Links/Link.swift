package import Coding
package import Crypto

/// Whether Apple is added to an account, or replaces its password, which the application then drops.
package enum LinkKind: String, Sendable, CaseIterable {
    case link, upgrade
}

/// A link's progress. The first two states expire.
package enum LinkState: String, Sendable, CaseIterable {
    /// Waits for Apple's answer. The nonce is unused.
    case open
    /// A verified identity waits, sealed, for the link to be completed.
    case authorized
    /// The user has the external ID.
    case done
    /// Refused.
    case failed
}

/// A stored attempt to link an Apple identity to an application's account.
package struct Link: Hashable, Sendable {
    package var id: LinkID
    package var kind: LinkKind
    package var state: LinkState
    package var ticketHash: Digest256
    /// Of the token in the address.
    package var addressHash: Digest256?
    /// The application's account. Nil after the link has failed.
    package var externalID: String?
    /// The application's name of the account, for the page.
    package var displayName: String?
    /// Where the browser goes with the code; a `ReturnTarget.location`, validated again when used.
    package var returnTo: String?
    /// Whether the external ID may be taken from another user.
    package var mayReplace: Bool
    /// For an app; browsers use that of their attempt.
    package var nonce: String
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    /// Wrong codes.
    package var tries: Int
    /// The digest of the request that authorized the link.
    package var request: Digest256?
    package var codeHash: Digest256?
    /// `LinkedIdentity`, while the link is authorized.
    package var sealedIdentity: [UInt8]?
    /// The browser that opened the link first, by its binding.
    package var browser: Digest256?
    /// Of that identity: the team it signed in with.
    package var team: TeamID?
    package var subject: AppleSubject?
    /// The identity waiting in the browser that asked to connect.
    package var waiting: WaitingID?
    /// The key that began it; only that key may complete it. Nil for links from releases that did not record it.
    package var apiKey: APIKeyID?
    /// Set at `done`.
    package var user: UserID?
    /// Why the link failed.
    package var failure: String?
    package var endedAt: Timestamp?

    package init(
        id: LinkID, kind: LinkKind, state: LinkState, ticketHash: Digest256, addressHash: Digest256?,
        externalID: String?, displayName: String? = nil, returnTo: String? = nil, mayReplace: Bool = false,
        nonce: String, createdAt: Timestamp, waiting: WaitingID? = nil, apiKey: APIKeyID? = nil
    ) {
        self.id = id
        self.kind = kind
        self.state = state
        self.ticketHash = ticketHash
        self.addressHash = addressHash
        self.externalID = externalID
        self.displayName = displayName
        self.returnTo = returnTo
        self.mayReplace = mayReplace
        self.nonce = nonce
        self.createdAt = createdAt
        expiresAt = createdAt.adding(seconds: LinkLifetime.seconds)
        tries = 0
        self.waiting = waiting
        self.apiKey = apiKey
    }

    /// Whether the link has expired, by a clock that may have been set back by a minute.
    package func isOver(at now: Timestamp) -> Bool { now >= expiresAt || now.adding(seconds: 60) < createdAt }
}
