package import Coding

/// On whose behalf something is done, as the audit log tells it.
package enum AuditActor: Hashable, Sendable {
    /// Whoever sent a request to the visitors' listener: a person, a proxy, an app. `network` is the /24 or /48 of their
    /// address.
    case visitor(network: String?)
    /// Apple, by a notification.
    case apple
    /// An application, by the id of its API key.
    case application(APIKeyID)
    /// Whoever runs commands.
    case `operator`
    /// The server by itself: what is due, what Apple's daily answers end.
    case server

    /// Of what this task does; nil outside of requests.
    @TaskLocal package static var current: AuditActor?

    package var kind: Kind {
        switch self {
        case .visitor: .visitor
        case .apple: .apple
        case .application: .application
        case .operator: .operator
        case .server: .server
        }
    }

    package enum Kind: String, Sendable, CaseIterable {
        case visitor, apple, application, `operator`, server
    }
}

/// One line of the audit log. It names nobody: who it is about is a keyed hash, which only someone with the sealing key
/// and the person's id finds.
package struct AuditEntry: Hashable, Sendable {
    /// What happened.
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        /// By somebody Apple has vouched for; all other refusals are in the log alone.
        case signInRefused = "sign_in.refused"
        case sessionEnded = "session.ended"
        case userCreated = "user.created"
        case userApproved = "user.approved"
        case userEnabled = "user.enabled"
        case userDisabled = "user.disabled"
        /// Groups, or the application's own id.
        case userChanged = "user.changed"
        case userExported = "user.exported"
        case userDeleted = "user.deleted"
        /// Moved to another team, or joined with another account.
        case userTransferred = "user.transferred"
        case userLinked = "user.linked"
        case userUpgraded = "user.upgraded"
        /// The person took back their consent at Apple.
        case consentRevoked = "consent.revoked"
        case apiKeyCreated = "api_key.created"
        case apiKeyRevoked = "api_key.revoked"
        /// The keys Apple knows us by are others; `object` has their IDs.
        case appleKeyChanged = "apple_key.changed"
        /// Of the visitors' listener; `object` is the SHA-256 of the certificate.
        case certificateChanged = "certificate.changed"
        case sealingKeyChanged = "sealing_key.changed"
        case signingKeyMade = "signing_key.made"
        case signingKeyRemoved = "signing_key.removed"
        /// Who may open what behind the proxy; `object` is the SHA-256 of the rules' text.
        case accessRulesChanged = "access_rules.changed"
        case webhookSecretChanged = "webhook_secret.changed"
        /// `object` is the event, the endpoint without its path, or `dead letters`.
        case webhookRetried = "webhook.retried"
        /// `object` is the endpoint without its path.
        case webhookTested = "webhook.tested"
        /// A command that is none of the above; `object` is its name.
        case command = "command"
    }

    /// The place in the log; grows.
    package var sequence: Int64
    package var time: Timestamp
    package var kind: Kind
    package var actor: AuditActor.Kind
    /// 16 bytes; nil when it is about nobody.
    package var subject: [UInt8]?
    /// A reason code, or why a session ended.
    package var reason: String?
    /// The id of a key, the fingerprint of a certificate, the name of a command, or names of changed fields.
    package var object: String?
    /// Of the key the actor came with, when it is an application.
    package var apiKey: APIKeyID?
    /// The /24 or /48 the request came from.
    package var network: String?
    /// The user of the operating system who ran the command, when the actor is the operator.
    package var account: String?

    package init(
        sequence: Int64, time: Timestamp, kind: Kind, actor: AuditActor.Kind, subject: [UInt8]? = nil,
        reason: String? = nil, object: String? = nil, apiKey: APIKeyID? = nil, network: String? = nil,
        account: String? = nil
    ) {
        self.sequence = sequence
        self.time = time
        self.kind = kind
        self.actor = actor
        self.subject = subject
        self.reason = reason
        self.object = object
        self.apiKey = apiKey
        self.network = network
        self.account = account
    }
}

/// Which lines are wanted; what is nil or empty does not narrow it.
package struct AuditFilter: Hashable, Sendable {
    package var kinds: Set<AuditEntry.Kind>
    package var user: UserID?
    /// From this moment on.
    package var since: Timestamp?
    /// Before this moment.
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

/// Some lines, newest first, and where the next ones begin.
package struct AuditPage: Hashable, Sendable {
    package var items: [AuditEntry]
    /// Of the last line; nil when these are all.
    package var next: Int64?

    package init(items: [AuditEntry], next: Int64?) {
        self.items = items
        self.next = next
    }
}

/// Writes what no other write of the store tells by itself.
package protocol AuditLog: Sendable {
    /// Adds a line, durably, by the task's actor.
    func record(
        _ kind: AuditEntry.Kind, user: UserID?, object: String?, at now: Timestamp
    ) async throws(StoreError)
}
