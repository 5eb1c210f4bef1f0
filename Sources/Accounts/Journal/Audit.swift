package import Coding
import Storage

/// Who caused an action, as recorded in the audit log.
package enum AuditActor: Hashable, Sendable {
    /// Somebody who sent a request to the visitors' listener: a person, a proxy or an app. `network` is the /24 or /48
    /// of their address.
    case visitor(network: String?)
    /// Apple, by a notification.
    case apple
    /// An application, by the id of its API key.
    case application(APIKeyID)
    /// Somebody who runs commands.
    case `operator`
    /// Somebody at the operator's page, by their user id.
    case operatorPage(UserID, network: String?)
    /// The server itself: scheduled work, and what Apple's daily answers end.
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

/// One line of the audit log. It names nobody: the person it is about is a keyed hash, which can be found only with the
/// sealing key and the person's id.
package struct AuditEntry: Hashable, Sendable {
    /// What happened.
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        /// Refusal of somebody whom Apple has verified; all other refusals are only in the log.
        case signInRefused = "sign_in.refused"
        case sessionEnded = "session.ended"
        case userCreated = "user.created"
        case userApproved = "user.approved"
        case userEnabled = "user.enabled"
        case userDisabled = "user.disabled"
        /// Groups, or the application's own id.
        case userChanged = "user.changed"
        case userExported = "user.exported"
        /// An operator looked at a person's page; without a person, at a list of people.
        case userViewed = "user.viewed"
        case userDeleted = "user.deleted"
        /// Moved to another team, or joined with another account.
        case userTransferred = "user.transferred"
        case userLinked = "user.linked"
        case userUpgraded = "user.upgraded"
        /// The person withdrew consent at Apple.
        case consentRevoked = "consent.revoked"
        case apiKeyCreated = "api_key.created"
        case apiKeyRevoked = "api_key.revoked"
        /// Programs that sign people in by OpenID Connect; `object` is the client's ID.
        case openIDClientAdded = "openid_client.added"
        case openIDClientChanged = "openid_client.changed"
        case openIDClientDeleted = "openid_client.deleted"
        /// Our keys at Apple changed; `object` has their IDs.
        case appleKeyChanged = "apple_key.changed"
        /// Of the visitors' listener; `object` is the SHA-256 of the certificate.
        case certificateChanged = "certificate.changed"
        case sealingKeyChanged = "sealing_key.changed"
        case signingKeyMade = "signing_key.made"
        case signingKeyRemoved = "signing_key.removed"
        /// The rules for what may be opened behind the proxy; `object` is the SHA-256 of their text.
        case accessRulesChanged = "access_rules.changed"
        case webhookSecretChanged = "webhook_secret.changed"
        /// `object` is the event, the endpoint without its path, or `dead letters`.
        case webhookRetried = "webhook.retried"
        /// `object` is the endpoint without its path.
        case webhookTested = "webhook.tested"
        /// A command not listed above; `object` is its name.
        case command = "command"
    }

    /// The position in the log; increases.
    package var sequence: Int64
    package var time: Timestamp
    package var kind: Kind
    package var actor: AuditActor.Kind
    /// 16 bytes; nil when the line is about nobody.
    package var subject: [UInt8]?
    /// A reason code, or why a session ended.
    package var reason: String?
    /// A key's id, a certificate's fingerprint, a command's name, or names of changed fields.
    package var object: String?
    /// The key the actor used, when it is an application.
    package var apiKey: APIKeyID?
    /// The /24 or /48 the request came from.
    package var network: String?
    /// Of an operator: the operating system user who ran the command, or the user id of who changed it at the page.
    package var account: String?
}

/// Selects lines; nil and empty values select all.
package struct AuditFilter: Hashable, Sendable {
    package var kinds: Set<AuditEntry.Kind>
    package var user: UserID?
    /// From this time on.
    package var since: Timestamp?
    /// Before this time.
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

/// A page of lines, newest first, and where the next page begins.
package struct AuditPage: Hashable, Sendable {
    package var items: [AuditEntry]
    /// The sequence of the last line; nil when there are no more.
    package var next: Int64?
}
