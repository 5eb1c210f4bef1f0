import Coding

/// A person's consent for a team, from the first one until it is revoked.
struct Consent: Sendable {
    enum Address: String, Sendable { case real, relay, none }

    struct Key: Hashable, Sendable {
        var person: String
        var team: String
    }

    var address: Address
    /// As typed on the consent page; sent only once.
    var givenName: String
    var familyName: String
    /// Milliseconds since 1970.
    var since: Int64
    var isForwarding = true
}

/// One sign-in: what its code, its tokens and their renewals have in common.
struct Grant: Sendable {
    var person: String
    var client: String
    var team: String
    /// As in the authorize request; nil for an app.
    var redirectURI: String?
    var scopes: Set<String>
    var nonce: String?
    var challenge: CodeChallenge?
    /// Seconds since 1970.
    var authenticatedAt: Int64
    var isNative: Bool
    var isFirst: Bool
}

/// RFC 7636, which Apple's own script uses though Apple does not document it.
struct CodeChallenge: Sendable {
    enum Method: String, Sendable {
        case plain
        case s256 = "S256"
    }

    var value: String
    var method: Method

    func accepts(_ verifier: String) -> Bool {
        switch method {
        case .plain: verifier == value
        case .s256: Base64URL.encode(OpenSSLHash.sha256(verifier)) == value
        }
    }
}

struct AuthorizationCode: Sendable {
    /// Five minutes, as at Apple; in milliseconds.
    static let lifetime: Int64 = 300_000

    var grant: Grant
    var issuedAt: Int64
    var isUsed = false
    var isRevoked = false
}

struct StoredToken: Sendable {
    enum Kind: Sendable, Equatable { case refresh, access, migration }

    /// One hour, in seconds.
    static let accessLifetime: Int64 = 3600

    var kind: Kind
    var team: String
    /// Nil for a migration token, which belongs to the team.
    var grant: Grant?
    var issuedAt: Int64
    var isRevoked = false
}

/// A person whom one team transfers to another (60 days).
struct Transfer: Sendable {
    static let lifetime: Int64 = 60 * 86_400_000

    var person: String
    var sender: String
    var recipient: String
    var startedAt: Int64
}
