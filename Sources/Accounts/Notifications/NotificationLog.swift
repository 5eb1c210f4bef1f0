package import Coding

extension AppleNotification.Kind {
    /// - Parameter type: the event's `type`, as Apple wrote it.
    package init(type: String) {
        switch type {
        case "email-disabled": self = .emailDisabled
        case "email-enabled": self = .emailEnabled
        case "consent-revoked": self = .consentRevoked
        // Older documents and real notifications say -delete, current documents say -deleted.
        case "account-delete", "account-deleted": self = .accountDeleted
        default: self = .unknown(type)
        }
    }
}

/// A recorded notification; it was verified.
package struct RecordedNotification: Hashable, Sendable {
    /// `jti`.
    package var id: String
    package var type: String
    package var clientID: ClientID
    /// Nil when Apple named nobody, or after the person was deleted here.
    package var subject: AppleSubject?
    package var eventTime: Timestamp
    package var receivedAt: Timestamp
    /// The verified claims as compact JSON; nil once erased with the person.
    package var payload: String?
    package var outcome: NotificationOutcome
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

/// A page of notifications, newest first, and where the next page begins.
package struct NotificationPage: Hashable, Sendable {
    package var items: [RecordedNotification]
    /// Nil when there are no more.
    package var next: NotificationCursor?
}

/// The result of applying a recorded notification again.
package enum NotificationReplay: Hashable, Sendable {
    case unknown
    /// The payload was erased with its person.
    case erased
    /// It was applied before; nothing was done. Later changes were made with knowledge of it.
    case appliedBefore
    /// Applied now, or tried again without effect; the outcome is recorded.
    case replayed(NotificationOutcome)
}
