import Coding
import Crypto

/// What a request brought that is given a token or a code for it: each member as it came, told apart from its neighbours
/// and from none. At least one must be a secret of 128 bits or more that is neither stored nor logged: Apple's code and
/// token, a nonce, the browser's binding.
///
/// Tokens are derived from this, so that an identical request is given the very same one, after a restart and in another
/// process too. The database has the digest alone, from which none can be computed, with the sealing key neither.
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

    /// The token made for this request: a keyed hash (HMAC-SHA-256) of what it belongs to and the content. Under the
    /// current key first, which new ones are made with, then under each older one.
    /// - Parameters:
    ///   - owner: what the token belongs to: the challenge, the link.
    ///   - purpose: what the token is for.
    func tokens<Token: SecretToken>(for owner: Digest256, purpose: String, with keyring: SealingKeyring) -> [Token] {
        keyring.keyedHashes(of: owner.bytes + bytes, purpose: .other(purpose)).map {
            Token(unchecked: Token.prefix + Base64URL.encode($0))
        }
    }
}
