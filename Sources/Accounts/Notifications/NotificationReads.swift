package import Coding
package import Storage

// Apple's notifications, for the operator.
extension Database {
    /// At most `limit`, newest first, after `cursor`; a nil outcome selects all.
    package func notifications(
        outcome: NotificationOutcome?, after cursor: NotificationCursor?, limit: Int
    ) async throws(StoreError) -> NotificationPage {
        try await read { snapshot in
            var wanted = Conditions()
            if let cursor { wanted.add("(received_at, jti) < (?, ?)", [cursor.receivedAt, cursor.id]) }
            if let outcome { wanted.add("outcome = ?", [outcome]) }
            let (items, isLast) = try snapshot.page(
                """
                SELECT \(RecordedNotification.columns) FROM notification \(wanted.clause)
                ORDER BY received_at DESC, jti DESC LIMIT ?
                """, wanted.arguments, limit: limit
            ) { try RecordedNotification($0) }
            let last = isLast ? nil : items.last
            return NotificationPage(
                items: items, next: last.map { NotificationCursor(receivedAt: $0.receivedAt, id: $0.id) })
        }
    }

    package func notification(_ id: String) async throws(StoreError) -> RecordedNotification? {
        try await read { snapshot in try snapshot.recordedNotification(id) }
    }

    /// Applies one again as if it arrived now, in one transaction with its new outcome: for people or types that were
    /// unknown.
    package func replayNotification(
        _ id: String, team: TeamID, at now: Timestamp
    ) async throws(StoreError) -> NotificationReplay {
        try await write(at: now) { transaction in
            guard let recorded = try transaction.recordedNotification(id) else { return .unknown }
            guard let notification = AppleNotification(recorded) else { return .erased }
            if recorded.outcome == .applied { return .appliedBefore }
            try transaction.audit(.command, object: "notifications replay")
            let change = try transaction.apply(notification, team: team)
            try transaction.run(
                """
                UPDATE notification SET outcome = ?1, payload = CASE WHEN ?2 THEN NULL ELSE payload END,
                subject = CASE WHEN ?2 THEN NULL ELSE subject END WHERE jti = ?3
                """, [change.outcome, change.erases, id])
            return .replayed(change.outcome)
        }
    }
}

extension Snapshot {
    fileprivate func recordedNotification(_ id: String) throws -> RecordedNotification? {
        try firstRow("SELECT \(RecordedNotification.columns) FROM notification WHERE jti = ?", [id]).map {
            try RecordedNotification($0)
        }
    }
}

extension RecordedNotification {
    fileprivate static let columns = "jti, type, client_id, subject, event_time, received_at, payload, outcome"

    fileprivate init(_ row: Row) throws(StoreError) {
        self.init(
            id: try row["jti"], type: try row["type"], clientID: try row["client_id"], subject: try row["subject"],
            eventTime: try row["event_time"], receivedAt: try row["received_at"], payload: try row["payload"],
            outcome: try row["outcome"])
    }
}

extension AppleNotification {
    /// What was verified on arrival; nil once its payload was erased.
    init?(_ recorded: RecordedNotification) {
        guard let payload = recorded.payload else { return nil }
        self.init(
            id: recorded.id, kind: Kind(type: recorded.type), type: recorded.type, clientID: recorded.clientID,
            subject: recorded.subject, eventTime: recorded.eventTime, payload: payload)
    }
}
