package import Coding
import Storage

extension Database {
    /// In the order in which they were added.
    package func webhookEndpoints() async throws(Failure) -> [WebhookEndpoint] {
        try await read { snapshot in try snapshot.webhookEndpoints() }
    }

    /// Newest first, after `place`.
    package func deadWebhooks(
        after place: DeadWebhookPlace?, limit: Int
    ) async throws(Failure) -> Page<DeadWebhook, DeadWebhookPlace> {
        try await read { snapshot in
            try snapshot.page(
                """
                SELECT \(JournalEntry.columns), w.url, d.attempts, d.failure, d.dead_at, d.endpoint
                FROM webhook_delivery d
                JOIN event e ON e.sequence = d.sequence JOIN webhook_endpoint w ON w.id = d.endpoint
                WHERE d.dead_at IS NOT NULL
                AND (CAST(?1 AS BIGINT) IS NULL OR (d.dead_at, d.sequence, d.endpoint) < (?1, ?2, ?3))
                ORDER BY d.dead_at DESC, d.sequence DESC, d.endpoint DESC LIMIT ?4
                """, [place?.diedAt, place?.sequence, place?.endpoint], limit: limit, place: \.place
            ) { row in
                DeadWebhook(
                    place: DeadWebhookPlace(
                        diedAt: try row["dead_at"], sequence: try row["e.sequence"], endpoint: try row["endpoint"]),
                    url: try row["url"], entry: try JournalEntry(row), attempts: try row["attempts"],
                    failure: try row["failure"] ?? "")
            }
        }
    }

    /// - Returns: how many entries begin again.
    package func retryWebhooks(_ retry: WebhookRetry, at now: Timestamp) async throws(Failure) -> Int {
        try await write(at: now) { transaction in
            let (condition, argument, object): (String, (any ColumnBindable)?, String) =
                switch retry {
                case .event(let id):
                    ("sequence = ?2", try transaction.sequence(of: id), id.rawValue)
                case .allDead: ("dead_at IS NOT NULL AND CAST(?2 AS BIGINT) IS NULL", nil, "dead letters")
                case .endpoint(let url):
                    ("endpoint = (SELECT id FROM webhook_endpoint WHERE url = ?2)", url, WebhookRequest.origin(of: url))
                }
            let count = try transaction.change(
                """
                UPDATE webhook_delivery SET dead_at = NULL, attempts = 0, queued_at = ?1, next_attempt_at = NULL
                WHERE \(condition)
                """, [now, argument])
            if case .endpoint(let url) = retry {
                try transaction.run(
                    "UPDATE webhook_endpoint SET stopped_at = NULL, paused_until = NULL WHERE url = ?", [url])
            }
            if count > 0 { try transaction.straightenLines() }
            try transaction.audit(.webhookRetried, object: object)
            return count
        }
    }
}

extension Snapshot {
    func webhookEndpoints() throws -> [WebhookEndpoint] {
        try rows(
            """
            SELECT url, added_at, last_success_at, last_failure_at, last_failure, failing_since, stopped_at,
            nullif(paused_until, 0) AS paused_until,
            (SELECT count(*) FROM webhook_delivery d WHERE d.endpoint = w.id AND d.dead_at IS NULL)
                + (SELECT count(*) FROM event e WHERE e.sequence > w.cursor) AS backlog,
            (SELECT count(*) FROM webhook_delivery d WHERE d.endpoint = w.id AND d.dead_at IS NOT NULL) AS dead,
            (SELECT time FROM event WHERE sequence = coalesce(
                (SELECT min(sequence) FROM webhook_delivery d WHERE d.endpoint = w.id AND d.dead_at IS NULL),
                (SELECT min(sequence) FROM event WHERE sequence > w.cursor))) AS oldest
            FROM webhook_endpoint w ORDER BY id
            """
        ).map { row in
            WebhookEndpoint(
                url: try row["url"], addedAt: try row["added_at"], backlog: try row["backlog"],
                oldest: try row["oldest"], deadLetters: try row["dead"],
                lastSuccessAt: try row["last_success_at"], lastFailureAt: try row["last_failure_at"],
                lastFailure: try row["last_failure"], failingSince: try row["failing_since"],
                stoppedAt: try row["stopped_at"], pausedUntil: try row["paused_until"])
        }
    }
}

extension Transaction {
    /// After replays: makes the first of each line due instead of a later one.
    fileprivate func straightenLines() throws {
        try run(
            """
            UPDATE webhook_delivery AS d SET next_attempt_at = NULL
            WHERE d.next_attempt_at IS NOT NULL AND \(WebhookQuery.hasPredecessor)
            """)
        try run(
            """
            UPDATE webhook_delivery AS d SET next_attempt_at = ?
            WHERE d.next_attempt_at IS NULL AND d.dead_at IS NULL AND NOT \(WebhookQuery.hasPredecessor)
            """, [now])
    }
}

extension WebhookEndpoint {
    package enum State: String, Sendable, CaseIterable {
        case ok, failing, paused, stopped
    }

    package func state(at now: Timestamp) -> State {
        if stoppedAt != nil { return .stopped }
        if let pausedUntil, now < pausedUntil { return .paused }
        return failingSince == nil ? .ok : .failing
    }

    /// - Parameter kinds: the events of each configured address.
    package static func fields(
        _ kinds: [String: Set<JournalEntry.Kind>], at now: Timestamp, for reader: WebhookReader
    ) -> [Field<WebhookEndpoint>] {
        [
            Field("url") { .code(name(of: $0.url)) }, Field("state") { .text($0.state(at: now).rawValue) },
            Field("events") { endpoint in
                let sent = client(of: endpoint.url) == nil ? kinds[endpoint.url] : [.sessionEnded]
                return .texts(JournalEntry.Kind.allCases.filter { sent?.contains($0) == true }.map(\.rawValue))
            },
            Field("addedAt") { .time($0.addedAt) }, Field("waiting") { .number($0.backlog) },
            Field("oldest") { .time($0.oldest) }, Field("deadLetters") { .number($0.deadLetters) },
            Field("lastSuccessAt") { .time($0.lastSuccessAt) }, Field("lastFailureAt") { .time($0.lastFailureAt) },
            Field("lastFailure") { .text($0.lastFailure.map(reader.shown)) },
            Field("failingSince") { .time($0.failingSince) }, Field("pausedUntil") { .time($0.pausedUntil) },
            Field("stoppedAt") { .time($0.stoppedAt) },
        ]
    }
}

/// The reader of a report, which decides how much of a failure is shown.
package enum WebhookReader: Sendable {
    case `operator`, api

    fileprivate func shown(_ reason: String) -> String {
        switch self {
        case .operator: reason
        case .api: WebhookVerdict.outward(reason)
        }
    }
}

extension DeadWebhook {
    package static func fields(for reader: WebhookReader) -> [Field<DeadWebhook>] {
        [
            Field("url") { .code(WebhookEndpoint.name(of: $0.url)) }, Field("id") { .code($0.entry.id.rawValue) },
            Field("type") { .code($0.entry.kind.rawValue) }, Field("time") { .time($0.entry.time) },
            Field("user") { .code($0.entry.user.rawValue) }, Field("attempts") { .number($0.attempts) },
            Field("failure") { .text(reader.shown($0.failure)) }, Field("diedAt") { .time($0.diedAt) },
        ]
    }
}

extension WebhookTestResult {
    /// `delivered`, the answer's `status` if there was one, and otherwise the reason.
    package static func fields(of url: String, for reader: WebhookReader) -> [Field<WebhookTestResult>] {
        [
            Field("url") { _ in .code(WebhookEndpoint.name(of: url)) }, Field("id") { .code($0.id.rawValue) },
            Field("delivered") { .flag($0.verdict == .delivered) }, Field("status") { .number($0.status) },
            Field("failure") { .text($0.failure.map(reader.shown)) },
            Field("milliseconds") { .number(Int($0.milliseconds)) },
        ]
    }

    /// Why the receiver did not accept it, such as `status 500` or `connection refused`; nil when it did.
    package var failure: String? {
        switch verdict {
        case .delivered: nil
        case .gone: "status 410"
        case .failed(let reason, _), .refused(let reason): reason
        case .abandoned: "the server is stopping"
        }
    }
}
