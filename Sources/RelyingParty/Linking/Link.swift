package import Coding
package import Crypto

/// Who signed the person in to the application: the application itself, or its verifier at Bramley's request.
package enum LinkStyle: String, Sendable, CaseIterable {
    case ticket, password
}

/// Whether Apple is added to an account, or replaces its password; then the application's `convert` is called.
package enum LinkKind: String, Sendable, CaseIterable {
    case link, upgrade
}

/// A link's progress. The first three states expire.
package enum LinkState: String, Sendable, CaseIterable {
    /// Password style: waits for the second factor.
    case challenged
    /// Waits for Apple's answer. The nonce is unused.
    case open
    /// A verified identity waits, sealed, for the link to be completed.
    case authorized
    /// Upgrades: the user has the external ID, and the application has not yet confirmed that it removed the password.
    /// Never expires: the application is asked until it answers.
    case converting
    case done
    /// Refused, or removed.
    case failed
}

/// A stored attempt to link an Apple identity to an application's account.
package struct Link: Hashable, Sendable {
    package var key: LinkKey
    package var style: LinkStyle
    package var kind: LinkKind
    package var state: LinkState
    /// Of the ticket, or of the upgrade token.
    package var tokenHash: Digest256
    /// Of the token in the address; nil for an upgrade.
    package var addressHash: Digest256?
    /// The application's account. Nil while the second factor is outstanding, and after the link has ended.
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
    /// The verifier's challenge, sealed, while the second factor is outstanding.
    package var sealedChallenge: [UInt8]?
    package var methods: [String]
    /// Second-factor tries, later wrong codes.
    package var tries: Int
    /// The digest of the request that authorized the link.
    package var request: Digest256?
    package var codeHash: Digest256?
    /// `LinkedIdentity`, while the link is authorized or converting.
    package var sealedIdentity: [UInt8]?
    /// The browser that opened the link first, by its binding.
    package var browser: Digest256?
    /// Of that identity: the team it signed in with.
    package var team: TeamID?
    package var subject: AppleSubject?
    /// The identity waiting in the browser that asked to connect.
    package var waiting: WaitingID?
    /// The key that began it by ticket; only that key may complete it. Nil for upgrades and for links from releases
    /// that did not record it.
    package var apiKey: APIKeyID?
    /// Set at the commit.
    package var user: UserID?
    /// Set at `done`, in the password style.
    package var session: SessionID?
    /// Unanswered calls of `convert` by the job.
    package var attempts: Int
    package var nextAttemptAt: Timestamp?
    /// Why the last call of `convert` had no answer, or why the link failed.
    package var failure: String?
    package var endedAt: Timestamp?

    package init(
        key: LinkKey, style: LinkStyle, kind: LinkKind, state: LinkState, tokenHash: Digest256,
        addressHash: Digest256? = nil, externalID: String?, displayName: String? = nil, returnTo: String? = nil,
        mayReplace: Bool = false, nonce: String, createdAt: Timestamp, sealedChallenge: [UInt8]? = nil,
        methods: [String] = [], waiting: WaitingID? = nil, apiKey: APIKeyID? = nil
    ) {
        self.key = key
        self.style = style
        self.kind = kind
        self.state = state
        self.tokenHash = tokenHash
        self.addressHash = addressHash
        self.externalID = externalID
        self.displayName = displayName
        self.returnTo = returnTo
        self.mayReplace = mayReplace
        self.nonce = nonce
        self.createdAt = createdAt
        expiresAt = createdAt.adding(seconds: LinkLifetime.seconds)
        self.sealedChallenge = sealedChallenge
        self.methods = methods
        tries = 0
        self.waiting = waiting
        self.apiKey = apiKey
        attempts = 0
    }

    /// Whether the link has expired, by a clock that may have been set back by a minute.
    package func isOver(at now: Timestamp) -> Bool { now >= expiresAt || now.adding(seconds: 60) < createdAt }

    /// What the application is asked to convert; nil unless the link is committed.
    package var conversion: Conversion? {
        guard let externalID, let user else { return nil }
        return Conversion(attemptID: key, kind: kind, externalID: externalID, userID: user)
    }
}
