package import Coding
import Storage

/// What there may be much of in somebody's data, in the order of an export.
package enum AccountList: String, Sendable, CaseIterable {
    /// Live ones, newest first.
    case sessions
    /// Oldest first.
    case programs
    /// Which programs are told when which session ends.
    case programSessions
    /// The newest `AccountRecord.limit`, in the order of receipt.
    case notifications
    /// The newest `AccountRecord.limit`, in the order of commits.
    case events
}

package enum AccountItem: Hashable, Sendable {
    case session(Session)
    case program(AccountRecord.Program)
    case participant(AccountRecord.Participant)
    case notification(AccountRecord.Notification)
    case event(JournalEntry)
}

/// Where a page of one of the lists ended.
package enum AccountPlace: Hashable, Sendable {
    case session(SessionCursor)
    /// The id of a grant.
    case program([UInt8])
    case participant(session: SessionID, clientID: String)
    case notification(receivedAt: Timestamp, id: String)
    case event(sequence: Int64)
}

package struct AccountPage: Hashable, Sendable {
    package var items: [AccountItem]
    /// Nil when there are no more.
    package var next: AccountPlace?
}
