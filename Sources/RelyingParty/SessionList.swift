package import Coding

/// Where a page of sessions ended.
package struct SessionCursor: Hashable, Sendable {
    package var createdAt: Timestamp
    package var id: SessionID

    package init(createdAt: Timestamp, id: SessionID) {
        self.createdAt = createdAt
        self.id = id
    }
}

/// Some sessions, newest first, and where the older ones begin.
package struct SessionPage: Hashable, Sendable {
    package var items: [Session]
    /// Nil when these are the last.
    package var next: SessionCursor?

    package init(items: [Session], next: SessionCursor?) {
        self.items = items
        self.next = next
    }
}

/// Sessions of everybody, as the operator sees them.
package protocol SessionList: Sendable {
    /// At most `limit` live sessions, newest first, after `cursor`; of one user, or of all.
    func sessions(
        of user: UserID?, after cursor: SessionCursor?, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> SessionPage
    /// Ends every session there is at `now`, in transactions of some hundred each: a server beside it waits for none of
    /// them long. Sessions made meanwhile stay.
    /// - Returns: how many were ended.
    func endAllSessions(cause: SessionEndCause, at now: Timestamp) async throws(StoreError) -> Int
}

/// People by their address, to look at and nothing else: an address proves nothing and belongs to several.
package protocol AddressLookUp: Sendable {
    /// At most `limit` users with this address, ASCII case aside, oldest first.
    func users(email: String, limit: Int) async throws(StoreError) -> [User]
}
