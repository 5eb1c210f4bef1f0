package import Coding
package import Crypto
import Storage

/// The `client_id` of an application: 1 to 64 letters, digits, dots, hyphens and underscores.
package struct OpenIDClientID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(unchecked rawValue: String) { self.rawValue = rawValue }

    package init?(parsing text: String) {
        let isPlain = text.utf8.allSatisfy { Base64URL.isCharacter($0) || $0 == UInt8(ascii: ".") }
        guard isPlain, (1...64).contains(text.utf8.count) else { return nil }
        rawValue = text
    }

    package var description: String { rawValue }
}

/// What a client may request: claims about a person (OIDC Core §5.4, §11), or what a service lets it do.
package struct OpenIDScope: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    private init(_ rawValue: String) { self.rawValue = rawValue }

    /// A scope token (RFC 6749 §3.3) of at most `limit` bytes.
    package init?(rawValue: String) {
        let isPlain = rawValue.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard isPlain, (1...Self.limit).contains(rawValue.utf8.count) else { return nil }
        self.rawValue = rawValue
    }

    package static let limit = 64

    package static let openid = OpenIDScope("openid")
    package static let profile = OpenIDScope("profile")
    package static let email = OpenIDScope("email")
    package static let groups = OpenIDScope("groups")
    /// `apple_sub` and `is_private_email`.
    package static let apple = OpenIDScope("apple")
    /// Refresh tokens, which outlive the session.
    package static let offlineAccess = OpenIDScope("offline_access")

    /// Those that are no service's, in the order of the documents.
    package static let identity: [OpenIDScope] = [.openid, .profile, .email, .groups, .apple, .offlineAccess]

    /// Those that tell something about the person beside the ID.
    package static let claims: [OpenIDScope] = [.profile, .email, .groups, .apple]

    /// The scopes of a client registered without any.
    package static let usual: [OpenIDScope] = [.openid, .profile, .email, .groups]

    package var isIdentity: Bool { Self.identity.contains(self) }

    /// Each once: those of identity, then the services' by name.
    package static func ordered(_ scopes: some Sequence<OpenIDScope>) -> [OpenIDScope] {
        let all = Set(scopes)
        return identity.filter(all.contains)
            + all.filter { !$0.isIdentity }.sorted { $0.rawValue < $1.rawValue }
    }

    /// The scope tokens of a space-separated list, ordered (OIDC Core §3.1.2.1).
    package static func parse(_ text: String) -> [OpenIDScope] {
        ordered(text.split(separator: " ").compactMap { OpenIDScope(rawValue: String($0)) })
    }

    /// Space-separated (RFC 6749 §3.3).
    package static func text(_ scopes: [OpenIDScope]) -> String { scopes.map(\.rawValue).joined(separator: " ") }
}

/// A client's secret, `bcs_…`, which is shown once, by `reveal()`.
package struct OpenIDClientSecret: SecretToken {
    package static var prefix: String { "bcs_" }
    package let text: String
    /// - Parameter text: as a request has it.
    package init(unchecked text: String) { self.text = text }
}

/// An application that signs people in through Bramley (RFC 6749 §2), as registered.
package struct OpenIDClient: Hashable, Identifiable, Sendable {
    /// Hashes of its secrets: two during a rotation.
    package struct Secrets: Hashable, Sendable {
        package var current: Digest256
        package var former: Digest256?
        /// When the former one ends.
        package var formerUntil: Timestamp?

        /// In constant time.
        func accept(_ secret: OpenIDClientSecret, at now: Timestamp) -> Bool {
            let hash = secret.hash
            let isCurrent = constantTimeEquals(hash, current)
            guard let former, let formerUntil, now < formerUntil else { return isCurrent }
            return constantTimeEquals(hash, former) || isCurrent
        }
    }

    package var id: OpenIDClientID
    package var name: String
    /// Nil for a public client: one that cannot keep a secret (RFC 6749 §2.1).
    package var secrets: Secrets?
    package var redirectURIs: [String]
    /// `post_logout_redirect_uris`.
    package var logoutURIs: [String] = []
    /// `backchannel_logout_uri` (Back-Channel Logout §2.2).
    package var backChannelLogoutURI: String?
    /// Whether that address was registered through the API, and must therefore be public (`nameBackChannel`).
    package var backChannelPublicOnly = false
    package var scopes = OpenIDScope.usual
    /// The groups whose members may use it; empty admits everyone.
    package var groups: [String] = []
    /// Whether it must send a code challenge. Public clients must anyway.
    package var requiresPKCE = false
    /// Whether people are asked before it gets anything: a third-party application.
    package var needsConsent = false
    /// Whether devices may use it, which show a code (RFC 8628).
    package var allowsDevice = false
    /// The address of its metadata document, which is its `client_id`; nil for a registered client.
    package var document: String?
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// When it last received a token, to the minute; nil if never.
    package var lastUsedAt: Timestamp?
    /// When it last sent a wrong secret, to the minute.
    package var lastRefusedAt: Timestamp?

    package var isPublic: Bool { secrets == nil }

    /// Whether it is a third-party application, which gets only what people have allowed.
    package var isForeign: Bool { needsConsent || document != nil }

    /// Whether it may have this scope, if there is such a one: a document cannot know a server's services.
    package func mayRequest(_ scope: OpenIDScope) -> Bool {
        Self.mayRequest(scope, of: scopes, document: document)
    }

    static func mayRequest(_ scope: OpenIDScope, of scopes: [OpenIDScope], document: String?) -> Bool {
        scopes.contains(scope) || document != nil && !scope.isIdentity
    }

    /// Whether a person in these groups may use it.
    package func admits(groups: [String]) -> Bool { Self.admits(self.groups, groups: groups) }

    /// - Parameter admitted: a client's groups; empty admits everyone.
    package static func admits(_ admitted: [String], groups: [String]) -> Bool {
        admitted.isEmpty || admitted.contains { own in groups.contains { $0.isExactly(own) } }
    }
}

extension OpenIDClient {
    package static let fields: [Field<OpenIDClient>] = [
        Field("clientID") { .code($0.id.rawValue) }, Field("name") { .text($0.name) },
        Field("public") { .flag($0.isPublic) }, Field("redirectURIs") { .texts($0.redirectURIs) },
        Field("logoutURIs") { .texts($0.logoutURIs) },
        Field("backChannelLogoutURI") { .code($0.backChannelLogoutURI) },
        Field("backChannelPublicOnly") { .flag($0.backChannelPublicOnly) },
        Field("scopes") { .texts($0.scopes.map(\.rawValue)) }, Field("groups") { .texts($0.groups) },
        Field("requirePKCE") { .flag($0.requiresPKCE) }, Field("consent") { .flag($0.needsConsent) },
        Field("device") { .flag($0.allowsDevice) },
        Field("document") { .code($0.document) },
        Field("formerSecretUntil") { .time($0.secrets?.formerUntil) }, Field("createdAt") { .time($0.createdAt) },
        Field("updatedAt") { .time($0.updatedAt) }, Field("lastUsedAt") { .time($0.lastUsedAt) },
        Field("lastRefusedAt") { .time($0.lastRefusedAt) },
    ]

    fileprivate static let columns = """
        id, name, secret_hash, former_secret_hash, former_secret_until, redirect_uris, logout_uris,
        back_channel_logout_uri, back_channel_public_only, scopes, groups, requires_pkce, needs_consent, document,
        allows_device, created_at, updated_at, last_used_at, last_refused_at
        """

    fileprivate init(_ row: Row) throws(StoreError) {
        let secret: Digest256? = try row["secret_hash"]
        let (former, formerUntil): (Digest256?, Timestamp?) = (
            try row["former_secret_hash"], try row["former_secret_until"]
        )
        id = try row["id"]
        name = try row["name"]
        secrets = secret.map { Secrets(current: $0, former: former, formerUntil: formerUntil) }
        redirectURIs = try row.texts("redirect_uris")
        logoutURIs = try row.texts("logout_uris")
        backChannelLogoutURI = try row["back_channel_logout_uri"]
        backChannelPublicOnly = try row["back_channel_public_only"]
        scopes = try row.scopes("scopes")
        groups = try row.texts("groups")
        requiresPKCE = try row["requires_pkce"]
        needsConsent = try row["needs_consent"]
        document = try row["document"]
        allowsDevice = try row["allows_device"]
        createdAt = try row["created_at"]
        updatedAt = try row["updated_at"]
        lastUsedAt = try row["last_used_at"]
        lastRefusedAt = try row["last_refused_at"]
    }
}

extension Snapshot {
    func openIDClient(_ id: OpenIDClientID) throws -> OpenIDClient? {
        try firstRow("SELECT \(OpenIDClient.columns) FROM openid_client WHERE id = ?", [id])
            .map { try OpenIDClient($0) }
    }

    func openIDClients() throws -> [OpenIDClient] {
        try rows("SELECT \(OpenIDClient.columns) FROM openid_client ORDER BY id").map { try OpenIDClient($0) }
    }
}

extension Transaction {
    /// Deletes the client and its grants.
    func delete(_ client: OpenIDClientID) throws {
        let named = try openIDClient(client)?.clientID ?? client.rawValue
        try run("DELETE FROM openid_grant WHERE client = ?", [client])
        try run("DELETE FROM openid_participant WHERE client = ?", [client])
        try run("DELETE FROM openid_consent WHERE client = ?", [client])
        try run("DELETE FROM openid_device WHERE client = ?", [client])
        try deleteLogoutEndpoint(of: client)
        try run("DELETE FROM openid_client WHERE id = ?", [client])
        try audit(.openIDClientDeleted, object: named)
    }

    func save(_ client: OpenIDClient, isNew: Bool) throws {
        if !isNew { try endUnasked(client) }
        try run(
            """
            INSERT INTO openid_client (\(OpenIDClient.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
            ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, secret_hash = excluded.secret_hash,
            former_secret_hash = excluded.former_secret_hash, former_secret_until = excluded.former_secret_until,
            redirect_uris = excluded.redirect_uris, logout_uris = excluded.logout_uris,
            back_channel_logout_uri = excluded.back_channel_logout_uri,
            back_channel_public_only = excluded.back_channel_public_only, scopes = excluded.scopes,
            groups = excluded.groups, requires_pkce = excluded.requires_pkce, needs_consent = excluded.needs_consent,
            allows_device = excluded.allows_device, updated_at = excluded.updated_at
            """,
            [
                client.id, client.name, client.secrets?.current, client.secrets?.former, client.secrets?.formerUntil,
                TextList(client.redirectURIs), TextList(client.logoutURIs), client.backChannelLogoutURI,
                client.backChannelPublicOnly, TextList(client.scopes), TextList(client.groups), client.requiresPKCE,
                client.needsConsent, client.document, client.allowsDevice, client.createdAt, client.updatedAt,
                client.lastUsedAt, client.lastRefusedAt,
            ])
        try setLogoutEndpoint(of: client)
        try audit(isNew ? .openIDClientAdded : .openIDClientChanged, object: client.clientID)
    }

    /// Writes what is different.
    func replace(_ found: [OpenIDClient], with wanted: [OpenIDClient]) throws {
        for client in found where !wanted.contains(where: { $0.id == client.id }) { try delete(client.id) }
        for client in wanted where !found.contains(client) {
            try save(client, isNew: !found.contains { $0.id == client.id })
        }
    }
}

extension Database {
    /// All clients, by id.
    package func openIDClients() async throws(Failure) -> [OpenIDClient] {
        try await read { snapshot in try snapshot.openIDClients() }
    }

    /// Read for each request, so that a change takes effect at once in every process.
    package func openIDClient(_ id: OpenIDClientID) async throws(Failure) -> OpenIDClient? {
        try await read { snapshot in try snapshot.openIDClient(id) }
    }

    /// Writes `lastUsedAt`, or `lastRefusedAt`; callers call it at most once per client and minute.
    package func touchOpenIDClient(_ id: OpenIDClientID, isRefused: Bool, at now: Timestamp) async throws(Failure) {
        let column = isRefused ? "last_refused_at" : "last_used_at"
        try await attemptWrite(at: now) { transaction in
            transaction.claim(.client(id))
            try transaction.touch("openid_client", id, column)
        }
    }
}
