package import Coding
import Storage
import Synchronization

extension Database {
    /// Deletes what has expired, in small transactions. Of the journal, only the beginning is deleted, up to the first
    /// entry that a webhook endpoint has not received, and never an entry after one that is kept (the clock may have
    /// been set back between them), since readers rely on having no gaps.
    /// - Parameter progress: called after each transaction with the number of rows deleted; an error it throws ends the
    ///   work.
    package func maintain(
        at now: Timestamp, progress: (Int) throws(Failure) -> Void = { _ in }
    ) async throws(Failure) -> MaintenanceReport {
        let retention = options.retention
        func before(_ age: Int64) -> Timestamp { now.adding(seconds: -age) }
        var report = MaintenanceReport()
        report.sessions = try await inPieces(at: now, progress: progress) { transaction, limit in
            try transaction.examineSessions(atMost: limit)
        }
        report.usedAttempts = try await delete(
            """
            DELETE FROM used_attempt WHERE attempt IN
            (WITH oldest AS (SELECT attempt, expires_at FROM used_attempt ORDER BY attempt LIMIT ?2)
            SELECT attempt FROM oldest WHERE expires_at <= ?1)
            """, until: now, progress)
        report.exchanges = try await delete(from: "code_exchange", "attempt", "expires_at", until: now, progress)
        report.grants = try await delete(from: "openid_grant", "id", "expires_at", until: now, progress)
        // Clients known by documents that nobody allows any more.
        _ = try await delete(
            """
            DELETE FROM openid_client WHERE id IN (SELECT id FROM openid_client WHERE document IS NOT NULL
            AND updated_at <= ? AND id NOT IN (SELECT client FROM openid_consent)
            AND id NOT IN (SELECT client FROM openid_grant) LIMIT ?)
            """, until: now, progress)
        _ = try await delete(from: "openid_device", "id", "expires_at", until: now, progress)
        _ = try await delete(from: "openid_device_try", "subject", "ends_at", until: now, progress)
        report.firstConsents = try await delete(
            """
            DELETE FROM first_consent WHERE (team, subject) IN
            (SELECT team, subject FROM first_consent WHERE saved_at <= ? LIMIT ?)
            """, until: before(RetentionPolicy.firstConsent), progress)
        report.notifications = try await delete(
            from: "notification", "jti", "received_at",
            until: before(max(retention.notifications, RetentionPolicy.notificationIdentifiers)), progress)
        report.payloads = try await erasePayloads(until: before(retention.notifications), progress)
        report.events = try await delete(
            """
            DELETE FROM event WHERE sequence IN
            (WITH oldest AS (SELECT sequence, time FROM event ORDER BY sequence LIMIT ?2)
            SELECT e.sequence FROM oldest e WHERE \(WebhookQuery.isNotAwaited)
            AND e.sequence < (SELECT coalesce(min(sequence), \(Int64.max)) FROM oldest WHERE time > ?1))
            AND sequence < (SELECT max(sequence) FROM event)
            """, until: before(retention.events), progress)
        report.revocations = try await delete(
            """
            DELETE FROM revocation WHERE id IN
            (SELECT id FROM revocation WHERE queued_at <= ? AND sealed_refresh_token IS NULL LIMIT ?)
            """, until: before(RetentionPolicy.revocations), progress)
        report.consentEnds = try await delete(
            from: "consent_end", "subject_hash", "noted_at", until: before(RetentionPolicy.consentEnds), progress)
        report.waitingIdentities = try await delete(from: "waiting_identity", "id", "expires_at", until: now, progress)
        // A link's end erases what names a person; the row remains to answer a late retry.
        _ = try await delete(
            """
            UPDATE account_link SET \(Link.erasure), ended_at = expires_at WHERE id IN
            (SELECT id FROM account_link WHERE expires_at <= ? AND ended_at IS NULL ORDER BY expires_at LIMIT ?)
            """, until: now, progress)
        report.links = try await delete(
            """
            DELETE FROM account_link WHERE id IN (SELECT id FROM account_link WHERE ended_at <= ? LIMIT ?)
            """, until: before(RetentionPolicy.links), progress)
        // Only the beginning of the log, as of the journal.
        report.audit = try await delete(
            """
            DELETE FROM audit WHERE sequence IN
            (WITH oldest AS (SELECT sequence, time FROM audit ORDER BY sequence LIMIT ?2)
            SELECT sequence FROM oldest
            WHERE sequence < (SELECT coalesce(min(sequence), \(Int64.max)) FROM oldest WHERE time > ?1))
            """, until: before(retention.audit), progress)
        try await Failure.ofStore(await store.engine.eraseRemains(isCertain: false))
        return report
    }

    /// Erases the payloads of notifications that are themselves kept longer. Each round reads only those that expired
    /// since the last.
    private func erasePayloads(until cutoff: Timestamp, _ progress: (Int) throws(Failure) -> Void) async throws(Failure)
        -> Int
    {
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

    /// Deletes rows whose time, an indexed column, has passed; the oldest first.
    private func delete(
        from table: String, _ key: String, _ time: String, until moment: Timestamp,
        _ progress: (Int) throws(Failure) -> Void
    ) async throws(Failure) -> Int {
        try await delete(
            """
            DELETE FROM \(table) WHERE \(key) IN
            (SELECT \(key) FROM \(table) WHERE \(time) <= ? ORDER BY \(time) LIMIT ?)
            """, until: moment, progress)
    }

    private func delete(
        _ sql: String, until moment: Timestamp, _ progress: (Int) throws(Failure) -> Void
    ) async throws(Failure) -> Int {
        try await inPieces(progress: progress) { transaction, limit in try transaction.change(sql, [moment, limit]) }
    }

    /// Changes many rows in small transactions, so that other writes do not wait long, and returns how many.
    /// - Parameters:
    ///   - progress: called after each with the number of rows changed; an error it throws ends the work.
    ///   - body: examines at most `limit` rows; returns how many, and how many of them it changed.
    func inPieces(
        at now: Timestamp? = nil, progress: (Int) throws(Failure) -> Void = { _ in },
        _ body: @escaping @Sendable (Transaction, _ limit: Int) throws -> (seen: Int, changed: Int)
    ) async throws(Failure) -> Int {
        var (total, pace) = (0, Pace.rows)
        while true {
            let (start, limit) = (ContinuousClock.now, pace.limit)
            let piece = try await write(at: now) { transaction in try body(transaction, limit) }
            total += piece.changed
            try progress(piece.changed)
            if piece.seen < limit { return total }
            pace.adapt(to: ContinuousClock.now - start)
            // Another process polls for its turn to write; PostgreSQL has a queue.
            if !store.isShared { try? await Task.sleep(for: Pace.pause) }
        }
    }

    /// The same, where all examined rows are changed.
    func inPieces(
        at now: Timestamp? = nil, progress: (Int) throws(Failure) -> Void = { _ in },
        _ body: @escaping @Sendable (Transaction, _ limit: Int) throws -> Int
    ) async throws(Failure) -> Int {
        try await inPieces(at: now, progress: progress) { transaction, limit in
            let count = try body(transaction, limit)
            return (seen: count, changed: count)
        }
    }
}

/// How long data that is no longer needed is kept, in seconds.
package struct RetentionPolicy: Hashable, Sendable {
    /// A name given at first consent that no sign-in completed.
    package static let firstConsent: Int64 = 30 * 86_400
    /// The shortest time a notification's `jti` is kept, whatever is configured.
    package static let notificationIdentifiers: Int64 = 30 * 86_400
    /// After its end, a used attempt still distinguishes a replay from a forgery.
    package static let usedAttempts: Int64 = 86_400

    /// An ended link can be told from an unknown one, and a completed one can be repeated.
    package static let links: Int64 = 86_400

    /// The keyed hash of a deletion, and a revocation that Apple never acknowledged.
    package static let revocations: Int64 = 90 * 86_400

    /// The end of a consent without a user: longer than a sign-in that began before it can take. An attempt lives at most
    /// 600 s, its identity may wait as long for the person's answer and as long again in a link; the rest covers the
    /// exchange, the pause of the daily job and a clock that is set back.
    package static let consentEnds: Int64 = 3_600

    /// `retention.events`: entries of the journal.
    package var events: Int64 = 7_776_000
    /// `retention.notifications`: payloads of notifications; receipts at least as long as `notificationIdentifiers`.
    package var notifications: Int64 = 2_592_000
    /// `retention.audit`: lines of the audit log.
    package var audit: Int64 = 34_560_000

    package init() {}
}

package struct MaintenanceReport: Hashable, Sendable {
    package var sessions = 0
    package var usedAttempts = 0
    package var grants = 0
    package var exchanges = 0
    package var firstConsents = 0
    package var notifications = 0
    /// Payloads of notifications that are kept without them.
    package var payloads = 0
    package var events = 0
    package var revocations = 0
    package var consentEnds = 0
    package var links = 0
    package var waitingIdentities = 0
    package var audit = 0
}

/// `apple.onAccountDeleted`: what happens to a user whose Apple Account was deleted.
package enum AccountDeletionPolicy: String, Sendable, CaseIterable {
    /// The user and all their data are deleted; the journal keeps only ids.
    case erase
    /// The user stays, disabled and signed out.
    case disable
}
