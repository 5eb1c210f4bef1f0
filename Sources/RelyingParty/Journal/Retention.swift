package import Coding

/// How long what is no longer needed is kept, in seconds. `Storage` deletes by it, in small batches.
package struct RetentionPolicy: Hashable, Sendable {
    /// A name given at first consent that no sign-in completed.
    package static let firstConsent: Int64 = 30 * 86_400
    /// The least time a notification's `jti` is remembered, whatever is configured.
    package static let notificationIdentifiers: Int64 = 30 * 86_400
    /// How long after its end a used attempt still tells a replay from a forgery.
    package static let usedAttempts: Int64 = 86_400

    /// How long a link that has ended tells its end from never having been.
    package static let links: Int64 = 86_400

    /// How long a deletion is remembered by a keyed hash, and one that Apple was never told of kept for the operator.
    package static let revocations: Int64 = 90 * 86_400

    /// How long the end of a consent that no user stands for is remembered: longer than a sign-in that began before it can
    /// be in flight. An attempt lives 600 s at most, and its identity may wait as long for its person's answer, then as
    /// long in a link; the rest is for the exchange, the daily work's own pause and a clock that is set back.
    package static let consentEnds: Int64 = 3_600

    /// `retention.events`: entries of the journal.
    package var events: Int64
    /// `retention.notifications`: the payloads of recorded notifications. That one came is remembered as long, and never
    /// shorter than `notificationIdentifiers`.
    package var notifications: Int64

    /// `retention.audit`: lines of the audit log.
    package var audit: Int64

    package init(
        events: Int64 = 90 * 86_400, notifications: Int64 = 30 * 86_400, audit: Int64 = 400 * 86_400
    ) {
        self.events = events
        self.notifications = notifications
        self.audit = audit
    }

    /// Rows older than these moments may go.
    package func cutoffs(at now: Timestamp) -> Cutoffs {
        Cutoffs(
            firstConsent: now.adding(seconds: -Self.firstConsent),
            notifications: now.adding(seconds: -max(notifications, Self.notificationIdentifiers)),
            payloads: now.adding(seconds: -notifications),
            events: now.adding(seconds: -events), revocations: now.adding(seconds: -Self.revocations),
            links: now.adding(seconds: -Self.links), consentEnds: now.adding(seconds: -Self.consentEnds),
            audit: now.adding(seconds: -audit))
    }

    package struct Cutoffs: Hashable, Sendable {
        package var firstConsent: Timestamp
        package var notifications: Timestamp
        /// Of notifications.
        package var payloads: Timestamp
        package var events: Timestamp
        package var revocations: Timestamp
        package var links: Timestamp
        package var consentEnds: Timestamp
        package var audit: Timestamp
    }
}

/// What one round of maintenance deleted.
package struct MaintenanceReport: Hashable, Sendable {
    package var sessions = 0
    package var usedAttempts = 0
    package var exchanges = 0
    package var firstConsents = 0
    package var notifications = 0
    /// Of notifications that are remembered without it.
    package var payloads = 0
    package var events = 0
    package var revocations = 0
    package var consentEnds = 0
    package var links = 0
    package var waitingIdentities = 0
    package var audit = 0

    package init() {}
}

/// `apple.onAccountDeleted`: what becomes of a user whose Apple Account was deleted.
package enum AccountDeletionPolicy: String, Sendable, CaseIterable {
    /// The user and everything kept about them is deleted; the journal keeps ids only.
    case erase
    /// The user stays, disabled and signed out.
    case disable
}
