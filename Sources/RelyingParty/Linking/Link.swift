package import Coding
package import Crypto

/// Who signed the person in to the application: the application by itself, or its verifier, asked by Bramley.
package enum LinkStyle: String, Sendable, CaseIterable {
    case ticket, password
}

/// Whether Apple is added to an account, or replaces its password: then the application's `convert` is called.
package enum LinkKind: String, Sendable, CaseIterable {
    case link, upgrade
}

/// How far a link is. Expiry ends it in each of the first three.
package enum LinkState: String, Sendable, CaseIterable {
    /// Password style: the second factor is outstanding.
    case challenged
    /// Waits for Apple's answer. The nonce is unused.
    case open
    /// A verified identity waits, sealed, for the link's completion.
    case authorized
    /// Upgrades: the user has the external ID, and the application has not said yet that it dropped the password. Never
    /// expires: it is asked until it answers.
    case converting
    case done
    /// Refused, or removed.
    case failed
}

/// One try to tie an Apple identity to an application's own account, as it is stored.
package struct Link: Hashable, Sendable {
    package var key: LinkKey
    package var style: LinkStyle
    package var kind: LinkKind
    package var state: LinkState
    /// Of the ticket, or of the upgrade token.
    package var tokenHash: Digest256
    /// Of the token in the address; nil for an upgrade.
    package var addressHash: Digest256?
    /// The application's account. Nil while the second factor is outstanding, and once the link has ended.
    package var externalID: String?
    /// What the application calls the account, for the page.
    package var displayName: String?
    /// Where the browser goes with the code; `ReturnTarget.location`, validated again when used.
    package var returnTo: String?
    /// An external ID that another user has may be taken from them.
    package var mayReplace: Bool
    /// For an app; browsers use their attempt's.
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
    /// The browser that opened it first, by its binding.
    package var browser: Digest256?
    /// Of that identity: whose sign-in it was.
    package var team: TeamID?
    package var subject: AppleSubject?
    /// The identity that waits with the browser that asked to be connected.
    package var waiting: WaitingID?
    /// Who began it by ticket, and alone may complete it. Nil for upgrades, and for what a release began that did not note it.
    package var apiKey: APIKeyID?
    /// From the commit on.
    package var user: UserID?
    /// Made at `done`, in the password style.
    package var session: SessionID?
    /// Calls of `convert` by the job without an answer.
    package var attempts: Int
    package var nextAttemptAt: Timestamp?
    /// Why the last call of `convert` had no answer; of a failed link, why.
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

    /// Whether its time is over, by a clock that may have been set back by a minute.
    package func isOver(at now: Timestamp) -> Bool { now >= expiresAt || now.adding(seconds: 60) < createdAt }

    /// What the application is asked to convert; nil unless the link is committed.
    package var conversion: Conversion? {
        guard let externalID, let user else { return nil }
        return Conversion(attemptID: key, kind: kind, externalID: externalID, userID: user)
    }
}
