package import Coding
import Crypto

/// A nonce that an app gets from us before it asks Apple. Nothing is stored until it is used.
package struct NativeChallenge: Hashable, Sendable {
    /// The app returns it with Apple's answer, and passes it to Apple in the form that `apple.nativeNonce` names.
    package var nonce: String
    /// When it expires.
    package var expiresAt: Timestamp
}

/// `apple.nativeNonce`: the form in which an app passes the nonce to Apple, and which Apple's token therefore repeats.
/// Exactly one of the two: a server that accepts both lets a request for one flow pass in the other.
package enum NativeNonce: String, Sendable, CaseIterable {
    /// Its SHA-256 in lower-case hexadecimal.
    case sha256
    /// The nonce itself.
    case raw

    /// The `nonce` claim of a token that answers this challenge.
    func claim(for nonce: String) -> String {
        switch self {
        case .sha256: Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
        case .raw: nonce
        }
    }
}

/// A challenge as sealed into its nonce: its time, and 128 random bits, so that no two are equal.
struct SealedChallenge: Hashable, Sendable {
    var issuedAt: Timestamp
    var random: [UInt8]

    static let randomByteCount = 16
    /// The longest nonce that is opened, in characters; ours have 83.
    static let maximumNonceLength = 128

    private static let version: UInt8 = 1

    /// Seals it, under the key of the hour of issue, into the nonce.
    func seal(with keyring: SealingKeyring) -> String {
        keyring.sealText(
            [Self.version] + [UInt8](bigEndian: issuedAt.milliseconds) + random, issuedAt: issuedAt,
            purpose: SealingPurpose.nativeChallenge)
    }

    /// Opens a nonce; nil when it is not ours, altered, or sealed by a key we no longer have. Does not check its age.
    static func open(_ nonce: String, with keyring: SealingKeyring) -> SealedChallenge? {
        let plaintext = keyring.openText(
            nonce, maximumLength: maximumNonceLength, purpose: SealingPurpose.nativeChallenge)
        guard let plaintext, plaintext.count == 9 + randomByteCount, plaintext[0] == version else { return nil }
        return SealedChallenge(
            issuedAt: Timestamp(milliseconds: Int64(bigEndianBytes: plaintext[1..<9])), random: Array(plaintext[9...]))
    }
}
