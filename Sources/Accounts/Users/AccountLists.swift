package import Coding
import Storage

/// The long lists of a person's data, in the order of an export.
package enum AccountList: String, Sendable, CaseIterable {
    /// Live ones, newest first.
    case sessions
    /// Oldest first.
    case programs
    /// Which clients are notified when which session ends.
    case programSessions
    /// What the person has allowed third-party applications.
    case consents
    /// The newest `AccountRecord.limit`, in the order of receipt.
    case notifications
    /// The newest `AccountRecord.limit`, in the order of commits.
    case events
}

package enum AccountItem: Hashable, Sendable {
    case session(Session)
    case program(AccountRecord.Program)
    case participant(AccountRecord.Participant)
    case consent(Consent)
    case notification(AccountRecord.Notification)
    case event(JournalEntry)
}

/// A position in one of the lists.
package enum AccountPlace: Hashable, Sendable {
    case session(SessionCursor)
    /// The id of a grant.
    case program([UInt8])
    case participant(session: SessionID, clientID: String)
    case consent(client: String, service: String)
    case notification(receivedAt: Timestamp, id: String)
    case event(sequence: Int64)
}

package typealias AccountPage = Page<AccountItem, AccountPlace>

extension Database {
    /// At most `limit` items after the place; nil when the user is gone.
    package func accountPage(
        _ list: AccountList, of user: UserID, after place: AccountPlace?, limit: Int, at now: Timestamp
    ) async throws(Failure) -> AccountPage? {
        try await read(at: now) { snapshot in
            guard try snapshot.exists("SELECT 1 FROM user WHERE id = ?", [user]) else { return nil }
            return switch list {
            case .sessions: try snapshot.sessionPage(of: user, after: place, limit)
            case .programs: try snapshot.programPage(of: user, after: place, limit)
            case .programSessions: try snapshot.participantPage(of: user, after: place, limit)
            case .consents: try snapshot.consentPage(of: user, after: place, limit)
            case .notifications: try snapshot.notificationPage(of: user, after: place, limit)
            case .events: try snapshot.eventPage(of: user, after: place, limit)
            }
        }
    }
}

// A position in another list is ignored.
extension Snapshot {
    private func accountPage(
        _ sql: String, _ arguments: StatementArguments, _ limit: Int,
        _ read: (Row) throws -> (AccountItem, AccountPlace)
    ) throws -> AccountPage {
        let page = try page(sql, arguments, limit: limit, place: \.1, read)
        return Page(items: page.items.map(\.0), next: page.next)
    }

    fileprivate func sessionPage(of user: UserID, after place: AccountPlace?, _ limit: Int) throws -> AccountPage {
        var cursor: SessionCursor?
        if case .session(let place) = place { cursor = place }
        let page = try sessions(of: [user], by: .newest, after: cursor, limit: limit)
        return Page(items: page.items.map { .session($0) }, next: page.next.map { .session($0) })
    }

    fileprivate func programPage(of user: UserID, after place: AccountPlace?, _ limit: Int) throws -> AccountPage {
        var wanted = Conditions("user = ?", [user])
        if case .program(let id) = place { wanted.add("id > ?", [id]) }
        return try accountPage(
            "SELECT \(AccountRecord.Program.columns) FROM openid_grant \(wanted.clause) ORDER BY id LIMIT ?",
            wanted.arguments, limit
        ) { row in (.program(try AccountRecord.Program(row)), .program(try row["id"])) }
    }

    fileprivate func participantPage(of user: UserID, after place: AccountPlace?, _ limit: Int) throws -> AccountPage {
        var wanted = Conditions("s.user = ?", [user])
        if case .participant(let session, let client) = place {
            wanted.add("(p.session, p.client) > (?, ?)", [session, client])
        }
        return try accountPage(
            """
            SELECT p.client, p.session FROM openid_participant p JOIN session s ON s.id = p.session \(wanted.clause)
            ORDER BY p.session, p.client LIMIT ?
            """, wanted.arguments, limit
        ) { row in
            let participant = AccountRecord.Participant(clientID: try row["client"], session: try row["session"])
            return (
                .participant(participant), .participant(session: participant.session, clientID: participant.clientID)
            )
        }
    }

    fileprivate func consentPage(of user: UserID, after place: AccountPlace?, _ limit: Int) throws -> AccountPage {
        var wanted = Conditions("user = ?", [user])
        if case .consent(let client, let service) = place {
            wanted.add("(client, service) > (?, ?)", [client, service])
        }
        return try accountPage(
            "SELECT \(Consent.columns) FROM openid_consent \(wanted.clause) ORDER BY client, service LIMIT ?",
            wanted.arguments, limit
        ) { row in
            let consent = try Consent(row)
            return (.consent(consent), .consent(client: consent.client.rawValue, service: consent.service))
        }
    }

    fileprivate func notificationPage(of user: UserID, after place: AccountPlace?, _ limit: Int) throws -> AccountPage {
        var wanted = Conditions("subject IN (SELECT subject FROM apple_identity WHERE user = ?)", [user])
        if case .notification(let time, let id) = place {
            wanted.add("(received_at, jti) > (?, ?)", [time, id])
        } else if let oldest = try firstRow(AccountRecord.Notification.beyondLimit, [user, AccountRecord.limit]) {
            let (time, id): (Timestamp, String) = (try oldest["received_at"], try oldest["jti"])
            wanted.add("(received_at, jti) > (?, ?)", [time, id])
        }
        return try accountPage(
            """
            SELECT \(AccountRecord.Notification.columns) FROM notification \(wanted.clause)
            ORDER BY received_at, jti LIMIT ?
            """, wanted.arguments, limit
        ) { row in
            let item = try AccountRecord.Notification(row)
            return (.notification(item), .notification(receivedAt: item.receivedAt, id: try row["jti"]))
        }
    }

    fileprivate func eventPage(of user: UserID, after place: AccountPlace?, _ limit: Int) throws -> AccountPage {
        var start: Int64
        if case .event(let sequence) = place {
            start = sequence
        } else {
            start = try value(AccountRecord.eventBeyondLimit, [user, AccountRecord.limit]) ?? 0
        }
        return try accountPage(
            """
            SELECT \(JournalEntry.columns) FROM event e WHERE e.user = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?
            """, [user, start], limit
        ) { row in (.event(try JournalEntry(row)), .event(sequence: try row["e.sequence"])) }
    }
}

extension AccountRecord {
    /// The newest event that an export omits; its parameters are the user and `limit`.
    static let eventBeyondLimit = "SELECT sequence FROM event WHERE user = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?"
}

extension AccountRecord.Notification {
    static let columns = "type, client_id, event_time, received_at, outcome, jti"
    /// The same for notifications.
    static let beyondLimit = """
        SELECT received_at, jti FROM notification WHERE subject IN (SELECT subject FROM apple_identity WHERE user = ?)
        ORDER BY received_at DESC, jti DESC LIMIT 1 OFFSET ?
        """

    init(_ row: Row) throws(StoreError) {
        self.init(
            type: try row["type"], clientID: try row["client_id"], eventTime: try row["event_time"],
            receivedAt: try row["received_at"], outcome: try row["outcome"])
    }
}

extension AccountRecord.Program {
    static let columns = """
        id, client, scopes, services, redirect_uri, session, authenticated_at, expires_at,
        refresh_hash IS NOT NULL AS is_offline
        """

    init(_ row: Row) throws(StoreError) {
        clientID = try row["client"]
        scopes = try row.texts("scopes")
        let services: TextList? = try row["services"]
        self.services = services?.items ?? []
        redirectURI = try row["redirect_uri"]
        session = try row["session"]
        signedInAt = try row["authenticated_at"]
        expiresAt = try row["expires_at"]
        isOffline = try row["is_offline"]
    }
}
