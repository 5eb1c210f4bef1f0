package import Accounts
import Coding
package import Crypto
package import HTTP

/// `apple` in the configuration, as an operator writes it.
package struct AppleSettings: Sendable {
    package var servicesID = ""
    package var bundleIDs: [String] = []
    package var teamID = ""
    package var key = Key()
    /// The key that takes over, if there is one; different from the first.
    package var nextKey: Key?
    /// Any of `name` and `email`, in this order; may be empty.
    package var scopes: [String] = []
    /// At least one: aliases of one Apple. The first is the audience of our client secrets.
    package var issuers = ["https://appleid.apple.com"]
    /// The base of `/auth/authorize`, `/auth/token` and `/auth/keys`.
    package var endpoint = "https://appleid.apple.com"
    package var onAccountDeleted = AccountDeletionPolicy.erase
    /// Whether any of the addresses, or that of `apple.scriptURL`, is not Apple's; the database is stamped with it.
    package var isSimulated = false

    package init() {}

    package struct Key: Sendable {
        package var id = ""
        /// The text of the .p8 file: PKCS#8, P-256.
        package var pem = Secret("")
        /// The file it was read from; nil when the configuration contains it.
        package var file: String?

        package init() {}
    }

    package func signingKeys() throws(KeyError) -> ClientSecretKeys {
        ClientSecretKeys(
            current: try ClientSecretKey(key),
            next: try nextKey.map { key throws(KeyError) in try ClientSecretKey(key) })
    }
}

/// The part of the configuration that Apple's protocol needs, validated on creation. An empty client ID, team or key
/// must never exist: a verifier whose expected audience is empty accepts any token (GHSA-x6fw-778m-wr9v).
package struct AppleConfiguration: Sendable {
    package let servicesID: ClientID
    package let bundleIDs: [ClientID]
    package let team: TeamID
    package internal(set) var signingKeys: ClientSecretKeys
    package let issuers: [String]
    package let endpoint: AppleEndpoint
    /// The callback exactly as registered at Apple; from configuration, never from a request.
    package let redirectURI: String
    package let scopes: [String]
    /// `User-Agent` of every request: Apple's edge has blocked unusual ones.
    package let userAgent: String

    package static let defaultUserAgent = "Mozilla/5.0 (compatible; Bramley/1.0)"

    /// - Throws: every problem found, each with its configuration key.
    package init(
        _ settings: AppleSettings, redirectURI: String, userAgent: String = defaultUserAgent
    ) throws(AppleConfigurationError) {
        let (servicesID, bundleIDs, scopes) = (settings.servicesID, settings.bundleIDs, settings.scopes)
        let identifiers =
            [("apple.servicesID", servicesID), ("apple.teamID", settings.teamID), ("apple.keyID", settings.key.id)]
            + (settings.nextKey.map { [("apple.nextKeyID", $0.id)] } ?? []) + bundleIDs.map { ("apple.bundleIDs", $0) }
            + settings.issuers.map { ("apple.issuers", $0) }
        var problems = identifiers.filter { !isPlainToken($0.1) }.map {
            "\($0.0) must not be empty, and may contain only printable ASCII without spaces"
        }
        if bundleIDs.contains(servicesID) || Set(bundleIDs).count != bundleIDs.count {
            problems.append("apple.bundleIDs must not repeat an identifier, nor name apple.servicesID")
        }
        if settings.issuers.isEmpty { problems.append("apple.issuers must name at least one issuer") }
        let endpoint = AppleEndpoint(parsing: settings.endpoint)
        if endpoint == nil { problems.append("apple.endpoint must be an http or https URL without query") }
        if AppleEndpoint(parsing: redirectURI) == nil {
            problems.append("the redirect URI must be an http or https URL without query or fragment")
        }
        if Set(scopes).count != scopes.count || !Set(scopes).isSubset(of: ["name", "email"]) {
            problems.append("apple.scopes may contain name and email, each once")
        }
        if userAgent.isEmpty || !userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            problems.append("the User-Agent must not be empty, and may contain only printable ASCII")
        }
        let keys =
            [("apple.privateKeyFile", settings.key)]
            + (settings.nextKey.map { [("apple.nextPrivateKeyFile", $0)] } ?? [])
        for (name, key) in keys where (try? ClientSecretKey(key)) == nil {
            problems.append("\(name) must contain a P-256 private key in PEM, like Apple's .p8")
        }
        let signingKeys = try? settings.signingKeys()
        if let current = signingKeys?.current, let next = signingKeys?.next,
            current.id.isExactly(next.id) || current.holdsSameKey(as: next)
        {
            problems.append("apple.nextKeyID and apple.nextPrivateKeyFile must be of another key")
        }
        guard problems.isEmpty, let signingKeys, let endpoint else { throw AppleConfigurationError(problems: problems) }

        self.servicesID = ClientID(servicesID)
        self.bundleIDs = bundleIDs.map { ClientID($0) }
        self.team = TeamID(settings.teamID)
        self.signingKeys = signingKeys
        self.issuers = settings.issuers
        self.endpoint = endpoint
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.userAgent = userAgent
    }

    package var clientIDs: [ClientID] { [servicesID] + bundleIDs }
}

/// What is wrong with an `AppleConfiguration`: one line per problem, none empty, none containing a secret.
package struct AppleConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [String]
    package var description: String { problems.joined(separator: "; ") }
}

/// `apple.endpoint` in parts: the origin, and a path prefix if there is one.
package struct AppleEndpoint: Hashable, Sendable {
    /// Without a trailing slash.
    package let base: String
    private let root: ClientURL

    /// An absolute `http` or `https` URL with a host, no user, query or fragment; nil otherwise.
    package init?(parsing text: String) {
        guard isPlainToken(text), !text.contains(where: { "?#@\\\"<>".contains($0) }), var root = ClientURL(text) else {
            return nil
        }
        var base = text
        while base.hasSuffix("/") { base.removeLast() }
        while root.target.hasSuffix("/") { root.target.removeLast() }
        self.base = base
        self.root = root
    }

    package func url(_ path: String) -> ClientURL {
        ClientURL(isSecure: root.isSecure, host: root.host, port: root.port, target: root.target + path)
    }
}

/// Whether a value is non-empty printable ASCII without spaces, at most 2,048 bytes, as identifiers and URLs are.
func isPlainToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.count <= 2048 && text.isVisibleASCII }
