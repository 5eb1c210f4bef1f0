package import Coding
package import Crypto
import Storage

/// A person's permission for a client, given by signing in, and its code, access and refresh tokens, which end with it.
package struct Grant: Hashable, Sendable {
    /// 48 bits of milliseconds and 80 random bits. Part of every token, besides its own 256 random bits.
    package struct ID: Hashable, Sendable {
        package static let count = 16
        package let bytes: [UInt8]

        package init?(bytes: [UInt8]) {
            guard bytes.count == Self.count else { return nil }
            self.bytes = bytes
        }

        static func make(at now: Timestamp, random: any RandomSource) -> ID {
            let time = [UInt8](bigEndian: now.milliseconds).suffix(6)
            return ID(unchecked: time + random.bytes(count - 6))
        }

        private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

        /// When the code was granted.
        var time: Timestamp { Timestamp(milliseconds: Int64(bigEndianBytes: [0, 0] + bytes.prefix(6))) }
    }

    package struct Token: Hashable, Sendable {
        package var hash: Digest256
        package var expiresAt: Timestamp
    }

    /// An access token, and what it is for: the grant's scopes, or fewer (RFC 6749 §6).
    package struct Access: Hashable, Sendable {
        package var hash: Digest256
        package var expiresAt: Timestamp
        package var scopes: [OpenIDScope]
        /// The service that may accept it (RFC 8707); nil for userinfo.
        package var service: String?
    }

    /// The refresh token, which each use replaces (RFC 9700 §4.14.2).
    package struct Refresh: Hashable, Sendable {
        package var hash: Digest256
        /// The previous token, and when it was used; nil before the first use.
        package var former: Digest256?
        package var usedAt: Timestamp?
    }

    package var id: ID
    package var client: OpenIDClientID
    package var user: UserID
    /// The session in which it was granted; `sid`.
    package var session: SessionID
    package var redirectURI: String
    package var scopes: [OpenIDScope]
    /// The services it is for, as registered (RFC 8707); empty for userinfo alone.
    package var services: [String] = []
    package var nonce: String?
    /// The S256 challenge (RFC 7636 §4.2).
    package var challenge: String?
    /// When the person signed in: `auth_time`.
    package var authenticatedAt: Timestamp
    package var code: Token
    package var isCodeUsed: Bool = false
    package var access: Access?
    /// The access token before a refresh, for calls in flight.
    package var formerAccess: Access?
    package var refresh: Refresh?
    /// When all of it has expired: the code, the access token, or an unused refresh token.
    package var expiresAt: Timestamp

    /// When the access token was issued: at the earliest, for one that ends with its session, or was replaced.
    package var accessIssuedAt: Timestamp {
        max(access?.expiresAt.adding(seconds: -OpenIDProvider.accessLifetime) ?? id.time, id.time)
    }
}

/// A grant with its person and its client, read together.
package struct HeldGrant: Hashable, Sendable {
    package var grant: Grant
    package var user: User
    package var userUpdatedAt: Timestamp
    /// When its session ends unless it is used before; nil when it has ended.
    package var sessionEnd: Timestamp?
    /// The scopes its client may request now, and the groups that may use it.
    package var clientScopes: [OpenIDScope]
    package var clientGroups: [String]
    /// The address of its client's metadata document.
    package var clientDocument: String?
    /// The services it is for, as they are now, without those that are gone; empty for userinfo alone.
    package var services: [Service] = []

    /// Its client's `client_id`.
    package var clientID: String { clientDocument ?? grant.client.rawValue }

    /// Whether the person may sign in and use the client; all tokens end with that right.
    var isAdmitted: Bool { user.state == .active && OpenIDClient.admits(clientGroups, groups: user.memberships) }

    /// Whether it has a refresh token that its client may still use.
    var mayRefresh: Bool { grant.refresh != nil && clientScopes.contains(.offlineAccess) }

    /// Whether its tokens may still be used: a refresh token outlives its session (OIDC Core §11).
    var isLive: Bool { isAdmitted && (sessionEnd != nil || mayRefresh) }

    /// The scopes that the client may still request, besides claims those of this service.
    func allowed(_ scopes: [OpenIDScope], at service: Service?) -> [OpenIDScope] {
        scopes.filter { scope in
            OpenIDClient.mayRequest(scope, of: clientScopes, document: clientDocument)
                && (scope.isIdentity || service?.has(scope) == true)
        }
    }

    /// The service of its access token; nil also for one that is gone.
    package var accessService: Service? {
        grant.access?.service.flatMap { uri in services.first { $0.uri.isExactly(uri) } }
    }

    /// The service that a request's `resource` names (RFC 8707 §2.2), or the only one; nil for userinfo.
    func service(named resource: String?) throws(Failure) -> Service? {
        if grant.services.isEmpty, resource == nil { return nil }
        let found = resource.map { resource in services.filter { $0.isNamed(resource) } } ?? services
        guard found.count == 1 else {
            throw .oauth(.invalidTarget, "resource must name one service of the authorization request")
        }
        return found[0]
    }
}

/// A grant's secret: its kind's prefix, and base64url of the grant's id and 256 random bits. Stored only as SHA-256.
package protocol GrantToken: Redacted {
    static var prefix: String { get }
    var text: String { get }
    var grant: Grant.ID { get }
    init(unchecked text: String, grant: Grant.ID)
}

extension GrantToken {
    static func make(_ grant: Grant.ID, secret: [UInt8]) -> Self {
        Self(unchecked: prefix + Base64URL.encode(grant.bytes + secret), grant: grant)
    }

    package init?(parsing text: String) {
        guard text.utf8.count == Self.prefix.utf8.count + 64, text.utf8.starts(with: Self.prefix.utf8),
            let bytes = Base64URL.decode(String(text.dropFirst(Self.prefix.count))),
            let id = Grant.ID(bytes: Array(bytes.prefix(Grant.ID.count)))
        else { return nil }
        self.init(unchecked: text, grant: id)
    }

    package var hash: Digest256 { SHA256.hash(utf8: text) }

    /// The text itself, for its client. Review every call.
    package func reveal() -> String { text }
}

/// An authorization code (RFC 6749 §4.1.2), `boc_…`.
package struct GrantedCode: GrantToken {
    package static var prefix: String { "boc_" }
    package let text: String
    package let grant: Grant.ID
    package init(unchecked text: String, grant: Grant.ID) { (self.text, self.grant) = (text, grant) }
}

/// An access token for userinfo and introspection, `boa_…`.
package struct GrantedAccessToken: GrantToken {
    package static var prefix: String { "boa_" }
    package let text: String
    package let grant: Grant.ID
    package init(unchecked text: String, grant: Grant.ID) { (self.text, self.grant) = (text, grant) }
}

/// A refresh token, `bor_…`. Of its 256 bits, the second half is a keyed tag of the rest: only an issued token may end a
/// grant.
package struct GrantedRefreshToken: GrantToken {
    package static var prefix: String { "bor_" }
    /// Bytes of each half.
    static let half = 16
    package let text: String
    package let grant: Grant.ID
    package init(unchecked text: String, grant: Grant.ID) { (self.text, self.grant) = (text, grant) }

    /// - Parameter seed: `half` bytes.
    static func issue(_ grant: Grant.ID, seed: [UInt8], with keyring: SealingKeyring) -> GrantedRefreshToken {
        make(grant, secret: seed + (tags(grant.bytes + seed, keyring).first ?? []))
    }

    /// Whether it was issued here, under a key that is still in the ring.
    func isIssued(by keyring: SealingKeyring) -> Bool {
        guard let bytes = Base64URL.decode(String(text.dropFirst(Self.prefix.count))) else { return false }
        let tag = Array(bytes.suffix(Self.half))
        return Self.tags(Array(bytes.dropLast(Self.half)), keyring).contains { constantTimeEquals($0, tag) }
    }

    /// Under each key of the ring, the current one first.
    private static func tags(_ bytes: [UInt8], _ keyring: SealingKeyring) -> [[UInt8]] {
        keyring.keyedHashes(of: bytes, purpose: .other("openid-refresh-token/issued")).map { Array($0.prefix(half)) }
    }
}

package enum GrantChange: Hashable, Sendable {
    case keep
    case replace(Grant)
    case end
}
