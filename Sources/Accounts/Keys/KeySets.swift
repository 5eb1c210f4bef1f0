package import Coding
import Storage

/// Apple's last good key set, as received.
package struct StoredKeySet: Hashable, Sendable {
    package var document: [UInt8]
    package var fetchedAt: Timestamp

    package init(document: [UInt8], fetchedAt: Timestamp) {
        self.document = document
        self.fetchedAt = fetchedAt
    }
}

extension Database {
    /// The last saved key set; nil if there is none.
    package func loadKeySet() async throws(Failure) -> StoredKeySet? {
        try await read { snapshot in
            try snapshot.firstRow("SELECT document, fetched_at FROM apple_keys WHERE id = 1")
                .map { StoredKeySet(document: try $0["document"], fetchedAt: try $0["fetched_at"]) }
        }
    }

    package func saveKeySet(_ keys: StoredKeySet) async throws(Failure) {
        try await write { transaction in
            try transaction.run(
                """
                INSERT INTO apple_keys (id, document, fetched_at) VALUES (1, ?, ?)
                ON CONFLICT (id) DO UPDATE SET document = excluded.document, fetched_at = excluded.fetched_at
                """, [keys.document, keys.fetchedAt])
        }
    }
}
