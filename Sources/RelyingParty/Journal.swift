package import Coding

/// One entry of the event journal: that something changed, never the values.
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
    package var session: SessionID?
    /// Why a session ended; of `account.deleted`, that a link was taken back.
    package var cause: SessionEndCause?
    /// Names of the user's changed fields, as the API calls them.
    package var fields: [String]
    /// The user that this one became part of, and who has its sessions now.
    package var into: UserID?

    package init(
        id: EventID, kind: Kind, time: Timestamp, user: UserID, session: SessionID? = nil,
        cause: SessionEndCause? = nil, fields: [String] = [], into: UserID? = nil
    ) {
        self.id = id
        self.kind = kind
        self.time = time
        self.user = user
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
    /// At most `limit` entries behind `place`, or from the first one kept; only those about `user` when it is given. Nil
    /// when events behind that place may be deleted by now, so that its reader would miss them without knowing.
    func eventPage(after place: EventPlace?, user: UserID?, limit: Int) async throws(StoreError) -> EventPage?
}
