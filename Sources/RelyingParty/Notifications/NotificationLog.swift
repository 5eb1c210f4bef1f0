package import Coding

extension AppleNotification.Kind {
    /// - Parameter type: `type` of the event, as Apple wrote it.
    package init(type: String) {
        switch type {
        case "email-disabled": self = .emailDisabled
        case "email-enabled": self = .emailEnabled
        case "consent-revoked": self = .consentRevoked
        // Older documents and the field say -delete, current documents -deleted.
        case "account-delete", "account-deleted": self = .accountDeleted
        default: self = .unknown(type)
        }
    }
}

/// A verified notification as it was recorded.
package struct RecordedNotification: Hashable, Sendable {
    /// `jti`.
    package var id: String
    package var type: String
    package var clientID: ClientID
    /// Nil when Apple named nobody, or once the person was deleted here.
    package var subject: AppleSubject?
    package var eventTime: Timestamp
    package var receivedAt: Timestamp
    /// The verified claims as compact JSON; nil once erased, with the person they were about.
    package var payload: String?
    package var outcome: NotificationOutcome

    package init(
        id: String, type: String, clientID: ClientID, subject: AppleSubject?, eventTime: Timestamp,
        receivedAt: Timestamp, payload: String?, outcome: NotificationOutcome
    ) {
        self.id = id
        self.type = type
        self.clientID = clientID
        self.subject = subject
        self.eventTime = eventTime
        self.receivedAt = receivedAt
        self.payload = payload
        self.outcome = outcome
    }
}

/// Where a page of notifications ended.
package struct NotificationCursor: Hashable, Sendable {
    package var receivedAt: Timestamp
    package var id: String

    package init(receivedAt: Timestamp, id: String) {
        self.receivedAt = receivedAt
        self.id = id
    }
}

/// Some notifications, newest first, and where the older ones begin.
package struct NotificationPage: Hashable, Sendable {
    package var items: [RecordedNotification]
    /// Nil when these are the last.
    package var next: NotificationCursor?

    package init(items: [RecordedNotification], next: NotificationCursor?) {
        self.items = items
        self.next = next
    }
}

/// What came of applying a recorded notification again.
package enum NotificationReplay: Hashable, Sendable {
    case unknown
    /// The payload was erased with the person it was about.
    case erased
    /// It was applied before; nothing was done. What has changed since was changed by somebody who knew of it.
    case appliedBefore
    /// Applied now, or tried again without effect; the outcome is recorded.
    case replayed(NotificationOutcome)
}
