package import Coding
package import RelyingParty

// The queue between the journal and the webhook endpoints.
//
// Invariant: of the rows of one user and endpoint that are not dead, the first in the journal's order has
// next_attempt_at and the others have none.

enum WebhookQuery {
    /// Neither the entry `e` of the journal nor an earlier one waits for an endpoint that takes it: the journal loses its
    /// beginning and nothing else, so that a reader's place tells whether anything behind it is missing. An endpoint
    /// that stopped (410) holds nothing back: the operator was told, and until `webhooks retry` the journal keeps to its
    /// own retention. Both look-ups are made once for all entries, the second from the oldest row on.
    static let isNotAwaited = """
        e.sequence <= coalesce((SELECT min(w.cursor) FROM webhook_endpoint w WHERE w.stopped_at IS NULL), \(Int64.max)) \
        AND e.sequence < coalesce((SELECT d.sequence FROM webhook_delivery d INDEXED BY webhook_delivery_event \
        CROSS JOIN webhook_endpoint w ON w.id = d.endpoint WHERE d.dead_at IS NULL AND w.stopped_at IS NULL \
        ORDER BY d.sequence LIMIT 1), \(Int64.max))
        """

    /// Of the newest entry of the journal. Not max(sequence): the table may have been emptied by retention.
    static let lastSequence = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)"

    /// An earlier row of the line of `d` is not dead. The index is named: SQLite would go through all that waits for the
    /// endpoint instead.
    static let hasPredecessor = """
        EXISTS (SELECT 1 FROM webhook_delivery p INDEXED BY webhook_delivery_line WHERE p.endpoint = d.endpoint AND p.user = d.user \
        AND p.sequence < d.sequence AND p.dead_at IS NULL)
        """
}

extension Database {
    /// Brings the endpoints to what the configuration names, before the server begins: a new one starts at the end of
    /// the journal; of one that is no longer named everything is dropped. Blocks.
    package func setWebhookEndpoints(_ urls: [String], at now: Timestamp) throws(StoreError) {
        try writeNow { connection in
            for row in try connection.rows("SELECT id, url FROM webhook_endpoint") {
                let url = try row.text(1)
                if urls.contains(where: { $0.utf8.elementsEqual(url.utf8) }) { continue }
                try connection.run("DELETE FROM webhook_endpoint WHERE id = ?", [row[0] as Int64? ?? 0])
            }
            for url in urls {
                try connection.run(
                    """
                    INSERT INTO webhook_endpoint (url, added_at, cursor) VALUES (?, ?, \(WebhookQuery.lastSequence))
                    ON CONFLICT (url) DO NOTHING
                    """, [url, now.milliseconds])
            }
        }
    }
}

extension Database: WebhookStore {
    package func webhookWork(at now: Timestamp) async throws(StoreError) -> WebhookWork {
        try await read { connection in
            var work = WebhookWork(hasNewEvents: false, due: [])
            let rows = try connection.rows(
                """
                SELECT w.id, w.cursor < \(WebhookQuery.lastSequence),
                (w.paused_until IS NULL OR w.paused_until <= ?1) AND EXISTS (
                    SELECT 1 FROM webhook_delivery d WHERE d.endpoint = w.id AND d.next_attempt_at <= ?1)
                FROM webhook_endpoint w WHERE w.stopped_at IS NULL ORDER BY w.id
                """, [now.milliseconds])
            for row in rows {
                if row[1] as Bool? == true { work.hasNewEvents = true }
                if row[2] as Bool? == true { work.due.append(WebhookEndpointID(row[0] as Int64? ?? 0)) }
            }
            return work
        }
    }

    package func queueWebhooks(
        of kinds: [String: Set<JournalEntry.Kind>], limit: Int, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        let types = kinds.mapValues { StringList.encode($0.map(\.rawValue).sorted()) }
        return try await commits.write { connection, _ in
            let last = try connection.lastEventSequence()
            var isMore = false
            for row in try connection.rows(
                "SELECT id, cursor, url FROM webhook_endpoint WHERE stopped_at IS NULL AND cursor < ?", [last])
            {
                guard let types = types[try row.text(2)] else { continue }
                let (endpoint, cursor) = (row[0] as Int64? ?? 0, row[1] as Int64? ?? 0)
                let end = try connection.queue(endpoint, after: cursor, last: last, types: types, limit: limit, at: now)
                if end < last { isMore = true }
            }
            return isMore
        }
    }

    package func dueWebhooks(
        for endpoint: WebhookEndpointID, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> [WebhookDelivery] {
        try await read { connection in
            try connection.rows(
                """
                SELECT \(JournalEntry.columns), d.sequence, d.attempts, d.queued_at, w.url FROM webhook_delivery d
                JOIN event e ON e.sequence = d.sequence JOIN webhook_endpoint w ON w.id = d.endpoint
                WHERE d.endpoint = ?1 AND d.next_attempt_at <= ?2 AND w.stopped_at IS NULL
                AND (w.paused_until IS NULL OR w.paused_until <= ?2) ORDER BY d.next_attempt_at, d.sequence LIMIT ?3
                """, [endpoint.rawValue, now.milliseconds, limit]
            ).map { row in
                let next = JournalEntry.columnCount
                return WebhookDelivery(
                    endpoint: endpoint, url: try row.text(next + 3), sequence: row[next] as Int64? ?? 0,
                    entry: try JournalEntry(row: row), attempts: Int(row[next + 1] as Int64? ?? 0),
                    queuedAt: try row.moment(next + 2))
            }
        }
    }

    package func record(
        _ record: WebhookRecord, of delivery: WebhookDelivery, at now: Timestamp
    ) async throws(StoreError) -> WebhookTransition {
        try await commits.write { connection, _ in
            switch record {
            case .delivered: try connection.recordDelivered(delivery, at: now)
            case .failed(let reason, let next, let pause):
                try connection.recordFailed(delivery, reason, next: next, pausedUntil: pause, at: now)
            case .gone: try connection.recordGone(delivery, at: now)
            }
        }
    }
}

extension SQLiteConnection {
    /// Queues the next entries of the journal for one endpoint.
    /// - Returns: its new cursor.
    fileprivate func queue(
        _ endpoint: Int64, after cursor: Int64, last: Int64, types: String, limit: Int, at now: Timestamp
    ) throws -> Int64 {
        let end =
            try integer(
                "SELECT sequence FROM event WHERE sequence > ? ORDER BY sequence LIMIT 1 OFFSET ?", [cursor, limit - 1])
            ?? last
        try run(
            """
            INSERT INTO webhook_delivery (endpoint, sequence, user, queued_at)
            SELECT ?1, sequence, user, ?2 FROM event
            WHERE sequence > ?3 AND sequence <= ?4 AND type IN (SELECT value FROM json_each(?5))
            """, [endpoint, now.milliseconds, cursor, end, types])
        try run(
            """
            UPDATE webhook_delivery AS d SET next_attempt_at = ?
            WHERE d.endpoint = ? AND d.sequence > ? AND d.dead_at IS NULL AND NOT \(WebhookQuery.hasPredecessor)
            """, [now.milliseconds, endpoint, cursor])
        try run("UPDATE webhook_endpoint SET cursor = ? WHERE id = ?", [end, endpoint])
        return end
    }

    /// The next of a user's events for an endpoint becomes due.
    private func release(_ delivery: WebhookDelivery, at now: Timestamp) throws {
        try run(
            """
            UPDATE webhook_delivery SET next_attempt_at = ?3 WHERE endpoint = ?1 AND next_attempt_at IS NULL
            AND sequence = (SELECT min(sequence) FROM webhook_delivery INDEXED BY webhook_delivery_line
                WHERE endpoint = ?1 AND user = ?2 AND dead_at IS NULL)
            """, [delivery.endpoint.rawValue, delivery.entry.user.rawValue, now.milliseconds])
    }

    fileprivate func recordDelivered(_ delivery: WebhookDelivery, at now: Timestamp) throws -> WebhookTransition {
        let endpoint = delivery.endpoint.rawValue
        try run("DELETE FROM webhook_delivery WHERE endpoint = ? AND sequence = ?", [endpoint, delivery.sequence])
        try release(delivery, at: now)
        try run("UPDATE webhook_endpoint SET last_success_at = ? WHERE id = ?", [now.milliseconds, endpoint])
        guard
            let row = try firstRow(
                """
                SELECT failing_since FROM webhook_endpoint w WHERE w.id = ? AND failing_since IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM webhook_delivery d INDEXED BY webhook_delivery_failed
                    WHERE d.endpoint = w.id AND d.attempts > 0 AND d.dead_at IS NULL)
                """, [endpoint])
        else { return .none }
        try run("UPDATE webhook_endpoint SET failing_since = NULL WHERE id = ?", [endpoint])
        return .recovered(failingSince: try row.moment(0))
    }

    fileprivate func recordFailed(
        _ delivery: WebhookDelivery, _ reason: String, next: Timestamp?, pausedUntil: Timestamp?, at now: Timestamp
    ) throws -> WebhookTransition {
        let endpoint = delivery.endpoint.rawValue
        // A replay of an earlier event may have taken its place at the head of the line meanwhile.
        try run(
            """
            UPDATE webhook_delivery AS d SET attempts = attempts + 1, failure = ?3,
            next_attempt_at = CASE WHEN \(WebhookQuery.hasPredecessor) THEN NULL ELSE ?4 END,
            dead_at = CASE WHEN ?4 IS NULL THEN ?5 END
            WHERE d.endpoint = ?1 AND d.sequence = ?2 AND d.dead_at IS NULL
            """, [endpoint, delivery.sequence, reason, next?.milliseconds, now.milliseconds])
        // Delivered meanwhile by the next holder of the lease: this attempt's failure is nobody's.
        guard changesCount > 0 else { return .none }
        if next == nil { try release(delivery, at: now) }
        return try noteFailure(of: endpoint, reason, pausedUntil: pausedUntil, at: now)
    }

    fileprivate func recordGone(_ delivery: WebhookDelivery, at now: Timestamp) throws -> WebhookTransition {
        let endpoint = delivery.endpoint.rawValue
        try run(
            "UPDATE webhook_delivery SET attempts = attempts + 1, failure = ? WHERE endpoint = ? AND sequence = ?",
            ["status 410", endpoint, delivery.sequence])
        _ = try noteFailure(of: endpoint, "status 410", pausedUntil: nil, at: now)
        try run(
            "UPDATE webhook_endpoint SET stopped_at = ? WHERE id = ? AND stopped_at IS NULL",
            [now.milliseconds, endpoint])
        return changesCount > 0 ? .stopped : .none
    }

    private func noteFailure(
        of endpoint: Int64, _ reason: String, pausedUntil: Timestamp?, at now: Timestamp
    ) throws -> WebhookTransition {
        try run(
            """
            UPDATE webhook_endpoint SET last_failure_at = ?2, last_failure = ?3,
            paused_until = max(coalesce(paused_until, 0), coalesce(?4, paused_until, 0)) WHERE id = ?1
            """, [endpoint, now.milliseconds, reason, pausedUntil?.milliseconds])
        try run(
            "UPDATE webhook_endpoint SET failing_since = ? WHERE id = ? AND failing_since IS NULL",
            [now.milliseconds, endpoint])
        return changesCount > 0 ? .beganFailing : .none
    }
}
