package import Coding

/// How long data that is no longer needed is kept, in seconds. `Storage` deletes it in small batches.
package struct RetentionPolicy: Hashable, Sendable {
    /// A name given at first consent that no sign-in completed.
    package static let firstConsent: Int64 = 30 * 86_400
    /// The shortest time a notification's `jti` is remembered, whatever is configured.
    package static let notificationIdentifiers: Int64 = 30 * 86_400
    /// How long after its end a used attempt still distinguishes a replay from a forgery.
    package static let usedAttempts: Int64 = 86_400

    /// How long an ended link can be told from one that never existed, and a completed one asked about its account.
    package static let links: Int64 = 86_400

    /// How long a deletion is remembered by a keyed hash, and how long one that Apple never learned of is kept for the
    /// operator.
    package static let revocations: Int64 = 90 * 86_400

    /// How long the end of a consent is remembered when no user is left: longer than a sign-in that began before it can
    /// take. An attempt lives at most 600 s, its identity may wait as long for the person's answer and as long again in
    /// a link; the rest covers the exchange, the pause of the daily job and a clock that is set back.
    package static let consentEnds: Int64 = 3_600

    /// `retention.events`: entries of the journal.
    package var events: Int64 = 7_776_000
    /// `retention.notifications`: payloads of recorded notifications. Their receipt is remembered equally long, and at
    /// least `notificationIdentifiers`.
    package var notifications: Int64 = 2_592_000
    /// `retention.audit`: lines of the audit log.
    package var audit: Int64 = 34_560_000

    package init() {}

    /// Rows older than these times may be deleted.
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
    package var grants = 0
    package var exchanges = 0
    package var firstConsents = 0
    package var notifications = 0
    /// Payloads of notifications that are remembered without them.
    package var payloads = 0
    package var events = 0
    package var revocations = 0
    package var consentEnds = 0
    package var links = 0
    package var waitingIdentities = 0
    package var audit = 0

    package init() {}
}

/// `apple.onAccountDeleted`: what happens to a user whose Apple Account was deleted.
package enum AccountDeletionPolicy: String, Sendable, CaseIterable {
    /// The user and all their data are deleted; the journal keeps only ids.
    case erase
    /// The user stays, disabled and signed out.
    case disable
}
