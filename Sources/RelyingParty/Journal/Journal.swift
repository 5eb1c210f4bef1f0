package import Coding

/// One entry of the event journal: that something changed, and about whom; never the values.
package struct JournalEntry: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case userCreated = "user.created"
        case userUpdated = "user.updated"
        case sessionCreated = "session.created"
        case sessionEnded = "session.ended"
        case consentRevoked = "consent.revoked"
        case accountDeleted = "account.deleted"
        case emailDisabled = "email.disabled"
        case emailEnabled = "email.enabled"
        case userTransferred = "user.transferred"
        /// Apple was added to an account of the application.
        case accountLinked = "account.linked"
        /// Apple took the place of an account's password.
        case accountUpgraded = "account.upgraded"
    }

    package var id: EventID
    package var kind: Kind
    package var time: Timestamp
    package var user: UserID
    /// The application's own id of the user as it was once the change was made, and of a deleted user the last one:
    /// kept here because the user may be gone when the event is read.
    package var externalID: String?
    package var session: SessionID?
    /// Why a session ended; of `account.deleted`, that a link was taken back.
    package var cause: SessionEndCause?
    /// Names of the user's changed fields, as the API calls them.
    package var fields: [String]
    /// The user that this one became part of, and who has its sessions now.
    package var into: UserID?

    package init(
        id: EventID, kind: Kind, time: Timestamp, user: UserID, externalID: String? = nil, session: SessionID? = nil,
        cause: SessionEndCause? = nil, fields: [String] = [], into: UserID? = nil
    ) {
        self.id = id
        self.kind = kind
        self.time = time
        self.user = user
        self.externalID = externalID
        self.session = session
        self.cause = cause
        self.fields = fields
        self.into = into
    }
}

/// The journal, read by the API and by tests.
package protocol EventJournal: Sendable {
    /// At most `limit` entries after `id` in the order they were committed; from the first when nil or no longer kept.
    func events(after id: EventID?, limit: Int) async throws(StoreError) -> [JournalEntry]
    /// At most `limit` wanted entries behind `place`, or from the first one kept. Nil when events behind that place may be
    /// deleted by now, so that its reader would miss them without knowing.
    func eventPage(
        _ filter: JournalFilter, after place: EventPlace?, limit: Int
    ) async throws(StoreError) -> EventPage?
}

/// Where a reader of the journal stands.
package enum EventPlace: Hashable, Sendable {
    /// Behind this event.
    case event(EventID)
    /// Behind this place in the order of commits: what a page ended at. Holds after the event there is deleted.
    case sequence(Int64)
}

/// Some events in the order they were committed, and where the next ones begin.
package struct EventPage: Hashable, Sendable {
    package var items: [JournalEntry]
    /// Nil when these are the last so far.
    package var next: EventPlace?

    package init(items: [JournalEntry], next: EventPlace?) {
        self.items = items
        self.next = next
    }
}
