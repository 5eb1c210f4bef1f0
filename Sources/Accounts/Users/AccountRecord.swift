package import Coding
import Storage

/// The data stored about one person, which they can download and the operator can export. Never a token, sealed or not.
/// Of long lists only the newest; `AccountLists` has the rest.
package struct AccountRecord: Hashable, Sendable {
    /// An Apple identity of the person, and each client's credential.
    package struct Identity: Hashable, Sendable {
        package var team: TeamID
        package var subject: AppleSubject
        package var transferSubject: String?
        package var credential: CredentialStatus
        /// `iat` of the latest sign-in, by Apple's clock.
        package var lastSignInAt: Timestamp
        package var createdAt: Timestamp
        package var credentials: [Credential] = []
        /// Whether another identity of the person replaced it in a transfer to another team.
        package var hasMoved = false
        /// A name given with a consent whose sign-in was never completed.
        package var unfinishedName: PersonName?
        /// When it was given; nil without one.
        package var unfinishedSince: Timestamp?
    }

    /// A refresh token of Apple's, without the token itself.
    package struct Credential: Hashable, Sendable {
        package var clientID: ClientID
        /// `authorized` or `revoked`.
        package var state: String
        package var cause: String?
        /// `iat` of the sign-in that brought it, by Apple's clock.
        package var issuedAt: Timestamp
        package var holdsToken: Bool
    }

    /// A notification from Apple about the person, without its content.
    package struct Notification: Hashable, Sendable {
        package var type: String
        /// The app or site it concerned; nil where that was not recorded.
        package var clientID: ClientID?
        /// By Apple's clock.
        package var eventTime: Timestamp
        package var receivedAt: Timestamp
        package var outcome: String
    }

    /// An application that the person signed in to by OpenID Connect, while it has tokens or its session is live.
    package struct Program: Hashable, Sendable {
        package var clientID: String
        package var scopes: [String]
        /// The addresses of the services it is for.
        package var services: [String] = []
        package var redirectURI: String
        package var session: SessionID
        /// When the person signed in.
        package var signedInAt: Timestamp
        package var expiresAt: Timestamp
        /// Whether it has a refresh token.
        package var isOffline: Bool
    }

    /// An application that is notified when the session ends.
    package struct Participant: Hashable, Sendable {
        package var clientID: String
        package var session: SessionID
    }

    /// The most notifications, and the most events, in an export: the newest.
    package static let limit = 10_000

    package var user: User
    /// When any of the user's data last changed; nil where that was not recorded.
    package var updatedAt: Timestamp?
    /// When Apple last reported mail forwarding, by Apple's clock; nil if never.
    package var emailForwardingChangedAt: Timestamp?
    package var identities: [Identity]
    /// The newest live sessions, notifications and events; each list with the newest first.
    package var sessions: [Session] = []
    package var notifications: [Notification] = []
    package var events: [JournalEntry] = []
    /// False when there are more notifications or events than `limit`.
    package var isComplete = true
}

extension [AccountRecord.Identity] {
    /// The credential status of the person with these identities, as in `User.credential`; nil without any.
    package var credential: CredentialStatus? {
        let present = filter { !$0.hasMoved }
        let counted: [CredentialStatus] = (present.isEmpty ? self : present).map { $0.credential }
        return counted.first.map { .ofPerson($0, [CredentialStatus](counted.dropFirst())) }
    }

    /// Whether there is a refresh token to revoke at a deletion.
    package var holdToken: Bool { contains { $0.credentials.contains(where: \.holdsToken) } }
}

extension Database {
    /// The newest `count` sessions, notifications and events; nil when the user is unknown.
    package func accountRecord(
        of id: UserID, newest count: Int, at now: Timestamp
    ) async throws(Failure) -> AccountRecord? {
        try await read(at: now) { snapshot in
            guard let user = try snapshot.user(id),
                let changes = try snapshot.firstRow("SELECT updated_at, email_event_at FROM user WHERE id = ?", [id])
            else { return nil }
            return AccountRecord(
                user: user, updatedAt: try changes["updated_at"],
                emailForwardingChangedAt: try changes["email_event_at"], identities: try snapshot.identities(of: id),
                sessions: try snapshot.sessions(of: [id], by: .newest, after: nil, limit: count).items,
                notifications: try snapshot.newestNotifications(of: id, count),
                events: try snapshot.newestEvents(of: id, count), isComplete: try snapshot.isExportComplete(of: id))
        }
    }

    /// The user's identities, oldest first; nil when the user is unknown.
    package func identities(of user: UserID) async throws(Failure) -> [AccountRecord.Identity]? {
        try await read { snapshot in
            let identities = try snapshot.identities(of: user)
            return identities.isEmpty ? nil : identities
        }
    }
}

extension Snapshot {
    fileprivate func identities(of user: UserID) throws -> [AccountRecord.Identity] {
        let credentials = try credentials(of: user)
        return try rows(
            """
            SELECT i.id, i.team, i.subject, i.transfer_subject, \(CredentialStatus.columns), i.last_sign_in_issued_at,
            i.created_at, f.saved_at, f.given_name, f.family_name, i.moved_to IS NOT NULL AS has_moved
            FROM apple_identity i LEFT JOIN first_consent f ON f.team = i.team AND f.subject = i.subject
            WHERE i.user = ? ORDER BY i.id
            """, [user]
        ).map { row in
            let unfinishedSince: Timestamp? = try row["saved_at"]
            let name = PersonName(given: try row["given_name"], family: try row["family_name"])
            return AccountRecord.Identity(
                team: try row["team"], subject: try row["subject"], transferSubject: try row["transfer_subject"],
                credential: try CredentialStatus(row), lastSignInAt: try row["last_sign_in_issued_at"],
                createdAt: try row["created_at"], credentials: credentials[try row["id"]] ?? [],
                hasMoved: try row["has_moved"], unfinishedName: unfinishedSince == nil ? nil : name,
                unfinishedSince: unfinishedSince)
        }
    }

    fileprivate func newestNotifications(of user: UserID, _ count: Int) throws -> [AccountRecord.Notification] {
        try rows(
            """
            SELECT \(AccountRecord.Notification.columns) FROM notification
            WHERE subject IN (SELECT subject FROM apple_identity WHERE user = ?)
            ORDER BY received_at DESC, jti DESC LIMIT ?
            """, [user, count]
        ).map { try AccountRecord.Notification($0) }
    }

    fileprivate func newestEvents(of user: UserID, _ count: Int) throws -> [JournalEntry] {
        try rows(
            "SELECT \(JournalEntry.columns) FROM event e WHERE e.user = ? ORDER BY e.sequence DESC LIMIT ?",
            [user, count]
        ).map { try JournalEntry($0) }
    }

    /// Whether an export holds all notifications and events.
    fileprivate func isExportComplete(of user: UserID) throws -> Bool {
        let limit = AccountRecord.limit
        return try !exists(AccountRecord.Notification.beyondLimit, [user, limit])
            && !exists(AccountRecord.eventBeyondLimit, [user, limit])
    }

    /// By the row of the identity.
    private func credentials(of user: UserID) throws -> [Int64: [AccountRecord.Credential]] {
        var credentials: [Int64: [AccountRecord.Credential]] = [:]
        for row in try rows(
            """
            SELECT c.identity, c.client_id, c.state, c.cause, c.issued_at,
            c.sealed_refresh_token IS NOT NULL AS holds_token
            FROM apple_credential c JOIN apple_identity i ON i.id = c.identity WHERE i.user = ? ORDER BY c.client_id
            """, [user])
        {
            let identity: Int64 = try row["identity"]
            credentials[identity, default: []].append(
                AccountRecord.Credential(
                    clientID: try row["client_id"], state: try row["state"], cause: try row["cause"],
                    issuedAt: try row["issued_at"], holdsToken: try row["holds_token"]))
        }
        return credentials
    }
}
