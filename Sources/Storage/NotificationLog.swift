package import Coding
package import RelyingParty

// Apple's notifications as the operator looks at them.
extension Database {
    /// At most `limit`, newest first, after `cursor`; nil outcome does not narrow.
    package func notifications(
        outcome: NotificationOutcome?, after cursor: NotificationCursor?, limit: Int
    ) async throws(StoreError) -> NotificationPage {
        try await read { connection in
            var conditions: [String] = []
            var arguments = StatementArguments()
            if let cursor {
                conditions.append("(n.received_at, n.jti) < (?, ?)")
                arguments += [cursor.receivedAt.milliseconds, cursor.id]
            }
            if let outcome {
                conditions.append("n.outcome = ?")
                arguments += [outcome.rawValue]
            }
            arguments += [limit + 1]
            let condition = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
            let rows = try connection.rows(
                """
                SELECT \(RecordedNotification.columns) FROM notification n \(condition)
                ORDER BY n.received_at DESC, n.jti DESC LIMIT ?
                """, arguments)
            let items = try rows.prefix(limit).map { try RecordedNotification(row: $0) }
            let last = rows.count > limit ? items.last : nil
            return NotificationPage(
                items: items, next: last.map { NotificationCursor(receivedAt: $0.receivedAt, id: $0.id) })
        }
    }

    package func notification(_ id: String) async throws(StoreError) -> RecordedNotification? {
        try await read { connection in try connection.recordedNotification(id) }
    }

    /// Applies one again as if it arrived now, in one transaction with its new outcome: one about somebody who was not
    /// known, or of a type that was not.
    package func replayNotification(
        _ id: String, team: TeamID, at now: Timestamp
    ) async throws(StoreError) -> NotificationReplay {
        let identifiers = identifiers
        let policy = options.onAccountDeleted
        let subjectHashes = subjectHashes
        return try await commits.write { connection, effects in
            guard let recorded = try connection.recordedNotification(id) else { return .unknown }
            guard let notification = AppleNotification(recorded) else { return .erased }
            if recorded.outcome == .applied { return .appliedBefore }
            var changes = NotificationChanges(
                notification: notification, team: team, policy: policy, now: now, identifiers: identifiers,
                subjectHashes: subjectHashes)
            try connection.audit(.command, object: "notifications replay", at: now)
            let outcome = try changes.apply(on: connection, effects: &effects)
            try connection.run(
                """
                UPDATE notification SET outcome = ?1, payload = CASE WHEN ?2 THEN NULL ELSE payload END,
                subject = CASE WHEN ?2 THEN NULL ELSE subject END WHERE jti = ?3
                """, [outcome.rawValue, changes.erases, id])
            return .replayed(outcome)
        }
    }
}

extension SQLiteConnection {
    fileprivate func recordedNotification(_ id: String) throws -> RecordedNotification? {
        try firstRow(
            """
            SELECT \(RecordedNotification.columns) FROM notification n WHERE n.jti = ?
            """, [id]
        ).map { try RecordedNotification(row: $0) }
    }
}

extension RecordedNotification {
    static let columns = "n.jti, n.type, n.client_id, n.subject, n.event_time, n.received_at, n.payload, n.outcome"

    init(row: Row) throws(StoreError) {
        self.init(
            id: try row.text(0), type: try row.text(1), clientID: ClientID(try row.text(2)),
            subject: (row[3] as String?).map { AppleSubject($0) }, eventTime: try row.moment(4),
            receivedAt: try row.moment(5), payload: row[6] as String?, outcome: try row.value(7))
    }
}

extension AppleNotification {
    /// What was verified when it arrived; nil once its payload was erased.
    init?(_ recorded: RecordedNotification) {
        guard let payload = recorded.payload else { return nil }
        self.init(
            id: recorded.id, kind: Kind(type: recorded.type), type: recorded.type, clientID: recorded.clientID,
            subject: recorded.subject, eventTime: recorded.eventTime, payload: payload)
    }
}
