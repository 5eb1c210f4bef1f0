package import Coding
internal import Synchronization

/// Why a sealed text cannot be opened.
package enum SealingError: Error, Hashable, Sendable {
    /// Too short, or of an unknown version.
    case malformed
    /// Sealed by a key that is not, or no longer, in the ring.
    case unknownKey
    /// Altered, or sealed for another purpose or context.
    case notAuthentic
}

/// Seals small texts so that only this server can read them and nobody can change them: AES-256-GCM under a key derived
/// for the purpose.
///
/// Format: version (1 byte), key id (4), nonce (12), ciphertext, tag (16). Version, key id, purpose and the caller's
/// context are authenticated. One ring is shared by everything in a process that seals, so that a rotation reaches all.
package final class SealingKeyring: Sendable {
    package static let overhead = 1 + 4 + AES256GCM.nonceCount + AES256GCM.tagCount

    private static let version: UInt8 = 1
    private static let headerCount = 1 + 4

    /// The current one first; never empty.
    private let ring: Mutex<[SealingKey]>
    private var keys: [SealingKey] { ring.withLock { $0 } }
    private var current: SealingKey { ring.withLock { $0[0] } }

    /// - Parameters:
    ///   - current: seals and opens.
    ///   - previous: only open.
    package init(current: SealingKey, previous: [SealingKey] = []) {
        ring = Mutex([current] + previous)
    }

    /// Seals and opens with another ring's keys from now on. False if they are already in use.
    package func replace(with other: SealingKeyring) -> Bool {
        let new = other.keys
        return ring.withLock { keys in
            guard !keys.map(\.id).elementsEqual(new.map(\.id)) else { return false }
            keys = new
            return true
        }
    }

    package var currentKeyID: String { current.id }

    /// The IDs of all keys, the current one first.
    package var keyIDs: [String] { keys.map(\.id) }
    package var previousKeyIDs: [String] { keys.dropFirst().map(\.id) }

    /// The ID of the key that sealed a text, read from it; nil when it is not a sealed text of this version.
    package static func keyID(of sealed: [UInt8]) -> String? {
        guard sealed.count >= overhead, sealed[0] == version else { return nil }
        return Hexadecimal.encode(Array(sealed[1..<headerCount]))
    }

    /// - Parameter context: what the text belongs to (an owner, a column); needed to open it, and not stored in it.
    package func seal(_ plaintext: [UInt8], purpose: SealingPurpose, context: [UInt8] = []) -> [UInt8] {
        let current = current
        let header = [Self.version] + current.idBytes
        let nonce = SystemRandom().bytes(AES256GCM.nonceCount)
        let key = current.key(for: purpose, keeping: true)
        let authenticated = Self.authenticated(header, purpose, context)
        return header + nonce
            + AES256GCM.seal(plaintext, key: key, nonce: nonce, authenticating: authenticated)
    }

    /// Whether another key than the current one, or another version, sealed the text: seal it again.
    package func isOutdated(_ sealed: [UInt8]) -> Bool { !sealed.starts(with: [Self.version] + current.idBytes) }

    package func open(
        _ sealed: [UInt8], purpose: SealingPurpose, context: [UInt8] = []
    ) throws(SealingError) -> [UInt8] {
        guard sealed.count >= Self.overhead, sealed[0] == Self.version else { throw .malformed }
        let header = Array(sealed[..<Self.headerCount])
        let bodyStart = Self.headerCount + AES256GCM.nonceCount
        let nonce = Array(sealed[Self.headerCount..<bodyStart])
        let authenticated = Self.authenticated(header, purpose, context)
        var isKnown = false
        // Two keys with one ID are possible, if unlikely: it has 32 bits.
        for key in keys where key.idBytes.elementsEqual(header[1...]) {
            isKnown = true
            if let plaintext = AES256GCM.open(
                sealed[bodyStart...], key: key.key(for: purpose, keeping: false), nonce: nonce,
                authenticating: authenticated)
            {
                return plaintext
            }
        }
        throw isKnown ? .notAuthentic : .unknownKey
    }

    /// HMAC-SHA-256 of `message` under the current key: 32 bytes to store. Not for a purpose that also seals.
    package func keyedHash(of message: [UInt8], purpose: SealingPurpose) -> [UInt8] {
        HMACSHA256.authenticate(key: current.key(for: purpose, keeping: true), message: message)
    }

    /// The same under every key of the ring, the current one first: to find what was stored under an older key.
    package func keyedHashes(of message: [UInt8], purpose: SealingPurpose) -> [[UInt8]] {
        keys.map { HMACSHA256.authenticate(key: $0.key(for: purpose, keeping: true), message: message) }
    }

    /// Begins with the length of the purpose, so that no purpose and context can be read as another pair.
    private static func authenticated(_ header: [UInt8], _ purpose: SealingPurpose, _ context: [UInt8]) -> [UInt8] {
        let label = Array(purpose.label.utf8)
        return header + [UInt8](bigEndian: UInt32(truncatingIfNeeded: label.count)) + label + context
    }
}

// A text that only we can open, under a key that is used for one hour: base64url of the hour of issue, in 4 bytes, and
// the sealed bytes. The hour is part of the key's derivation and of the authenticated data, so a changed one does not
// open.
extension SealingKeyring {
    /// - Parameter purpose: for an hour since 1970.
    package func sealText(
        _ plaintext: [UInt8], issuedAt: Timestamp, purpose: (_ hour: Int64) -> SealingPurpose
    ) -> String {
        let hour = UInt32(truncatingIfNeeded: max(0, issuedAt.seconds) / 3600)
        return Base64URL.encode([UInt8](bigEndian: hour) + seal(plaintext, purpose: purpose(Int64(hour))))
    }

    /// Nil when the text is not ours, altered, sealed by a key we no longer have, or longer than `maximumLength`
    /// characters. Does not check its age.
    package func openText(_ text: String, maximumLength: Int, purpose: (_ hour: Int64) -> SealingPurpose) -> [UInt8]? {
        guard text.utf8.count <= maximumLength, let bytes = Base64URL.decode(text), bytes.count > 4 else { return nil }
        return try? open(Array(bytes.dropFirst(4)), purpose: purpose(Int64(bigEndianBytes: bytes.prefix(4))))
    }
}
