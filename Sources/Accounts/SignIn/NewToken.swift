package import Coding
package import Crypto

/// The token that a new session gets.
package enum NewToken: Sendable {
    /// The hash of one that was made before.
    case made(Digest256)
    /// One that depends on which session it is, which the transaction decides.
    case ofBrowser(BrowserTokens)

    package func hash(of session: SessionID, since createdAt: Timestamp) -> Digest256 {
        switch self {
        case .made(let hash): hash
        case .ofBrowser(let tokens): tokens.all(of: session, since: createdAt)[0].hash
        }
    }
}

/// The tokens of one browser's sessions, derived from its binding: several of its windows, and the same post on another
/// machine or after a restart, get the same one.
package struct BrowserTokens: Redacted {
    private let binding: RequestContent
    private let keyring: SealingKeyring

    package init(of binding: BrowserBinding, with keyring: SealingKeyring) {
        self.binding = RequestContent([binding.cookieValue])
        self.keyring = keyring
    }

    /// The tokens that a session may have, under each key; new ones get the first.
    /// - Parameter createdAt: another for each sign-in, so that the token changes.
    package func all(of session: SessionID, since createdAt: Timestamp) -> [SessionToken] {
        binding.tokens(
            for: SHA256.hash(utf8: "\(session)|\(createdAt.milliseconds)"), purpose: "browser-session", with: keyring)
    }
}
