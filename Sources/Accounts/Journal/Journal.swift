package import Coding
import Storage

/// One entry of the event journal: that something changed, and for whom; never the values.
package struct JournalEntry: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case userCreated = "user.created"
        /// Somebody new waits for approval (`access.signUp`).
        case userPending = "user.pending"
        case userUpdated = "user.updated"
        case sessionCreated = "session.created"
        case sessionEnded = "session.ended"
        case consentRevoked = "consent.revoked"
        case accountDeleted = "account.deleted"
        case emailDisabled = "email.disabled"
        case emailEnabled = "email.enabled"
        case userTransferred = "user.transferred"
        /// Apple was linked to an account of the application.
        case accountLinked = "account.linked"
        /// The same, to replace the account's password.
        case accountUpgraded = "account.upgraded"
    }

    package var id: EventID
    package var kind: Kind
    package var time: Timestamp
    package var user: UserID
    /// The application's own id of the user after the change, or the last one of a deleted user. It is stored here
    /// because the user may be gone when the event is read.
    package var externalID: String?
    package var session: SessionID?
    /// Why a session ended.
    package var cause: SessionEndCause?
    /// Names of the user's changed fields, as in the API.
    package var fields: [String] = []
    /// The user that this one was merged into, and who now has its sessions.
    package var into: UserID?
    /// The link that was completed.
    package var link: LinkID?
}

/// A reader's position in the journal.
package enum EventPlace: Hashable, Sendable {
    /// After this event.
    case event(EventID)
    /// After this sequence number, where a page ended. Stays valid when the event there is deleted.
    case sequence(Int64)
}

/// A page of events in the order of commits, and where the next page begins.
package struct EventPage: Hashable, Sendable {
    package var items: [JournalEntry]
    /// Nil when there are no more yet.
    package var next: EventPlace?
}
