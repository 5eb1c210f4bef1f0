package import Coding
package import Crypto

/// Who assertions are for, and how they are signed for them.
package struct AssertionAudience: Hashable, Sendable {
    /// `aud`, and the name they are asked for by.
    package var name: String
    package var algorithm: SigningAlgorithm

    package init(name: String, algorithm: SigningAlgorithm = .es256) {
        self.name = name
        self.algorithm = algorithm
    }
}

/// A key that signs assertions, as the store keeps it. Its whole life follows from `signsFrom` and that of its
/// successor of the same algorithm: see `SigningKeySchedule`.
package struct SigningKeyRecord: Hashable, Sendable {
    /// What everybody may know; big-endian bytes.
    package enum PublicHalf: Hashable, Sendable {
        /// Both coordinates, 32 bytes each.
        case p256(x: [UInt8], y: [UInt8])
        case rsa(modulus: [UInt8], exponent: [UInt8])
    }

    /// The RFC 7638 thumbprint of the public half: the `kid`.
    package var keyID: String
    package var publicHalf: PublicHalf
    /// The private half, sealed to `keyID`; nil once another key signs.
    package var sealedPrivateKey: [UInt8]?
    /// From here on it is published.
    package var createdAt: Timestamp
    /// From here on it signs, until another key's moment has come.
    package var signsFrom: Timestamp

    package var algorithm: SigningAlgorithm {
        switch publicHalf {
        case .p256: .es256
        case .rsa: .rs256
        }
    }

    package init(
        keyID: String, publicHalf: PublicHalf, sealedPrivateKey: [UInt8]?, createdAt: Timestamp, signsFrom: Timestamp
    ) {
        self.keyID = keyID
        self.publicHalf = publicHalf
        self.sealedPrivateKey = sealedPrivateKey
        self.createdAt = createdAt
        self.signsFrom = signsFrom
    }

    /// As backends read it (RFC 7517 §4).
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch publicHalf {
        case .p256(let x, let y):
            writer.member("kty", "EC")
            writer.member("crv", "P-256")
            writer.member("x", Base64URL.encode(x))
            writer.member("y", Base64URL.encode(y))
        case .rsa(let modulus, let exponent):
            writer.member("kty", "RSA")
            writer.member("n", Base64URL.encode(modulus))
            writer.member("e", Base64URL.encode(exponent))
        }
        writer.member("use", "sig")
        writer.member("alg", algorithm.rawValue)
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

    /// A fresh key; when it signs is the caller's to say. RSA takes a tenth of a second.
    func make(_ algorithm: SigningAlgorithm, at now: Timestamp) throws(KeyError) -> SigningKeyRecord {
        let key: JWTSigningKey
        let publicHalf: SigningKeyRecord.PublicHalf
        let der: SecretBytes
        switch algorithm {
        case .es256:
            let made = try P256PrivateKey.generate()
            guard let (x, y) = made.publicKey.coordinates else { throw .internalFailure }
            (key, publicHalf, der) = (.es256(made), .p256(x: x, y: y), try made.derRepresentation())
        case .rs256:
            let made = try RSAPrivateKey.generate()
            guard let (modulus, exponent) = made.publicNumbers else { throw .internalFailure }
            (key, publicHalf, der) = (
                .rs256(made), .rsa(modulus: modulus, exponent: exponent), try made.derRepresentation()
            )
        }
        guard let keyID = key.publicJWK?.thumbprint else { throw .internalFailure }
        return SigningKeyRecord(
            keyID: keyID, publicHalf: publicHalf, sealedPrivateKey: seal(der.reveal(), keyID), createdAt: now,
            signsFrom: now)
    }

    /// The private half; nil when it is gone, does not open, or is not that of `keyID`.
    func open(_ record: SigningKeyRecord) -> JWTSigningKey? {
        guard let sealed = record.sealedPrivateKey, var plain = opened(sealed, record.keyID) else { return nil }
        let der = SecretBytes(consuming: &plain)
        let key: JWTSigningKey? =
            switch record.algorithm {
            case .es256: (try? P256PrivateKey(der: der)).map { .es256($0) }
            case .rs256: (try? RSAPrivateKey(der: der)).map { .rs256($0) }
            }
        guard let key, key.publicJWK?.thumbprint?.isExactly(record.keyID) == true else { return nil }
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
