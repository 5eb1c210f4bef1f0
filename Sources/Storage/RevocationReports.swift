package import Coding
package import RelyingParty

// The queue of revocations as the operator sees and hurries it.
extension Database {
    /// At most `limit` entries that Apple has not acknowledged, in the order they were queued, after the entry `id`. A
    /// deletion of which there was no token to revoke is none.
    package func revocations(
        after id: Int64?, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> [RevocationReport] {
        try await read { connection in
            try connection.rows(
                """
                SELECT id, client_id, queued_at, next_attempt_at, attempts, failure, sealed_refresh_token IS NOT NULL
                FROM revocation WHERE id > ? AND failure IS NOT ? ORDER BY id LIMIT ?
                """, [id ?? 0, RevocationMark.done, limit]
            ).map { try RevocationReport(row: $0, at: now) }
        }
    }

    /// Makes everything that waits due now; what was given up has no token left, and what Apple is being asked about is
    /// left alone.
    /// - Returns: how many entries are due.
    package func retryRevocations(at now: Timestamp) async throws(StoreError) -> Int {
        try await commits.write { connection, _ in
            try connection.run(
                """
                UPDATE revocation SET next_attempt_at = min(next_attempt_at, ?1) WHERE sealed_refresh_token IS NOT NULL
                AND next_attempt_at IS NOT NULL AND (failure IS NOT ?2 OR next_attempt_at <= ?1)
                """, [now.milliseconds, RevocationMark.inFlight])
            let count = connection.changesCount
            try connection.audit(.command, object: "credentials revocations --retry", at: now)
            return count
        }
    }
}

extension RevocationReport {
    fileprivate init(row: Row, at now: Timestamp) throws(StoreError) {
        let mark = row[5] as String?
        let isMarked = mark == RevocationMark.inFlight
        let next = (row[3] as Int64?).map { Timestamp(milliseconds: $0) }
        let attempts = Int(row[4] as Int64? ?? 0)
        let holdsToken = row[6] as Bool? ?? false
        var state: State = attempts > 0 ? .retrying : .waiting
        if isMarked, let next, now < next { state = .asking }
        if !holdsToken { state = .failed }
        self.init(
            id: row[0] as Int64? ?? 0, clientID: ClientID(try row.text(1)), state: state,
            queuedAt: try row.moment(2), nextAttemptAt: next, attempts: attempts, failure: isMarked ? nil : mark)
    }
}
