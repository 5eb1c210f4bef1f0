package import Coding
package import Storage

extension Database: LeaseStore {
    package func holdLease(
        _ job: LeasedJob, holder: String, seconds: Int64, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        // Machines compare one clock: each measures how far its own is from the database's.
        let now = now.adding(milliseconds: store.clockDifference)
        return try await write(at: now) { transaction in
            // A lease that ends twice as late as one begun now is from before the clock was set back, and belongs to
            // nobody.
            try transaction.change(
                """
                INSERT INTO lease (job, holder, expires_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (job) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
                WHERE lease.holder = excluded.holder OR lease.expires_at <= ?4
                OR lease.expires_at > 2 * CAST(?3 AS BIGINT) - ?4
                """, [job, holder, now.adding(seconds: seconds), now]) > 0
        }
    }

    package func releaseLease(_ job: LeasedJob, holder: String) async throws(StoreError) {
        try await write { transaction in
            try transaction.run("DELETE FROM lease WHERE job = ? AND holder = ?", [job, holder])
        }
    }
}
