package import Coding
package import Crypto

/// The members of a request that gets a token or code: each as it came, distinct from its neighbours and from absence.
/// At least one must be a secret of 128 bits or more that is neither stored nor logged: Apple's code and token, a
/// nonce, the browser's binding.
///
/// Tokens are derived from this, so that an identical request gets the same one, even after a restart and in another
/// process. The database has only the digest, from which no token can be computed, not even with the sealing key.
struct RequestContent: Redacted {
    private let bytes: [UInt8]
    /// Two requests are identical when this is equal.
    let digest: Digest256

    init(_ members: [String?]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(members.reduce(0) { $0 + 5 + ($1?.utf8.count ?? 0) })
        for member in members {
            let text = (member ?? "").utf8
            bytes.append(member == nil ? 0 : 1)
            bytes += [UInt8](bigEndian: UInt32(truncatingIfNeeded: text.count))
            bytes += text
        }
        self.bytes = bytes
        digest = SHA256.hash(bytes)
    }

    /// The token made for this request: HMAC-SHA-256 over its owner and the content. First under the current key, which
    /// makes new ones, then under each older key.
    /// - Parameters:
    ///   - owner: what the token belongs to: the challenge or the link.
    ///   - purpose: what the token is for.
    func tokens<Token: SecretToken>(for owner: Digest256, purpose: String, with keyring: SealingKeyring) -> [Token] {
        keyring.keyedHashes(of: owner.bytes + bytes, purpose: .other(purpose)).map {
            Token(unchecked: Token.prefix + Base64URL.encode($0))
        }
    }
}

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
