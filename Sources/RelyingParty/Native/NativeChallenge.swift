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

    /// Seals under the key of the hour of issue. The nonce is that hour and the sealed bytes; the hour is part of the
    /// key's derivation and of the authenticated data, so a changed one does not open.
    func seal(with keyring: SealingKeyring) -> String {
        let hour = UInt32(truncatingIfNeeded: max(0, issuedAt.seconds) / 3600)
        let plaintext = [Self.version] + Self.bigEndian(UInt64(bitPattern: issuedAt.milliseconds)) + random
        return Base64URL.encode(
            Self.bigEndian(hour) + keyring.seal(plaintext, purpose: .nativeChallenge(hour: Int64(hour))))
    }

    /// Opens a nonce; nil when it is not ours, altered, or sealed by a key we no longer have. Says nothing of age.
    static func open(_ nonce: String, with keyring: SealingKeyring) -> SealedChallenge? {
        guard nonce.utf8.count <= maximumNonceLength, let bytes = Base64URL.decode(nonce), bytes.count > 4 else {
            return nil
        }
        let hour = bytes.prefix(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard
            let plaintext = try? keyring.open(Array(bytes.dropFirst(4)), purpose: .nativeChallenge(hour: hour)),
            plaintext.count == 9 + randomByteCount, plaintext[0] == version
        else { return nil }
        let milliseconds = plaintext[1..<9].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return SealedChallenge(
            issuedAt: Timestamp(milliseconds: Int64(bitPattern: milliseconds)), random: Array(plaintext[9...]))
    }

    private static func bigEndian<Integer: FixedWidthInteger & UnsignedInteger>(_ value: Integer) -> [UInt8] {
        (0..<Integer.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
