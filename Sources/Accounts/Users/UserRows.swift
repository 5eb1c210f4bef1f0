import Coding
import Storage

extension User {
    /// Of a user `u` joined with one of their identities `i`.
    static let columns =
        Accounts.columns(
            "u.id", "u.state", "u.external_id", "u.groups", "u.given_name", "u.family_name", "u.email",
            "u.email_verified", "u.email_private", "u.email_forwarding", "u.real_user_status", "u.created_at", "i.id",
            "i.subject") + ", \(CredentialStatus.columns), \(CredentialStatus.others) AS others"

    /// Users joined with the identity they were created with, or have moved to since: one row each, however many
    /// identities they have. For few users: PostgreSQL takes the join for smaller than it is.
    static let all =
        "SELECT \(columns) FROM user u JOIN apple_identity i ON i.user = u.id AND i.id = (\(firstIdentity))"
    static let firstIdentity =
        "SELECT id FROM apple_identity WHERE user = u.id ORDER BY moved_to IS NOT NULL, id LIMIT 1"

    static let byID = "\(all) WHERE u.id = ?"

    /// By an identity.
    static let ofIdentity = "SELECT \(columns) FROM apple_identity i JOIN user u ON u.id = i.user"
    static let bySubject = "\(ofIdentity) WHERE i.team = ? AND i.subject = ?"

    init(_ row: Row) throws(StoreError) {
        var email: EmailAddress?
        if let address: String = try row["u.email"] {
            email = EmailAddress(
                address: address, isVerified: try row["u.email_verified"], isPrivate: try row["u.email_private"])
        }
        let groups: TextList = try row["u.groups"]
        self.init(
            id: try row["u.id"], state: try row["u.state"], externalID: try row["u.external_id"], groups: groups.items,
            name: PersonName(given: try row["u.given_name"], family: try row["u.family_name"]), email: email,
            emailForwarding: try row["u.email_forwarding"], realUserStatus: try row["u.real_user_status"],
            appleSubject: try row["i.subject"], credential: try CredentialStatus(row),
            otherCredentials: try CredentialStatus.others(try row["others"]), createdAt: try row["u.created_at"])
    }
}

/// A user with one of their identities.
struct Person {
    var user: User
    /// The identity's row.
    var identity: Int64
    /// Created by this transaction.
    var isNew = false
}

extension Person {
    init(_ row: Row) throws(StoreError) {
        self.init(user: try User(row), identity: try row["i.id"])
    }
}

extension Snapshot {
    /// The user with the identity they were created with, or have moved to since.
    func user(_ id: UserID) throws -> User? {
        try firstRow(User.byID, [id]).map { try User($0) }
    }

    /// The person with this identity.
    func person(team: TeamID, subject: AppleSubject) throws -> Person? {
        try firstRow(User.bySubject, [team, subject]).map { try Person($0) }
    }

    func owner(ofExternalID externalID: String) throws -> UserID? {
        try value("SELECT id FROM user WHERE external_id = ?", [externalID])
    }

    /// Apple's last reports about this person, through any identity.
    func lastTold(of user: UserID) throws -> LastTold {
        let row = try firstRow(
            """
            SELECT max(i.email_told_at) AS email, max(i.real_user_status_told_at) AS status,
            max(u.email_event_at) AS forwarding FROM user u JOIN apple_identity i ON i.user = u.id WHERE u.id = ?
            """, [user])
        guard let row else { return LastTold() }
        return LastTold(
            email: try row["email"], forwarding: try row["forwarding"], realUserStatus: try row["status"])
    }
}
