package import Coding

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
    package func openText(
        _ text: String, maximumLength: Int, purpose: (_ hour: Int64) -> SealingPurpose
    ) -> [UInt8]? {
        guard text.utf8.count <= maximumLength, let bytes = Base64URL.decode(text), bytes.count > 4 else { return nil }
        return try? open(Array(bytes.dropFirst(4)), purpose: purpose(Int64(bigEndianBytes: bytes.prefix(4))))
    }
}
