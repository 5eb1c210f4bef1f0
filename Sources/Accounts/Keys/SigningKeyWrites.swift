import Coding
package import Storage

extension Database {
    /// Whether anything signs people in by OpenID Connect, so that RS256 keys are needed.
    package func needsOpenIDKeys() async throws(StoreError) -> Bool {
        try await lookUp { snapshot in try snapshot.isOpenIDInUse() }
    }

    /// All keys, ordered by `signsFrom`.
    package func signingKeys() async throws(StoreError) -> [SigningKeyRecord] {
        try await lookUp { snapshot in try snapshot.signingKeys() }
    }

    /// One isolated transaction: reads the keys, asks `change` for the new list, and writes that. `change` may run
    /// twice, so it must have no effects.
    /// - Returns: the keys as they are now.
    package func changeSigningKeys(
        _ change: @escaping @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord]
    ) async throws(StoreError) -> [SigningKeyRecord] {
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
            """,
            [key.keyID, first, second, key.sealedPrivateKey, key.createdAt, key.signsFrom])
    }
}

extension SigningKeyRecord {
    fileprivate init(_ row: Row) throws(StoreError) {
        let (first, second, isRSA): ([UInt8], [UInt8], Bool) = (
            try row["first"], try row["second"], try row["is_rsa"]
        )
        self.init(
            keyID: try row["id"],
            publicHalf: isRSA ? .rsa(modulus: first, exponent: second) : .p256(x: first, y: second),
            sealedPrivateKey: try row["sealed_private_key"], createdAt: try row["created_at"],
            signsFrom: try row["signs_from"])
    }
}
