package import Coding
import Storage

/// A person: at Apple identified by (team, sub), here by `UserID`.
package struct User: Hashable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        case active, pending, disabled
    }

    package var id: UserID
    package var state: State
    /// The application's own id of this person; unique or absent.
    package var externalID: String?
    package var groups: [String]
    package var name: PersonName
    package var email: EmailAddress?
    /// Whether the relay forwards mail, according to Apple; nil when Apple has not said.
    package var emailForwarding: Bool?
    package var realUserStatus: RealUserStatus?
    /// Apple's id of the organization that manages the account (Work & School).
    package var organizationID: String?
    package var appleSubject: AppleSubject
    /// Apple's last report about the identity that `appleSubject` names.
    package var identityCredential: CredentialStatus
    /// The same for each other identity of the person, except those that moved on.
    package var otherCredentials: [CredentialStatus]
    package var createdAt: Timestamp

    /// The groups by which people are admitted: the operator's, and `org:ID` for the organization.
    /// A build without organizations may have stored groups of such names.
    package var memberships: [String] {
        groups.filter { !UserLimits.isOrganization($0) } + (organizationID.map { [UserLimits.organization + $0] } ?? [])
    }

    /// Whether Apple still has the person's consent, through any identity, and since when.
    package var credential: CredentialStatus { .ofPerson(identityCredential, otherCredentials) }
    package var credentialState: CredentialState { credential.state }

    /// - Parameter credential: of the identity; nil means authorized by a sign-in at `createdAt`.
    package init(
        id: UserID, state: State, externalID: String? = nil, groups: [String] = [], name: PersonName = PersonName(),
        email: EmailAddress? = nil, emailForwarding: Bool? = nil, realUserStatus: RealUserStatus? = nil,
        organizationID: String? = nil, appleSubject: AppleSubject, credential: CredentialStatus? = nil,
        otherCredentials: [CredentialStatus] = [],
        createdAt: Timestamp
    ) {
        self.id = id
        self.state = state
        self.externalID = externalID
        self.groups = groups
        self.name = name
        self.email = email
        self.emailForwarding = emailForwarding
        self.realUserStatus = realUserStatus
        self.organizationID = organizationID
        self.appleSubject = appleSubject
        self.identityCredential =
            credential ?? CredentialStatus(state: .authorized, changedAt: createdAt, cause: .signIn)
        self.otherCredentials = otherCredentials
        self.createdAt = createdAt
    }
}

/// A name as given at first consent, through the browser: unsigned, for display only.
package struct PersonName: Hashable, Sendable {
    package var given: String?
    package var family: String?

    package init(given: String? = nil, family: String? = nil) {
        self.given = given
        self.family = family
    }

    package var isEmpty: Bool { given == nil && family == nil }

    /// Given name first, in the order Apple asks for; nil when there is neither.
    package var full: String? {
        let parts = [given, family].compactMap { $0 }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}

/// An address from a verified identity token, with Apple's flags.
package struct EmailAddress: Hashable, Sendable {
    package var address: String
    package var isVerified: Bool
    /// Whether it is a private relay address, according to the flag, never the domain.
    package var isPrivate: Bool

    package init(address: String, isVerified: Bool, isPrivate: Bool) {
        self.address = address
        self.isVerified = isVerified
        self.isPrivate = isPrivate
    }

    /// Published domains of Apple's private relay. Only for cases without Apple's flag: Apple may add others at any time.
    package static let relayDomains: Set<String> = ["privaterelay.appleid.com", "private.icloud.com"]

    package static func isAtKnownRelay(_ address: String) -> Bool {
        guard let at = address.lastIndex(of: "@") else { return false }
        return relayDomains.contains(address[address.index(after: at)...].lowercased())
    }

    /// Whether it is ASCII, so safe in header fields and protocols (RFC 5322): applications may fold other scripts.
    package var isPlain: Bool { !address.isEmpty && address.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    /// The address if Apple verified it and it is plain; otherwise nil.
    package var forApplications: String? { isVerified && isPlain ? address : nil }
}

/// `real_user_status`: native apps only, first time only.
package enum RealUserStatus: String, Sendable, CaseIterable {
    case unsupported, unknown, likelyReal
}

extension User {
    /// The columns of a user `u` joined with one of their identities `i`.
    static let columns =
        Accounts.columns(["u.id"] + read.map { "u.\($0.column)" } + ["u.created_at", "i.id", "i.subject"])
        + ", \(CredentialStatus.columns), \(CredentialStatus.others) AS others"
    /// The others are only compared, in the database (UserIndex.swift).
    private static let read = stored.filter { !$0.column.hasPrefix("indexed_") }

    /// Users with the identity they were created with or moved to. For few: PostgreSQL underestimates the join.
    static let all =
        "SELECT \(columns) FROM user u JOIN apple_identity i ON i.user = u.id AND i.id = (\(firstIdentity))"
    static let firstIdentity =
        "SELECT id FROM apple_identity WHERE user = u.id ORDER BY moved_to IS NOT NULL, id LIMIT 1"

    static let byID = "\(all) WHERE u.id = ?"

    static let ofIdentity = "SELECT \(columns) FROM apple_identity i JOIN user u ON u.id = i.user"
    static let bySubject = "\(ofIdentity) WHERE i.team = ? AND i.subject = ?"

    /// The columns that can change, each with the value to write.
    private static let stored: [(column: String, value: @Sendable (User) -> (any ColumnBindable)?)] = [
        ("state", { $0.state }), ("external_id", { $0.externalID }), ("groups", { TextList($0.groups) }),
        ("given_name", { $0.name.given }), ("family_name", { $0.name.family }), ("email", { $0.email?.address }),
        ("email_verified", { $0.email?.isVerified ?? false }), ("email_private", { $0.email?.isPrivate ?? false }),
        ("email_forwarding", { $0.emailForwarding }), ("real_user_status", { $0.realUserStatus }),
        ("organization_id", { $0.organizationID }),
        ("indexed_name", { $0.name.indexed }), ("indexed_groups", { TextList($0.groups) }),
    ]

    fileprivate static let insertion = """
        INSERT INTO user (id, created_at, updated_at, \(stored.map(\.column).joined(separator: ", ")))
        VALUES (?, ?, ?, \(stored.map { _ in "?" }.joined(separator: ", ")))
        """
    fileprivate static let change =
        "UPDATE user SET updated_at = ?, \(stored.map { "\($0.column) = ?" }.joined(separator: ", ")) WHERE id = ?"

    fileprivate var storedValues: [(any ColumnBindable)?] { Self.stored.map { $0.value(self) } }

    /// In the order of the columns, which is faster.
    init(_ row: Row) throws(StoreError) {
        id = try row["u.id"]
        state = try row["u.state"]
        externalID = try row["u.external_id"]
        groups = try row.texts("u.groups")
        name = PersonName(given: try row["u.given_name"], family: try row["u.family_name"])
        if let address: String = try row["u.email"] {
            email = EmailAddress(
                address: address, isVerified: try row["u.email_verified"], isPrivate: try row["u.email_private"])
        }
        emailForwarding = try row["u.email_forwarding"]
        realUserStatus = try row["u.real_user_status"]
        organizationID = try row["u.organization_id"]
        createdAt = try row["u.created_at"]
        appleSubject = try row["i.subject"]
        identityCredential = try CredentialStatus(row)
        otherCredentials = try CredentialStatus.others(try row["others"])
    }
}

/// A user with one of their identities.
struct Person {
    var user: User
    /// The identity's row.
    var identity: Int64
    var isNew = false
}

extension Person {
    init(_ row: Row) throws(StoreError) { self.init(user: try User(row), identity: try row["i.id"]) }
}

extension Snapshot {
    /// The user with the identity they were created with, or have moved to since.
    func user(_ id: UserID) throws -> User? { try firstRow(User.byID, [id]).map { try User($0) } }

    func person(team: TeamID, subject: AppleSubject) throws -> Person? {
        try firstRow(User.bySubject, [team, subject]).map { try Person($0) }
    }

    func owner(ofExternalID externalID: String) throws -> UserID? {
        try value("SELECT id FROM user WHERE external_id = ?", [externalID])
    }

    /// Through any identity.
    func lastReports(of user: UserID) throws -> LastReports {
        let row = try firstRow(
            """
            SELECT max(i.email_told_at) AS email, max(i.real_user_status_told_at) AS status,
            max(i.last_sign_in_issued_at) AS token, max(u.email_event_at) AS forwarding
            FROM user u JOIN apple_identity i ON i.user = u.id WHERE u.id = ?
            """, [user])
        guard let row else { return LastReports() }
        return LastReports(
            email: try row["email"], forwarding: try row["forwarding"], realUserStatus: try row["status"],
            token: try row["token"])
    }
}

extension Transaction {
    /// Adds a new user, without an identity.
    func insert(_ user: User) throws {
        try run(User.insertion, StatementArguments([user.id, user.createdAt, now] + user.storedValues))
        try index(user)
    }

    /// Adds the identity that `user.appleSubject` names, with its credential, and returns its row.
    func insertIdentity(
        of user: User, team: TeamID, transferSubject: String? = nil, lastSignIn: Timestamp,
        _ reports: LastReports = LastReports()
    ) throws -> Int64 {
        let (row, credential) = (context.rowNumbers.next(context.identifiers, at: now), user.identityCredential)
        try run(
            """
            INSERT INTO apple_identity (id, user, team, subject, transfer_subject, credential_state,
            credential_changed_at, credential_cause, last_sign_in_issued_at, email_told_at, real_user_status_told_at,
            created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                row, user.id, team, user.appleSubject, transferSubject, credential.state, credential.changedAt,
                credential.cause, lastSignIn, reports.email, reports.realUserStatus, now,
            ])
        return row
    }

    func update(_ user: User) throws {
        try run(User.change, StatementArguments([now] + user.storedValues + [user.id]))
        try indexAgain(user)
    }

    /// Records that Apple has confirmed the user's current address.
    func recordReport(email time: Timestamp, ofIdentity identity: Int64) throws {
        try run(
            "UPDATE apple_identity SET email_told_at = max(coalesce(email_told_at, ?1), ?1) WHERE id = ?2",
            [time, identity])
    }

    /// Sets the state, with its event; ends every session of a disabled user.
    func setState(_ state: User.State, of user: User, cause: SessionEndCause) throws {
        guard user.state != state else { return }
        try run("UPDATE user SET state = ?, updated_at = ? WHERE id = ?", [state, now, user.id])
        try record(.userUpdated, user: user.id, fields: ["state"])
        try audit(user.state, to: state, of: user.id, reason: cause.rawValue)
        invalidate(.user(user.id))
        if state == .disabled { try endSessions(of: user.id, cause: cause) }
    }

    /// Deletes the name of an unfinished sign-in.
    /// - Parameter end: keeps a later name, which belongs to a later consent: Apple will not send it again.
    func forgetFirstConsent(of subject: AppleSubject, team: TeamID, before end: Timestamp? = nil) throws {
        try run(
            "DELETE FROM first_consent WHERE team = ?1 AND subject = ?2 AND (CAST(?3 AS BIGINT) IS NULL OR saved_at < ?3)",
            [team, subject, end])
    }

    /// Erases the data about a person outside their own rows, from before `end` or, after a deletion here, all of it:
    /// the name of an unfinished sign-in, links and notifications. A hash still records that Apple ended their consent.
    func eraseTraces(of identity: LeavingIdentity, before end: Timestamp? = nil) throws {
        let (subject, team) = (identity.subject, identity.team)
        try keepEnd(of: identity)
        try forgetFirstConsent(of: subject, team: team, before: end)
        try forgetLinks(of: subject, team: team, before: end)
        try run("UPDATE notification SET payload = NULL, subject = NULL WHERE subject = ?", [subject])
    }
}

extension User {
    /// For the operator and backends, in exports and commands.
    package static let fields: [Field<User>] =
        [
            Field("id") { .code($0.id.rawValue) }, Field("state") { .text($0.state.rawValue) },
            Field("externalID") { .text($0.externalID) }, Field("appleSubject") { .code($0.appleSubject.rawValue) },
            Field("email") { .text($0.email?.address) },
            Field("emailVerified") { .flag($0.email?.isVerified, otherwise: false) },
            Field("isPrivateEmail") { .flag($0.email?.isPrivate, otherwise: false) },
            Field("emailForwarding") { .flag($0.emailForwarding) },
            Field("name") { .parts([("given", $0.name.given), ("family", $0.name.family)]) },
            Field("realUserStatus") { .text($0.realUserStatus?.rawValue) },
            Field("organizationID") { .text($0.organizationID) },
        ] + CredentialStatus.fields.map { field in field.of { $0.credential } } + [
            Field("groups") { .texts($0.groups) }, Field("createdAt") { .time($0.createdAt) },
        ]

    /// For pages and apps that ask who is signed in, who is always active.
    package static let fieldsOfActive: [Field<User>] = fields.filter { $0.name != "state" }

    /// The fields in which two versions of a user differ, by bytes. `credentialState` includes time and cause.
    package func changedFields(comparedWith other: User) -> [String] {
        Self.fields.filter { field in
            field.name != "credentialChangedAt" && field.name != "credentialCause"
                && JSONWriter.encode(self, [field]) != JSONWriter.encode(other, [field])
        }.map(\.name)
    }
}
