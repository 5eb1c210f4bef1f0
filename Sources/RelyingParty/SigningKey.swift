package import Coding
import Crypto

/// A key that signs assertions, as the store keeps it. Its whole life follows from `signsFrom` and that of its
/// successor: see `SigningKeySchedule`.
package struct SigningKeyRecord: Hashable, Sendable {
    /// The RFC 7638 thumbprint of the public half: the `kid`.
    package var keyID: String
    /// Both coordinates, 32 bytes each.
    package var x: [UInt8]
    package var y: [UInt8]
    /// The private half, sealed to `keyID`; nil once another key signs.
    package var sealedPrivateKey: [UInt8]?
    /// From here on it is published.
    package var createdAt: Timestamp
    /// From here on it signs, until another key's moment has come.
    package var signsFrom: Timestamp

    package init(
        keyID: String, x: [UInt8], y: [UInt8], sealedPrivateKey: [UInt8]?, createdAt: Timestamp, signsFrom: Timestamp
    ) {
        self.keyID = keyID
        self.x = x
        self.y = y
        self.sealedPrivateKey = sealedPrivateKey
        self.createdAt = createdAt
        self.signsFrom = signsFrom
    }

    /// As backends read it (RFC 7517 §4).
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kty", "EC")
        writer.member("crv", "P-256")
        writer.member("x", Base64URL.encode(x))
        writer.member("y", Base64URL.encode(y))
        writer.member("use", "sig")
        writer.member("alg", "ES256")
        writer.member("kid", keyID)
        writer.endObject()
    }
}

/// Where the keys that sign assertions are kept, for every process of one database.
package protocol SigningKeyStore: Sendable {
    /// All of them, by `signsFrom`.
    func signingKeys() async throws(StoreError) -> [SigningKeyRecord]

    /// One transaction that no other process's comes between: reads the keys, asks `change` what they shall be, and
    /// writes that. `change` may run twice, so it does nothing but answer.
    /// - Returns: the keys as they are now.
    func changeSigningKeys(
        _ change: @escaping @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord]
    ) async throws(StoreError) -> [SigningKeyRecord]
}

/// Makes keys, seals their private halves and opens them again.
struct SigningKeySealer: Sendable {
    let keyring: SealingKeyring

    /// A fresh key; when it signs is the caller's to say.
    func make(at now: Timestamp) throws(KeyError) -> SigningKeyRecord {
        let key = try P256PrivateKey.generate()
        guard let (x, y) = key.publicKey.coordinates, let keyID = key.publicKey.jwk?.thumbprint else {
            throw .internalFailure
        }
        return SigningKeyRecord(
            keyID: keyID, x: x, y: y, sealedPrivateKey: seal(try key.derRepresentation().reveal(), keyID),
            createdAt: now, signsFrom: now)
    }

    /// The private half; nil when it is gone, does not open, or is not that of `keyID`.
    func open(_ record: SigningKeyRecord) -> P256PrivateKey? {
        guard let sealed = record.sealedPrivateKey, var plain = opened(sealed, record.keyID),
            let key = try? P256PrivateKey(der: SecretBytes(consuming: &plain)),
            key.publicKey.jwk?.thumbprint?.isExactly(record.keyID) == true
        else { return nil }
        return key
    }

    /// The same with the private half under the current sealing key.
    func resealed(_ record: SigningKeyRecord) -> SigningKeyRecord {
        guard let sealed = record.sealedPrivateKey, keyring.isOutdated(sealed),
            let plain = opened(sealed, record.keyID)
        else { return record }
        var record = record
        record.sealedPrivateKey = seal(plain, record.keyID)
        return record
    }

    private func seal(_ plain: [UInt8], _ keyID: String) -> [UInt8] {
        keyring.seal(plain, purpose: .signingKey, context: Array(keyID.utf8))
    }

    private func opened(_ sealed: [UInt8], _ keyID: String) -> [UInt8]? {
        try? keyring.open(sealed, purpose: .signingKey, context: Array(keyID.utf8))
    }
}
