import Coding
import Crypto

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
