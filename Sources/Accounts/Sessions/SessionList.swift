package import Coding
import Storage

package enum SessionOrder: Sendable {
    /// By the sign-in, newest first.
    case newest
    /// By the last use, latest first. A session that is used while pages are read moves to the first.
    case lastUsed

    package func time(of session: Session) -> Timestamp {
        switch self {
        case .newest: session.createdAt
        case .lastUsed: session.lastSeenAt
        }
    }

    fileprivate var column: String {
        switch self {
        case .newest: "s.created_at"
        case .lastUsed: "s.last_seen_at"
        }
    }
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
    /// Only in an `account.deleted` of an earlier version, when the application refused a link that had created the user.
    case linkRemoved = "link_removed"
}

package struct SessionCursor: Hashable, Sendable {
    package var time: Timestamp
    package var id: SessionID
}

extension SessionCursor {
    package init(_ session: Session, by order: SessionOrder) {
        self.init(time: order.time(of: session), id: session.id)
    }
}

extension Database {
    /// At most `limit` of them after `cursor`; of one user, or of all.
    package func sessions(
        of user: UserID?, by order: SessionOrder = .newest, after cursor: SessionCursor?, limit: Int, at now: Timestamp
    ) async throws(Failure) -> Page<Session, SessionCursor> {
        try await read(at: now) { snapshot in
            try snapshot.sessions(of: user.map { [$0] }, by: order, after: cursor, limit: limit)
        }
    }

    /// The newest after `cursor`, each with its person; nil if just deleted. Of everybody, or of these people; all, or
    /// those of `ids`.
    package func sessionsOfPeople(
        of users: [UserID]? = nil, only ids: [SessionID] = [], after cursor: SessionCursor?, limit: Int,
        at now: Timestamp
    ) async throws(Failure) -> Page<(session: Session, user: User?), SessionCursor> {
        let page = try await read(at: now) { snapshot in
            try snapshot.sessions(of: users, only: ids, by: .newest, after: cursor, limit: limit)
        }
        let people = try await self.users(Set(page.items.map(\.user)))
        return Page(items: page.items.map { ($0, people[$0.user]) }, next: page.next)
    }

    /// Including ended ones that are not deleted yet.
    package func sessionCount() async throws(Failure) -> Int {
        try await readCounting { snapshot in try snapshot.count("SELECT count(*) FROM session") }
    }

    /// Live ones.
    package func sessionCount(of user: UserID, at now: Timestamp) async throws(Failure) -> Int {
        try await read(at: now) { snapshot in
            try snapshot.count(
                "SELECT count(*) FROM session s WHERE s.user = ? AND s.expires_at > ? AND s.last_seen_at > ?",
                [user, now, now.adding(seconds: -snapshot.context.sessionLimits.idleTimeout)])
        }
    }

    /// Ends every session that exists at `now`, in small transactions, after each of which `progress` gets the number
    /// ended. Returns how many were ended.
    package func endAllSessions(
        cause: SessionEndCause, at now: Timestamp, progress: (Int) -> Void = { _ in }
    ) async throws(Failure) -> Int {
        try await inPieces(at: now, progress: progress) { transaction, limit in
            try transaction.endSessions(
                where: "s.token_hash IN (SELECT token_hash FROM session WHERE created_at <= ? LIMIT ?)",
                [now, limit], cause: cause)
        }
    }
}

extension Snapshot {
    /// - Parameters:
    ///   - users: of whom; nil means all. Few enough to be named one by one.
    ///   - ids: only these; empty means all.
    func sessions(
        of users: [UserID]?, only ids: [SessionID] = [], by order: SessionOrder, after cursor: SessionCursor?,
        limit: Int
    ) throws -> Page<Session, SessionCursor> {
        if let users, users.isEmpty { return Page() }
        var wanted = Conditions()
        wanted.add(
            "s.expires_at > ? AND s.last_seen_at > ?", [now, now.adding(seconds: -context.sessionLimits.idleTimeout)])
        wanted.add("s.user", in: users ?? [])
        wanted.add("s.id", in: ids)
        // The sum keeps PostgreSQL from scanning everyone's in this order.
        let column = users == nil && ids.isEmpty ? order.column : order.column + " + 0"
        if let cursor { wanted.add("(\(column), s.id) < (?, ?)", [cursor.time, cursor.id]) }
        return try page(
            "SELECT \(Session.columns) FROM session s \(wanted.clause) ORDER BY \(column) DESC, s.id DESC LIMIT ?",
            wanted.arguments, limit: limit, place: { SessionCursor($0, by: order) }
        ) { try Session($0) }
    }
}

// Never the token, nor its hash.
extension Session {
    package static let times: [Field<Session>] = [
        Field("id") { .code($0.id.rawValue) }, Field("createdAt") { .time($0.createdAt) },
        Field("lastSeenAt") { .time($0.lastSeenAt) }, Field("expiresAt") { .time($0.expiresAt) },
    ]

    /// With the device: for its owner, and for the operator.
    package static let fields: [Field<Session>] =
        times + [
            Field("kind") { .text($0.kind.rawValue) }, Field("clientID") { .text($0.clientID.rawValue) },
            Field("userAgent") { .text($0.device.userAgent) }, Field("address") { .text($0.device.address) },
        ]
}
