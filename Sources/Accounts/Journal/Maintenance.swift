package import Coding
package import Storage
import Synchronization

extension Database {
    /// Deletes what has expired: sessions past their end, used attempts, unused names, notifications and their
    /// payloads, deletions, and journal entries past their retention that no webhook endpoint waits for. In small
    /// batches, each an ordinary write. Only the beginning of the journal is deleted: an entry after one that stays
    /// (the clock was set back between them) waits for it, since a reader takes a gap to mean that nothing happened.
    /// - Parameter progress: told after each transaction how many rows it has deleted.
    package func maintain(
        at now: Timestamp, progress: (Int) -> Void = { _ in }
    ) async throws(StoreError) -> MaintenanceReport {
        let cutoffs = options.retention.cutoffs(at: now)
        var report = MaintenanceReport()
        report.sessions = try await endExpiredSessions(at: now, progress)
        report.usedAttempts = try await delete(
            """
            DELETE FROM used_attempt WHERE attempt IN
            (WITH oldest AS (SELECT attempt, expires_at FROM used_attempt ORDER BY attempt LIMIT ?2)
            SELECT attempt FROM oldest WHERE expires_at <= ?1)
            """, until: now, progress)
        report.exchanges = try await delete(
            """
            DELETE FROM code_exchange WHERE attempt IN
            (SELECT attempt FROM code_exchange WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
            """, until: now, progress)
        report.grants = try await delete(
            """
            DELETE FROM openid_grant WHERE id IN
            (SELECT id FROM openid_grant WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
            """, until: now, progress)
        report.firstConsents = try await delete(
            """
            DELETE FROM first_consent WHERE (team, subject) IN
            (SELECT team, subject FROM first_consent WHERE saved_at <= ? LIMIT ?)
            """, until: cutoffs.firstConsent, progress)
        report.notifications = try await delete(
            """
            DELETE FROM notification WHERE jti IN
            (SELECT jti FROM notification WHERE received_at <= ? ORDER BY received_at LIMIT ?)
            """, until: cutoffs.notifications, progress)
        report.payloads = try await erasePayloads(until: cutoffs.payloads, progress)
        report.events = try await delete(
            """
            DELETE FROM event WHERE sequence IN
            (WITH oldest AS (SELECT sequence, time FROM event ORDER BY sequence LIMIT ?2)
            SELECT e.sequence FROM oldest e WHERE \(WebhookQuery.isNotAwaited)
            AND e.sequence < (SELECT coalesce(min(sequence), \(Int64.max)) FROM oldest WHERE time > ?1))
            AND sequence < (SELECT max(sequence) FROM event)
            """, until: cutoffs.events, progress)
        report.revocations = try await delete(
            """
            DELETE FROM revocation WHERE id IN
            (SELECT id FROM revocation WHERE queued_at <= ? AND sealed_refresh_token IS NULL LIMIT ?)
            """, until: cutoffs.revocations, progress)
        report.consentEnds = try await delete(
            """
            DELETE FROM consent_end WHERE subject_hash IN
            (SELECT subject_hash FROM consent_end WHERE noted_at <= ? ORDER BY noted_at LIMIT ?)
            """, until: cutoffs.consentEnds, progress)
        report.waitingIdentities = try await delete(
            """
            DELETE FROM waiting_identity WHERE id IN
            (SELECT id FROM waiting_identity WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
            """, until: now, progress)
        // What names a person is erased with the link's end; that the link existed tells a retry that it is late.
        _ = try await delete(
            """
            UPDATE account_link SET \(Link.erasure), ended_at = expires_at WHERE id IN
            (SELECT id FROM account_link WHERE expires_at <= ? AND ended_at IS NULL ORDER BY expires_at LIMIT ?)
            """, until: now, progress)
        report.links = try await delete(
            """
            DELETE FROM account_link WHERE id IN (SELECT id FROM account_link WHERE ended_at <= ? LIMIT ?)
            """, until: cutoffs.links, progress)
        // Only the beginning of the log is deleted: a line after one that stays (the clock was set back between them)
        // waits for it.
        report.audit = try await delete(
            """
            DELETE FROM audit WHERE sequence IN
            (WITH oldest AS (SELECT sequence, time FROM audit ORDER BY sequence LIMIT ?2)
            SELECT sequence FROM oldest
            WHERE sequence < (SELECT coalesce(min(sequence), \(Int64.max)) FROM oldest WHERE time > ?1))
            """, until: cutoffs.audit, progress)
        try await store.engine.eraseRemains(isCertain: false)
        return report
    }

    private func endExpiredSessions(
        at now: Timestamp, _ progress: (Int) -> Void
    ) async throws(StoreError) -> Int {
        try await inPieces(at: now, progress: progress) { transaction, limit in
            try transaction.examineSessions(atMost: limit)
        }
    }

    /// Erases payloads of notifications that are remembered longer. After the first round, each reads only those that
    /// expired since the last.
    private func erasePayloads(
        until cutoff: Timestamp, _ progress: (Int) -> Void
    ) async throws(StoreError) -> Int {
        let start = payloadsErasedUntil.load(ordering: .relaxed)
        guard cutoff.milliseconds > start else { return 0 }
        let total = try await inPieces(progress: progress) { transaction, limit in
            try transaction.change(
                """
                UPDATE notification SET payload = NULL WHERE jti IN
                (SELECT jti FROM notification WHERE received_at > ? AND received_at <= ? AND payload IS NOT NULL
                ORDER BY received_at LIMIT ?)
                """, [start, cutoff, limit])
        }
        payloadsErasedUntil.store(cutoff.milliseconds, ordering: .relaxed)
        return total
    }

    private func delete(
        _ sql: String, until moment: Timestamp, _ progress: (Int) -> Void
    ) async throws(StoreError) -> Int {
        try await inPieces(progress: progress) { transaction, limit in try transaction.change(sql, [moment, limit]) }
    }

    /// Changes many rows in small transactions, so that nobody waits long for one of them.
    /// - Parameters:
    ///   - progress: told after each how many it has changed.
    ///   - body: looks at no more rows than the limit, and returns at how many, and how many of them it changed.
    /// - Returns: how many were changed.
    func inPieces(
        at now: Timestamp? = nil, progress: (Int) -> Void = { _ in },
        _ body: @escaping @Sendable (Transaction, _ limit: Int) throws -> (seen: Int, changed: Int)
    ) async throws(StoreError) -> Int {
        var (total, pace) = (0, Pace.rows)
        while true {
            let (start, limit) = (ContinuousClock.now, pace.limit)
            let piece = try await write(at: now) { transaction in try body(transaction, limit) }
            total += piece.changed
            progress(piece.changed)
            if piece.seen < limit { return total }
            pace.adapt(to: ContinuousClock.now - start)
            // Another process looks only now and then whether it may write; PostgreSQL has a queue.
            if !store.isShared { try? await Task.sleep(for: Pace.pause) }
        }
    }

    /// The same where all that is looked at is changed.
    func inPieces(
        at now: Timestamp? = nil, progress: (Int) -> Void = { _ in },
        _ body: @escaping @Sendable (Transaction, _ limit: Int) throws -> Int
    ) async throws(StoreError) -> Int {
        try await inPieces(at: now, progress: progress) { transaction, limit in
            let count = try body(transaction, limit)
            return (seen: count, changed: count)
        }
    }
}
