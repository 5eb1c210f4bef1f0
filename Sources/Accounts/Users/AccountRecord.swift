package import Coding

/// What is stored about one person: what they may download and what the operator exports. Never a token, sealed or not.
/// Of what may be much it has only the newest; `AccountLists` has the rest.
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
        package var hasMoved: Bool = false
        /// A name given with a consent whose sign-in was never completed.
        package var unfinishedName: PersonName?
        /// When that was; nil without one.
        package var unfinishedSince: Timestamp?
    }

    /// A refresh token of Apple's, without the token itself.
    package struct Credential: Hashable, Sendable {
        package var clientID: ClientID
        /// `authorized` or `revoked`.
        package var state: String
        /// Why it is revoked.
        package var cause: String?
        /// `iat` of the sign-in that brought it, by Apple's clock.
        package var issuedAt: Timestamp
        package var holdsToken: Bool

        package init(clientID: ClientID, state: String, cause: String?, issuedAt: Timestamp, holdsToken: Bool) {
            self.clientID = clientID
            self.state = state
            self.cause = cause
            self.issuedAt = issuedAt
            self.holdsToken = holdsToken
        }
    }

    /// That Apple reported something about the person, without the content.
    package struct Notification: Hashable, Sendable {
        package var type: String
        /// The app or site it concerned; nil where that was not recorded.
        package var clientID: ClientID?
        /// By Apple's clock.
        package var eventTime: Timestamp
        package var receivedAt: Timestamp
        package var outcome: String
    }

    /// A program that the person signed in to by OpenID Connect, while it holds tokens or its session lives.
    package struct Program: Hashable, Sendable {
        package var clientID: String
        package var scopes: [String]
        package var redirectURI: String
        package var session: SessionID
        /// When the person signed in.
        package var signedInAt: Timestamp
        package var expiresAt: Timestamp
        /// Whether it has a refresh token, which outlives the session.
        package var isOffline: Bool
    }

    /// A program that is told when the session ends.
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
    /// The newest live sessions, programs, notifications and events; each list with the newest first.
    package var sessions: [Session] = []
    package var programs: [Program] = []
    package var notifications: [Notification] = []
    package var events: [JournalEntry] = []
    /// False when there are more notifications or events than `limit`.
    package var isComplete: Bool = true
}

extension [AccountRecord.Identity] {
    /// The credential status of the person with these identities, as in `User.credential`; nil without any.
    package var credential: CredentialStatus? {
        let present = filter { !$0.hasMoved }
        let counted: [CredentialStatus] = (present.isEmpty ? self : present).map { $0.credential }
        return counted.first.map { .ofPerson($0, [CredentialStatus](counted.dropFirst())) }
    }

    /// Whether Apple can be told of a deletion: there is a refresh token to revoke.
    package var holdToken: Bool { contains { $0.credentials.contains(where: \.holdsToken) } }
}
