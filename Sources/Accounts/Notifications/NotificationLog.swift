package import Coding
import Storage

extension AppleNotification.Kind {
    /// - Parameter type: the event's `type`, as Apple wrote it.
    package init(type: String) {
        // Older documents and real notifications say -delete, current documents say -deleted.
        self = type == "account-delete" ? .accountDeleted : Self(rawValue: type) ?? .unknown
    }
}

package struct RecordedNotification: Hashable, Sendable {
    /// `jti`.
    package var id: String
    package var type: String
    package var clientID: ClientID
    /// Nil when Apple named no one, or after the person was deleted here.
    package var subject: AppleSubject?
    package var eventTime: Timestamp
    package var receivedAt: Timestamp
    /// Nil once erased with the person.
    package var payload: String?
    package var outcome: NotificationOutcome

    /// Without the payload.
    package static let fields: [Field<RecordedNotification>] = [
        Field("jti") { .code($0.id) }, Field("type") { .code($0.type) },
        Field("clientID") { .text($0.clientID.rawValue) }, Field("subject") { .code($0.subject?.rawValue) },
        Field("eventTime") { .time($0.eventTime) }, Field("receivedAt") { .time($0.receivedAt) },
        Field("outcome") { .text($0.outcome.rawValue) },
    ]
}

/// The result of applying a recorded notification again.
package enum NotificationReplay: Hashable, Sendable {
    case unknown
    /// The payload was erased with its person.
    case erased
    /// It was applied before, so nothing was done: later changes already took it into account.
    case appliedBefore
    /// Applied now; the outcome is recorded.
    case replayed(NotificationOutcome)
}

// Apple's notifications, for the operator.
extension Database {
    /// At most `limit`, newest first, after `cursor`; a nil outcome selects all.
    package func notifications(
        outcome: NotificationOutcome?, after place: TimedPlace?, limit: Int
    ) async throws(Failure) -> Page<RecordedNotification, TimedPlace> {
        try await read { snapshot in
            var wanted = Conditions()
            if let place { wanted.add("(received_at, jti) < (?, ?)", [place.time, place.id]) }
            if let outcome { wanted.add("outcome = ?", [outcome]) }
            return try snapshot.page(
                """
                SELECT \(RecordedNotification.columns) FROM notification \(wanted.clause)
                ORDER BY received_at DESC, jti DESC LIMIT ?
                """, wanted.arguments, limit: limit, place: { TimedPlace(time: $0.receivedAt, id: $0.id) }
            ) { try RecordedNotification($0) }
        }
    }

    package func notification(_ id: String) async throws(Failure) -> RecordedNotification? {
        try await read { snapshot in try snapshot.recordedNotification(id) }
    }

    /// Applies one again as if it arrived now, for people or types that were unknown.
    package func replayNotification(
        _ id: String, team: TeamID, at now: Timestamp
    ) async throws(Failure) -> NotificationReplay {
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
        id = try row["jti"]
        type = try row["type"]
        clientID = try row["client_id"]
        subject = try row["subject"]
        eventTime = try row["event_time"]
        receivedAt = try row["received_at"]
        payload = try row["payload"]
        outcome = try row["outcome"]
    }
}

extension AppleNotification {
    /// Nil once its payload was erased.
    init?(_ recorded: RecordedNotification) {
        guard let payload = recorded.payload else { return nil }
        self.init(
            id: recorded.id, type: recorded.type, clientID: recorded.clientID, eventTime: recorded.eventTime,
            payload: payload)
        subject = recorded.subject
    }
}
