package import Coding
package import Crypto
package import Storage

/// The order of a list of sessions.
package enum SessionOrder: Sendable {
    /// By the sign-in, newest first.
    case newest
    /// By the last use, latest first. A session that is used while somebody turns pages moves to the first.
    case lastUsed

    package func time(of session: Session) -> Timestamp {
        switch self {
        case .newest: session.createdAt
        case .lastUsed: session.lastSeenAt
        }
    }
}

/// The synchronous look-up of one event loop: its own read-only connection, a cached statement, no transaction left
/// open. Made on the loop that uses it; not Sendable.
package protocol SessionReader: AnyObject {
    func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn?
    /// What this loop asked for in vain and others have read for it since, each with the generation of the invalidations
    /// before that read.
    func takeFound() -> [(found: SignedIn, readAt: UInt64)]
}

extension SessionReader {
    package func takeFound() -> [(found: SignedIn, readAt: UInt64)] { [] }
}

/// Makes `SessionReader`s, and tells them when what they read is no longer valid.
package protocol SessionDirectory: Sendable {
    func makeReader() throws(StoreError) -> any SessionReader
    var invalidations: SessionInvalidations { get }
}

/// The cause of `session.ended`, in events and logs.
package enum SessionEndCause: String, Sendable, CaseIterable {
    case signOut = "sign_out"
    case replaced
    case revokedByUser = "revoked_by_user"
    case revokedByOperator = "revoked_by_operator"
    case consentRevoked = "consent_revoked"
    case accountDeleted = "account_deleted"
    case userDisabled = "user_disabled"
    case expired
    case tokenDead = "token_dead"
    /// Of an `account.deleted` from before passwords left: a link that the application refused had created the user.
    /// Nothing else ended.
    case linkRemoved = "link_removed"
}

/// Where a page of sessions ended.
package struct SessionCursor: Hashable, Sendable {
    /// By which the list is ordered.
    package var time: Timestamp
    package var id: SessionID

    package init(time: Timestamp, id: SessionID) {
        self.time = time
        self.id = id
    }

    package init(_ session: Session, by order: SessionOrder) {
        self.init(time: order.time(of: session), id: session.id)
    }
}

/// A page of sessions, and where the next page begins.
package struct SessionPage: Hashable, Sendable {
    package var items: [Session]
    /// Nil when there are no more.
    package var next: SessionCursor?
}
