package import Coding
package import RelyingParty

extension Database: WebhookDirectory {
    package func webhookEndpoints() async throws(StoreError) -> [WebhookEndpoint] {
        try await read { connection in
            try connection.rows(
                """
                SELECT url, added_at, last_success_at, last_failure_at, last_failure, failing_since, stopped_at,
                paused_until,
                (SELECT count(*) FROM webhook_delivery d WHERE d.endpoint = w.id AND d.dead_at IS NULL)
                    + (SELECT count(*) FROM event e WHERE e.sequence > w.cursor),
                (SELECT count(*) FROM webhook_delivery d WHERE d.endpoint = w.id AND d.dead_at IS NOT NULL),
                (SELECT time FROM event WHERE sequence = coalesce(
                    (SELECT min(sequence) FROM webhook_delivery d WHERE d.endpoint = w.id AND d.dead_at IS NULL),
                    (SELECT min(sequence) FROM event WHERE sequence > w.cursor)))
                FROM webhook_endpoint w ORDER BY id
                """
            ).map { row in
                func moment(_ index: Int) -> Timestamp? {
                    (row[index] as Int64?).flatMap { $0 > 0 ? Timestamp(milliseconds: $0) : nil }
                }
                return WebhookEndpoint(
                    url: try row.text(0), addedAt: try row.moment(1), backlog: Int(row[8] as Int64? ?? 0),
                    oldest: moment(10), deadLetters: Int(row[9] as Int64? ?? 0), lastSuccessAt: moment(2),
                    lastFailureAt: moment(3), lastFailure: row[4] as String?, failingSince: moment(5),
                    stoppedAt: moment(6), pausedUntil: moment(7))
            }
        }
    }

    package func deadWebhooks(
        after place: DeadWebhookPlace?, limit: Int
    ) async throws(StoreError) -> [DeadWebhook] {
        try await read { connection in
            try connection.rows(
                """
                SELECT \(JournalEntry.columns), w.url, d.attempts, d.failure, d.dead_at, d.sequence, d.endpoint
                FROM webhook_delivery d
                JOIN event e ON e.sequence = d.sequence JOIN webhook_endpoint w ON w.id = d.endpoint
                WHERE d.dead_at IS NOT NULL
                AND (?1 IS NULL OR (d.dead_at, d.sequence, d.endpoint) < (?1, ?2, ?3))
                ORDER BY d.dead_at DESC, d.sequence DESC, d.endpoint DESC LIMIT ?4
                """, [place?.diedAt.milliseconds, place?.sequence, place?.endpoint.rawValue, limit]
            ).map { row in
                let next = JournalEntry.columnCount
                let place = DeadWebhookPlace(
                    diedAt: try row.moment(next + 3), sequence: row[next + 4] as Int64? ?? 0,
                    endpoint: WebhookEndpointID(row[next + 5] as Int64? ?? 0))
                return DeadWebhook(
                    place: place, url: try row.text(next), entry: try JournalEntry(row: row),
                    attempts: Int(row[next + 1] as Int64? ?? 0), failure: row[next + 2] as String? ?? "")
            }
        }
    }

    package func retryWebhooks(_ retry: WebhookRetry, at now: Timestamp) async throws(StoreError) -> Int {
        try await commits.write { connection, _ in
            let (condition, argument, object): (String, String?, String) =
                switch retry {
                case .event(let id):
                    ("sequence = (SELECT sequence FROM event WHERE id = ?2)", id.rawValue, id.rawValue)
                case .allDead: ("dead_at IS NOT NULL AND ?2 IS NULL", nil, "dead letters")
                case .endpoint(let url):
                    (
                        "endpoint = (SELECT id FROM webhook_endpoint WHERE url = ?2)", url,
                        WebhookRequest.origin(of: url)
                    )
                }
            try connection.run(
                """
                UPDATE webhook_delivery SET dead_at = NULL, attempts = 0, queued_at = ?1, next_attempt_at = NULL
                WHERE \(condition)
                """, [now.milliseconds, argument])
            let count = connection.changesCount
            if case .endpoint(let url) = retry {
                try connection.run(
                    """
                    UPDATE webhook_endpoint SET stopped_at = NULL, paused_until = NULL WHERE url = ?
                    """, [url])
            }
            if count > 0 { try connection.straightenLines(at: now) }
            try connection.audit(.webhookRetried, object: object, at: now)
            return count
        }
    }
}

extension SQLiteConnection {
    /// After replays: the first of each line is due, what stood there instead waits behind it.
    fileprivate func straightenLines(at now: Timestamp) throws {
        try run(
            """
            UPDATE webhook_delivery AS d SET next_attempt_at = NULL
            WHERE d.next_attempt_at IS NOT NULL AND \(WebhookQuery.hasPredecessor)
            """)
        try run(
            """
            UPDATE webhook_delivery AS d SET next_attempt_at = ?
            WHERE d.next_attempt_at IS NULL AND d.dead_at IS NULL AND NOT \(WebhookQuery.hasPredecessor)
            """, [now.milliseconds])
    }
}
