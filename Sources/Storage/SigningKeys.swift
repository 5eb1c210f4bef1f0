import Coding
package import RelyingParty

extension Database: SigningKeyStore {
    package func signingKeys() async throws(StoreError) -> [SigningKeyRecord] {
        try await read { connection in try connection.signingKeys() }
    }

    package func changeSigningKeys(
        _ change: @escaping @Sendable ([SigningKeyRecord]) -> [SigningKeyRecord]
    ) async throws(StoreError) -> [SigningKeyRecord] {
        // BEGIN IMMEDIATE: from the read to the write no other process writes.
        let now = clock.now()
        return try await commits.write { connection, _ in
            let found = try connection.signingKeys()
            let wanted = change(found)
            for key in found where !wanted.contains(where: { $0.keyID == key.keyID }) {
                for table in ["signing_key", "rsa_signing_key"] {
                    try connection.run("DELETE FROM \(table) WHERE id = ?", [key.keyID])
                }
                try connection.audit(.signingKeyRemoved, object: key.keyID, at: now)
            }
            for key in wanted where !found.contains(key) {
                try connection.save(key)
                guard !found.contains(where: { $0.keyID == key.keyID }) else { continue }
                try connection.audit(.signingKeyMade, object: key.keyID, at: now)
            }
            return try connection.signingKeys()
        }
    }
}

extension SQLiteConnection {
    fileprivate func signingKeys() throws -> [SigningKeyRecord] {
        try rows(
            """
            SELECT id, x, y, sealed_private_key, created_at, signs_from, 0 AS is_rsa FROM signing_key
            UNION ALL
            SELECT id, modulus, exponent, sealed_private_key, created_at, signs_from, 1 FROM rsa_signing_key
            ORDER BY signs_from, id
            """
        ).map { try SigningKeyRecord(row: $0) }
    }

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
            [
                key.keyID, first, second, key.sealedPrivateKey, key.createdAt.milliseconds,
                key.signsFrom.milliseconds,
            ])
    }
}

extension SigningKeyRecord {
    fileprivate init(row: Row) throws(StoreError) {
        let (first, second) = (try row.bytes(1), try row.bytes(2))
        self.init(
            keyID: try row.text(0),
            publicHalf: row[6] as Bool? == true
                ? .rsa(modulus: first, exponent: second) : .p256(x: first, y: second),
            sealedPrivateKey: row.hasNull(atIndex: 3) ? nil : try row.bytes(3), createdAt: try row.moment(4),
            signsFrom: try row.moment(5))
    }
}
