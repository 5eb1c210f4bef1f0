package import Coding
import Crypto
import Storage

/// Who caused an action, for the audit log.
package enum AuditActor: Hashable, Sendable {
    /// A visitor, proxy or app at the visitors' listener. `network` is the /24 or /48 of their address.
    case visitor(network: String?)
    case apple
    /// An application, by the id of its API key.
    case application(APIKeyID)
    /// By a command.
    case `operator`
    /// At the operator's page, by user id.
    case operatorPage(UserID, network: String?)
    /// The server itself, in scheduled work.
    case server

    /// The actor of the current task; nil outside of requests.
    @TaskLocal package static var current: AuditActor?

    package var kind: Kind {
        switch self {
        case .visitor: .visitor
        case .apple: .apple
        case .application: .application
        case .operator, .operatorPage: .operator
        case .server: .server
        }
    }

    package enum Kind: String, Sendable, CaseIterable {
        case visitor, apple, application, `operator`, server
    }
}

/// One line of the audit log. `subject` is a keyed hash, found only with the sealing key and the person's id.
package struct AuditEntry: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        /// For a person whom Apple has verified; all other refusals are only in the log.
        case signInRefused = "sign_in.refused"
        case sessionEnded = "session.ended"
        case userCreated = "user.created"
        case userApproved = "user.approved"
        case userEnabled = "user.enabled"
        case userDisabled = "user.disabled"
        /// Groups, or the application's own id.
        case userChanged = "user.changed"
        case userExported = "user.exported"
        /// An operator viewed a person's page; without a person, a list of people.
        case userViewed = "user.viewed"
        case userDeleted = "user.deleted"
        /// Moved to another team, or merged with another account.
        case userTransferred = "user.transferred"
        case userLinked = "user.linked"
        case userUpgraded = "user.upgraded"
        case consentRevoked = "consent.revoked"
        /// `object` is the client's ID.
        case accessGiven = "access.given"
        case accessEnded = "access.ended"
        case apiKeyCreated = "api_key.created"
        case apiKeyRevoked = "api_key.revoked"
        /// `object` is the client's ID.
        case openIDClientAdded = "openid_client.added"
        case openIDClientChanged = "openid_client.changed"
        case openIDClientDeleted = "openid_client.deleted"
        /// `object` is the service's ID.
        case serviceAdded = "openid_service.added"
        case serviceChanged = "openid_service.changed"
        case serviceDeleted = "openid_service.deleted"
        /// Our keys at Apple changed; `object` has their IDs.
        case appleKeyChanged = "apple_key.changed"
        /// At the visitors' listener; `object` is the SHA-256 of the certificate.
        case certificateChanged = "certificate.changed"
        case sealingKeyChanged = "sealing_key.changed"
        case signingKeyMade = "signing_key.made"
        case signingKeyRemoved = "signing_key.removed"
        /// The access rules for the proxy; `object` is the SHA-256 of their text.
        case accessRulesChanged = "access_rules.changed"
        case webhookSecretChanged = "webhook_secret.changed"
        /// `object` is the event, the endpoint without its path, or `dead letters`.
        case webhookRetried = "webhook.retried"
        /// `object` is the endpoint without its path.
        case webhookTested = "webhook.tested"
        /// A command not listed above; `object` is its name.
        case command
    }

    /// The position in the log; increases.
    package var sequence: Int64
    package var time: Timestamp
    package var kind: Kind
    package var actor: AuditActor.Kind
    /// 16 bytes; nil when the line concerns no person.
    package var subject: [UInt8]?
    /// A reason code, or why a session ended.
    package var reason: String?
    /// A key's id, a certificate's fingerprint, a command's name, or names of changed fields.
    package var object: String?
    /// The key the actor used, when it is an application.
    package var apiKey: APIKeyID?
    /// The /24 or /48 the request came from.
    package var network: String?
    /// For an operator: the operating system user who ran the command, or the user id at the operator's page.
    package var account: String?
    /// Whom an operator's action was about, unless their account is deleted.
    package var person: UserID?

    /// Those that name their person when an operator did them.
    static let namingPeople: Set<Kind> = [
        .userApproved, .userEnabled, .userDisabled, .userChanged, .userViewed, .userExported, .sessionEnded,
        .accessEnded,
    ]

    package static let fields: [Field<AuditEntry>] = [
        Field("time") { .time($0.time) }, Field("type") { .code($0.kind.rawValue) },
        Field("actor") { .text($0.actor.rawValue) }, Field("account") { .text($0.account) },
        Field("apiKey") { .text($0.apiKey?.rawValue) }, Field("network") { .text($0.network) },
        Field("subject") { .text($0.subject.map(Hexadecimal.encode)) }, Field("reason") { .text($0.reason) },
        Field("object") { .text($0.object) }, Field("person") { .text($0.person?.rawValue) },
    ]
}

/// Selects lines; nil and empty values select all.
package struct AuditFilter: Hashable, Sendable {
    package var kinds: Set<AuditEntry.Kind>
    package var user: UserID?
    package var since: Timestamp?
    /// Exclusive.
    package var until: Timestamp?

    package init(
        kinds: Set<AuditEntry.Kind> = [], user: UserID? = nil, since: Timestamp? = nil, until: Timestamp? = nil
    ) {
        self.kinds = kinds
        self.user = user
        self.since = since
        self.until = until
    }
}

// How an audit line identifies its person: HMAC-SHA-256 of the user id, cut to 16 bytes, under a key derived from the
// sealing key for this purpose only. Neither the user ids nor the database without the key reveal it.
extension StoreContext {
    private static let auditPurpose = SealingPurpose.other("audit-subject")

    /// Under the current key, for writing.
    fileprivate func auditSubject(of user: UserID) -> [UInt8] {
        Array(keyring.keyedHash(of: Array(user.rawValue.utf8), purpose: Self.auditPurpose).prefix(16))
    }

    /// Under each key, for finding.
    func auditSubjects(of user: UserID) -> [[UInt8]] {
        keyring.keyedHashes(of: Array(user.rawValue.utf8), purpose: Self.auditPurpose).map { Array($0.prefix(16)) }
    }
}

// Audit lines are written in the transaction of their event.
extension Transaction {
    func audit(_ kind: AuditEntry.Kind, user: UserID? = nil, reason: String? = nil, object: String? = nil) throws {
        var (apiKey, network, account): (APIKeyID?, String?, String?)
        switch actor {
        case .application(let key): apiKey = key
        case .visitor(let from): network = from
        case .operator: account = context.account
        case .operatorPage(let user, let from): (account, network) = (user.rawValue, from)
        case .apple, .server: break
        }
        let person = actor.kind == .operator && AuditEntry.namingPeople.contains(kind) ? user : nil
        // A page that was read before a deletion may be recorded after it.
        try run(
            """
            INSERT INTO audit (time, type, actor, subject, reason, object, api_key, network, account, person)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT id FROM user WHERE id = ?))
            """,
            [
                now, kind, actor.kind, user.map(context.auditSubject(of:)), reason, object, apiKey, network, account,
                person,
            ])
    }

    /// Lines about somebody whose account is deleted name them no longer.
    func forgetAudited(_ user: UserID) throws {
        try run("UPDATE audit SET person = NULL WHERE person = ?", [user])
    }

    /// The line for a journal entry, if it matters for security.
    func audit(_ kind: JournalEntry.Kind, user: UserID, cause: SessionEndCause?, fields: [String]) throws {
        switch kind {
        case .userCreated: try audit(.userCreated, user: user)
        case .sessionCreated: try audit(.signIn, user: user)
        // A session that expired or was replaced by a new sign-in does not matter for security.
        case .sessionEnded where cause == .expired || cause == .replaced: return
        case .sessionEnded: try audit(.sessionEnded, user: user, reason: cause?.rawValue)
        case .consentRevoked: try audit(.consentRevoked, user: user)
        case .accountDeleted: try audit(.userDeleted, user: user, reason: cause?.rawValue)
        case .userTransferred: try audit(.userTransferred, user: user)
        case .accountLinked: try audit(.userLinked, user: user)
        case .accountUpgraded: try audit(.userUpgraded, user: user)
        case .userUpdated:
            // The fields that affect access. The state has its own line.
            let access = ["groups", "externalID", "organizationID", "identities", "credentialState"]
            let changed = fields.filter(access.contains)
            guard !changed.isEmpty else { return }
            try audit(.userChanged, user: user, object: changed.joined(separator: ","))
        // With the application: `endAccess`.
        case .accessEnded: return
        case .emailDisabled, .emailEnabled, .userPending: return
        }
    }

    func audit(_ before: User.State, to after: User.State, of user: UserID, reason: String?) throws {
        switch (before, after) {
        case _ where before == after: return
        case (_, .disabled): try audit(.userDisabled, user: user, reason: reason)
        case (.pending, .active): try audit(.userApproved, user: user, reason: reason)
        case (.disabled, .active): try audit(.userEnabled, user: user, reason: reason)
        case (_, .active), (_, .pending): try audit(.userChanged, user: user, object: "state")
        }
    }
}

extension Database {
    /// Adds a line for the task's actor when `state`, stored as given, differs from the last call of this kind, by this
    /// or an earlier process; none at the very first call.
    package func recordChange(
        _ kind: AuditEntry.Kind, to state: [UInt8], object: String?, at now: Timestamp
    ) async throws(Failure) {
        try await write(at: now) { transaction in
            let key = "audited-\(kind.rawValue)"
            let before = try transaction.stored(key)
            guard before != state else { return }
            try transaction.store(key, state)
            if before != nil { try transaction.audit(kind, object: object) }
        }
    }

    /// Durably adds a line for the task's actor.
    package func record(
        _ kind: AuditEntry.Kind, user: UserID?, object: String?, at now: Timestamp
    ) async throws(Failure) {
        try await write(at: now) { transaction in
            try transaction.audit(kind, user: user, object: object)
        }
    }
}
