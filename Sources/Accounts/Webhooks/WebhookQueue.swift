package import Coding
import Storage

// The queue between the journal and the webhook endpoints.
//
// Invariant: of the rows of one user and endpoint that are not dead, the first in the journal's order has
// next_attempt_at and the others have none.

enum WebhookQuery {
    /// No endpoint that accepts it waits for the journal entry `e` or an earlier one: only the beginning of the journal
    /// is deleted, so that a reader's position tells whether anything after it is missing. A stopped endpoint (410)
    /// holds nothing back: the operator was notified, and until `webhooks retry` the journal's own retention applies. Both
    /// look-ups are made once for all entries, the second from the oldest row on.
    static let isNotAwaited = """
        e.sequence <= coalesce((SELECT min(w.cursor) FROM webhook_endpoint w WHERE w.stopped_at IS NULL), \(Int64.max)) \
        AND e.sequence < coalesce((SELECT d.sequence FROM webhook_delivery d INDEXED BY webhook_delivery_event \
        CROSS JOIN webhook_endpoint w ON w.id = d.endpoint WHERE d.dead_at IS NULL AND w.stopped_at IS NULL \
        ORDER BY d.sequence LIMIT 1), \(Int64.max))
        """

    /// Of the newest journal entry. Not max(sequence): retention may have emptied the table.
    static let lastSequence = "coalesce((SELECT max(sequence) FROM event), 0)"

    /// An earlier row of `d`'s line is not dead. The named index keeps SQLite from reading all waiting rows.
    static let hasPredecessor = """
        EXISTS (SELECT 1 FROM webhook_delivery p INDEXED BY webhook_delivery_line WHERE p.endpoint = d.endpoint AND p.user = d.user \
        AND p.sequence < d.sequence AND p.dead_at IS NULL)
        """
}

extension Database {
    /// Applies the configuration, blocking: new endpoints begin at the journal's end; former ones are dropped.
    package func setWebhookEndpoints(_ urls: [String], at now: Timestamp) throws(Failure) {
        try writeNow(at: now) { transaction in
            for row in try transaction.rows("SELECT url FROM webhook_endpoint") {
                let url: String = try row["url"]
                if WebhookEndpoint.client(of: url) != nil || urls.contains(where: { $0.isExactly(url) }) { continue }
                try transaction.run("DELETE FROM webhook_endpoint WHERE url = ?", [url])
            }
            for url in urls {
                try transaction.run(
                    """
                    INSERT INTO webhook_endpoint (url, added_at, cursor) VALUES (?, ?, \(WebhookQuery.lastSequence))
                    ON CONFLICT (url) DO NOTHING
                    """, [url, now])
            }
        }
    }

    /// Whether some endpoint has not queued all events, and the accepting endpoints with something due.
    package func webhookWork(
        at now: Timestamp
    ) async throws(Failure) -> (hasNewEvents: Bool, due: [WebhookEndpointID]) {
        try await read(at: now) { snapshot in
            var work = (hasNewEvents: false, due: [WebhookEndpointID]())
            let rows = try snapshot.rows(
                """
                SELECT w.id, w.cursor < \(WebhookQuery.lastSequence) AS has_new,
                (w.paused_until IS NULL OR w.paused_until <= ?1) AND EXISTS (
                    SELECT 1 FROM webhook_delivery d WHERE d.endpoint = w.id AND d.next_attempt_at <= ?1) AS is_due
                FROM webhook_endpoint w WHERE w.stopped_at IS NULL ORDER BY w.id
                """, [now])
            for row in rows {
                if try row["has_new"] { work.hasNewEvents = true }
                if try row["is_due"] { work.due.append(try row["id"]) }
            }
            return work
        }
    }

    /// Queues the next events, of these kinds for each address, and advances the endpoint's cursor. Returns whether
    /// more are left.
    package func queueWebhooks(
        of kinds: [String: Set<JournalEntry.Kind>], limit: Int, at now: Timestamp
    ) async throws(Failure) -> Bool {
        let types = kinds.mapValues { TextList($0.map(\.rawValue).sorted()) }
        return try await write(at: now) { transaction in
            let last = try transaction.lastEventSequence()
            var isMore = false
            for row in try transaction.rows(
                "SELECT id, cursor, url FROM webhook_endpoint WHERE stopped_at IS NULL AND cursor < ?", [last])
            {
                guard let types = types[try row["url"]] else { continue }
                let end = try transaction.queue(
                    try row["id"], after: try row["cursor"], last: last, types: types, limit: limit)
                if end < last { isMore = true }
            }
            return isMore
        }
    }

    /// The due deliveries of one endpoint, in the order in which they became due.
    package func dueWebhooks(
        for endpoint: WebhookEndpointID, limit: Int, at now: Timestamp
    ) async throws(Failure) -> [WebhookDelivery] {
        try await read(at: now) { snapshot in
            try snapshot.rows(
                """
                SELECT \(JournalEntry.columns), d.user AS line, d.attempts, d.queued_at, w.url, c.back_channel_logout_uri,
                c.back_channel_public_only
                FROM webhook_delivery d
                JOIN event e ON e.sequence = d.sequence JOIN webhook_endpoint w ON w.id = d.endpoint
                LEFT JOIN openid_client c ON w.url = '\(WebhookEndpoint.clientPrefix)' || c.id
                WHERE d.endpoint = ?1 AND d.next_attempt_at <= ?2 AND w.stopped_at IS NULL
                AND (w.paused_until IS NULL OR w.paused_until <= ?2) ORDER BY d.next_attempt_at, d.sequence LIMIT ?3
                """, [endpoint, now, limit]
            ).map { row in
                WebhookDelivery(
                    endpoint: endpoint, url: try row["url"], logout: try LogoutAddress(row),
                    sequence: try row["e.sequence"], entry: try JournalEntry(row), line: try row["line"],
                    attempts: try row["attempts"], queuedAt: try row["queued_at"])
            }
        }
    }

    package func record(
        _ record: WebhookRecord, of delivery: WebhookDelivery, at now: Timestamp
    ) async throws(Failure) -> WebhookTransition {
        try await write(at: now) { transaction in
            switch record {
            // An endpoint that refuses one token is not failing.
            case .delivered, .refused: try transaction.recordDelivered(delivery)
            case .failed(let reason, let next, let pause):
                try transaction.recordFailed(delivery, reason, next: next, pausedUntil: pause)
            case .gone: try transaction.recordGone(delivery)
            }
        }
    }
}

extension Transaction {
    /// Queues the next journal entries for one endpoint, and returns its new cursor.
    fileprivate func queue(_ endpoint: WebhookEndpointID, after cursor: Int64, last: Int64, types: TextList, limit: Int)
        throws -> Int64
    {
        let end =
            try value(
                "SELECT sequence FROM event WHERE sequence > ? ORDER BY sequence LIMIT 1 OFFSET ?", [cursor, limit - 1])
            ?? last
        try run(
            """
            INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at)
            SELECT ?1, sequence, user, ?2 FROM event
            WHERE sequence > ?3 AND sequence <= ?4 AND type IN (SELECT value FROM json_each(?5))
            """, [endpoint, now, cursor, end, types])
        try run(
            """
            UPDATE webhook_delivery AS d SET next_attempt_at = ?
            WHERE d.endpoint = ? AND d.sequence > ? AND d.dead_at IS NULL AND NOT \(WebhookQuery.hasPredecessor)
            """, [now, endpoint, cursor])
        try run("UPDATE webhook_endpoint SET cursor = ? WHERE id = ?", [end, endpoint])
        return end
    }

    /// Makes the user's next event for an endpoint due.
    private func release(_ delivery: WebhookDelivery) throws {
        try run(
            """
            UPDATE webhook_delivery SET next_attempt_at = ?3 WHERE endpoint = ?1 AND next_attempt_at IS NULL
            AND sequence = (SELECT min(sequence) FROM webhook_delivery INDEXED BY webhook_delivery_line
                WHERE endpoint = ?1 AND user = ?2 AND dead_at IS NULL)
            """, [delivery.endpoint, delivery.line, now])
    }

    fileprivate func recordDelivered(_ delivery: WebhookDelivery) throws -> WebhookTransition {
        let endpoint = delivery.endpoint
        try run("DELETE FROM webhook_delivery WHERE endpoint = ? AND sequence = ?", [endpoint, delivery.sequence])
        try release(delivery)
        try run("UPDATE webhook_endpoint SET last_success_at = ? WHERE id = ?", [now, endpoint])
        guard
            let row = try firstRow(
                """
                SELECT failing_since FROM webhook_endpoint w WHERE w.id = ? AND failing_since IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM webhook_delivery d INDEXED BY webhook_delivery_failed
                    WHERE d.endpoint = w.id AND d.attempts > 0 AND d.dead_at IS NULL)
                """, [endpoint])
        else { return .none }
        try run("UPDATE webhook_endpoint SET failing_since = NULL WHERE id = ?", [endpoint])
        return .recovered(failingSince: try row["failing_since"])
    }

    fileprivate func recordFailed(
        _ delivery: WebhookDelivery, _ reason: String, next: Timestamp?, pausedUntil: Timestamp?
    ) throws -> WebhookTransition {
        let endpoint = delivery.endpoint
        // A replay of an earlier event may have become first in the line in the meantime.
        let changes = try change(
            """
            UPDATE webhook_delivery AS d SET attempts = attempts + 1, failure = ?3,
            next_attempt_at = CASE WHEN \(WebhookQuery.hasPredecessor) THEN NULL ELSE CAST(?4 AS BIGINT) END,
            dead_at = CASE WHEN CAST(?4 AS BIGINT) IS NULL THEN CAST(?5 AS BIGINT) END
            WHERE d.endpoint = ?1 AND d.sequence = ?2 AND d.dead_at IS NULL
            """, [endpoint, delivery.sequence, reason, next, now])
        // Delivered by the next holder of the lease: this attempt's failure does not count.
        guard changes > 0 else { return .none }
        if next == nil { try release(delivery) }
        return try recordFailure(of: endpoint, reason, pausedUntil: pausedUntil)
    }

    fileprivate func recordGone(_ delivery: WebhookDelivery) throws -> WebhookTransition {
        let endpoint = delivery.endpoint
        try run(
            "UPDATE webhook_delivery SET attempts = attempts + 1, failure = ? WHERE endpoint = ? AND sequence = ?",
            ["status 410", endpoint, delivery.sequence])
        _ = try recordFailure(of: endpoint, "status 410", pausedUntil: nil)
        let changes = try change(
            "UPDATE webhook_endpoint SET stopped_at = ? WHERE id = ? AND stopped_at IS NULL", [now, endpoint])
        return changes > 0 ? .stopped : .none
    }

    private func recordFailure(of endpoint: WebhookEndpointID, _ reason: String, pausedUntil: Timestamp?) throws
        -> WebhookTransition
    {
        try run(
            """
            UPDATE webhook_endpoint SET last_failure_at = ?2, last_failure = ?3,
            paused_until = max(coalesce(paused_until, 0), coalesce(?4, paused_until, 0)) WHERE id = ?1
            """, [endpoint, now, reason, pausedUntil])
        let changes = try change(
            "UPDATE webhook_endpoint SET failing_since = ? WHERE id = ? AND failing_since IS NULL", [now, endpoint])
        return changes > 0 ? .beganFailing : .none
    }
}
