package import Coding
import Crypto

/// What an app asks for before it asks Apple: a nonce of ours. Nothing of it is stored until it is used.
package struct NativeChallenge: Hashable, Sendable {
    /// What the app hands back with Apple's answer, and of which it tells Apple what `apple.nativeNonce` says.
    package var nonce: String
    /// The moment from which it is refused.
    package var expiresAt: Timestamp
}

/// `apple.nativeNonce`: what of the nonce an app puts into its request to Apple, and so what Apple's token echoes. One
/// of the two, never either: a server that takes both lets a request for one flow pass in the other.
package enum NativeNonce: String, Sendable, CaseIterable {
    /// Its SHA-256 in lower-case hexadecimal.
    case sha256
    /// The nonce as it is.
    case raw

    /// The claim `nonce` of a token that answers this challenge.
    func claim(for nonce: String) -> String {
        switch self {
        case .sha256: Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
        case .raw: nonce
        }
    }
}

/// A challenge as it is sealed into its nonce: when it was made, and 128 random bits, so that no two are alike.
struct SealedChallenge: Hashable, Sendable {
    var issuedAt: Timestamp
    var random: [UInt8]

    static let randomByteCount = 16
    /// The longest nonce worth opening, in characters; ours have 83.
    static let maximumNonceLength = 128

    private static let version: UInt8 = 1

    /// Seals under the key of the hour of issue: the nonce.
    func seal(with keyring: SealingKeyring) -> String {
        keyring.sealText(
            [Self.version] + [UInt8](bigEndian: issuedAt.milliseconds) + random, issuedAt: issuedAt,
            purpose: SealingPurpose.nativeChallenge)
    }

    /// Opens a nonce; nil when it is not ours, altered, or sealed by a key we no longer have. Says nothing of age.
    static func open(_ nonce: String, with keyring: SealingKeyring) -> SealedChallenge? {
        let plaintext = keyring.openText(
            nonce, maximumLength: maximumNonceLength, purpose: SealingPurpose.nativeChallenge)
        guard let plaintext, plaintext.count == 9 + randomByteCount, plaintext[0] == version else { return nil }
        return SealedChallenge(
            issuedAt: Timestamp(milliseconds: Int64(bigEndianBytes: plaintext[1..<9])), random: Array(plaintext[9...]))
    }
}
