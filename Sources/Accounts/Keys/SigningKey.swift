package import Coding
package import Crypto
import Storage

/// An audience of assertions, and the algorithm that signs them.
package struct AssertionAudience: Hashable, Sendable {
    /// `aud`, and the name by which clients request it.
    package var name: String
    package var algorithm: SigningAlgorithm

    package init(name: String, algorithm: SigningAlgorithm = .es256) {
        self.name = name
        self.algorithm = algorithm
    }
}

/// A stored key that signs assertions and ID tokens. Its whole life follows from its `signsFrom` and that of its successor
/// of the same algorithm: see `SigningKeySchedule`.
package struct SigningKeyRecord: Hashable, Sendable {
    /// The public key; big-endian bytes.
    package enum PublicHalf: Hashable, Sendable {
        /// Both coordinates, 32 bytes each.
        case p256(x: [UInt8], y: [UInt8])
        case rsa(modulus: [UInt8], exponent: [UInt8])
    }

    /// The RFC 7638 thumbprint of the public key: the `kid`.
    package var keyID: String
    package var publicHalf: PublicHalf
    /// The private key, sealed to `keyID`; nil once another key signs.
    package var sealedPrivateKey: [UInt8]?
    /// When it is first published.
    package var createdAt: Timestamp
    /// When it begins to sign; its successor's `signsFrom` ends that.
    package var signsFrom: Timestamp

    package var algorithm: SigningAlgorithm {
        switch publicHalf {
        case .p256: .es256
        case .rsa: .rs256
        }
    }

    /// The key as a JWK (RFC 7517 §4).
    var jwk: JSONObject {
        var jwk =
            switch publicHalf {
            case .p256(let x, let y): JWK(x: x, y: y).object
            case .rsa(let modulus, let exponent): JWK(modulus: modulus, exponent: exponent).object
            }
        jwk["use"] = "sig"
        jwk["alg"] = .string(algorithm.rawValue)
        jwk["kid"] = .string(keyID)
        return jwk
    }
}

// Creates keys, seals their private keys and opens them again.
extension SealingKeyring {
    /// Makes a key; the caller decides when it signs. RSA takes a tenth of a second.
    func makeSigningKey(_ algorithm: SigningAlgorithm, at now: Timestamp) throws(KeyError) -> SigningKeyRecord {
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

    /// The private key; nil when it is gone, cannot be opened, or does not belong to `keyID`.
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

    /// The record with its private key sealed under the current sealing key.
    func resealed(_ record: SigningKeyRecord) -> SigningKeyRecord {
        guard let sealed = record.sealedPrivateKey, isOutdated(sealed),
            let plain = opened(sealed, record.keyID)
        else { return record }
        var record = record
        record.sealedPrivateKey = seal(plain, record.keyID)
        return record
    }

    private func seal(_ plain: [UInt8], _ keyID: String) -> [UInt8] {
        seal(plain, purpose: .signingKey, context: Array(keyID.utf8))
    }

    private func opened(_ sealed: [UInt8], _ keyID: String) -> [UInt8]? {
        try? open(sealed, purpose: .signingKey, context: Array(keyID.utf8))
    }
}

extension Database {
    /// Whether an OpenID Connect client or a service is registered, so that RS256 keys are needed.
    package func needsOpenIDKeys() async throws(Failure) -> Bool {
        try await lookUp { snapshot in
            try snapshot.exists("SELECT 1 FROM openid_client UNION ALL SELECT 1 FROM openid_service LIMIT 1")
        }
    }

    /// All keys, ordered by `signsFrom`.
    package func signingKeys() async throws(Failure) -> [SigningKeyRecord] {
        try await lookUp { snapshot in try snapshot.signingKeys() }
    }

    /// One isolated transaction: writes the list that `change` makes of the keys, and returns the keys as they are now.
    /// `change` may run twice, so it must have no effects.
    package func changeSigningKeys(
        _ change: @escaping @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord]
    ) async throws(Failure) -> [SigningKeyRecord] {
        // No other process writes between the read and the write.
        try await write { transaction in
            let found = try transaction.signingKeys()
            let wanted = change(found)
            for key in found where !wanted.contains(where: { $0.keyID == key.keyID }) {
                for table in ["signing_key", "rsa_signing_key"] {
                    try transaction.run("DELETE FROM \(table) WHERE id = ?", [key.keyID])
                }
                try transaction.audit(.signingKeyRemoved, object: key.keyID)
            }
            for key in wanted where !found.contains(key) {
                try transaction.save(key)
                guard !found.contains(where: { $0.keyID == key.keyID }) else { continue }
                try transaction.audit(.signingKeyMade, object: key.keyID)
            }
            return try transaction.signingKeys()
        }
    }
}

extension Snapshot {
    fileprivate func signingKeys() throws -> [SigningKeyRecord] {
        try rows(
            """
            SELECT id, x AS first, y AS second, sealed_private_key, created_at, signs_from, 0 AS is_rsa FROM signing_key
            UNION ALL
            SELECT id, modulus, exponent, sealed_private_key, created_at, signs_from, 1 FROM rsa_signing_key
            ORDER BY signs_from, id
            """
        ).map { try SigningKeyRecord($0) }
    }
}

extension Transaction {
    fileprivate func save(_ key: SigningKeyRecord) throws {
        let (table, first, second) =
            switch key.publicHalf {
            case .p256(let x, let y): ("signing_key (id, x, y,", x, y)
            case .rsa(let modulus, let exponent): ("rsa_signing_key (id, modulus, exponent,", modulus, exponent)
            }
        try run(
            """
            INSERT INTO \(table) sealed_private_key, created_at, signs_from) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET sealed_private_key = excluded.sealed_private_key,
            created_at = excluded.created_at, signs_from = excluded.signs_from
            """, [key.keyID, first, second, key.sealedPrivateKey, key.createdAt, key.signsFrom])
    }
}

extension SigningKeyRecord {
    fileprivate init(_ row: Row) throws(StoreError) {
        let (first, second, isRSA): ([UInt8], [UInt8], Bool) = (try row["first"], try row["second"], try row["is_rsa"])
        self.init(
            keyID: try row["id"],
            publicHalf: isRSA ? .rsa(modulus: first, exponent: second) : .p256(x: first, y: second),
            sealedPrivateKey: try row["sealed_private_key"], createdAt: try row["created_at"],
            signsFrom: try row["signs_from"])
    }
}
