import Accounts
import Coding
import Storage

/// The sessions on the account page: this browser's first, then by their last use, a page at a time.
struct AccountSessions: Sendable {
    /// Sessions on a page.
    static let pageSize = 25

    var current: SessionID
    var items: [Session]
    /// Where the next page begins; nil at the end.
    var next: SessionCursor?

    /// - Parameter place: where the page before ended; nil for the first, which begins with this browser.
    static func read(
        of signedIn: SignedIn, after place: SessionCursor?, from database: Database, at now: Timestamp
    ) async throws(StoreError) -> AccountSessions {
        let page = try await database.sessions(
            of: signedIn.user.id, by: .lastUsed, after: place, limit: pageSize, at: now)
        let current = signedIn.session.id
        let others = page.items.filter { $0.id != current }
        guard place == nil else { return AccountSessions(current: current, items: others, next: page.next) }
        let shown = others.prefix(pageSize - 1)
        let isLast = page.next == nil && shown.count == others.count
        return AccountSessions(
            current: current, items: [signedIn.session] + shown,
            next: isLast ? nil : shown.last.map { SessionCursor($0, by: .lastUsed) })
    }
}
