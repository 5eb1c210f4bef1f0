package import Accounts
import Coding
package import Crypto
package import HTTP

/// Everything Apple's protocol needs to know about this installation, validated on creation.
///
/// An empty client ID, team or key must never exist: a verifier whose expected audience is empty accepts any token
/// (GHSA-x6fw-778m-wr9v).
package struct AppleConfiguration: Sendable {
    /// `apple.servicesID`: the client of the web flow.
    package let servicesID: ClientID
    /// `apple.bundleIDs`: the clients of the apps.
    package let bundleIDs: [ClientID]
    /// `apple.teamID`.
    package let team: TeamID
    /// The one or two keys that sign client secrets, each with its `kid`.
    package let signingKeys: ClientSecretKeys
    /// `apple.issuers`, at least one: aliases of one Apple. The first is the audience of our client secrets.
    package let issuers: [String]
    /// `apple.endpoint`: the base of `/auth/authorize`, `/auth/token` and `/auth/keys`.
    package let endpoint: AppleEndpoint
    /// The callback exactly as registered at Apple; from configuration, never from a request.
    package let redirectURI: String
    /// `apple.scopes`: any of `name` and `email`; may be empty.
    package let scopes: [String]
    /// `User-Agent` of every request: Apple's edge has blocked unusual ones.
    package let userAgent: String

    package static let defaultIssuer = "https://appleid.apple.com"
    package static let defaultEndpoint = "https://appleid.apple.com"
    package static let defaultUserAgent = "Mozilla/5.0 (compatible; Bramley/1.0)"

    /// - Parameters:
    ///   - privateKeyPEM: the text of the .p8 file: PKCS#8, P-256.
    ///   - next: the key that takes over, if there is one.
    /// - Throws: every problem found, each with its configuration key.
    package init(
        servicesID: String, bundleIDs: [String] = [], teamID: String, keyID: String, privateKeyPEM: Secret,
        next: (keyID: String, privateKeyPEM: Secret)? = nil, issuers: [String] = [defaultIssuer],
        endpoint: String = defaultEndpoint, redirectURI: String,
        scopes: [String], userAgent: String = defaultUserAgent
    ) throws(AppleConfigurationError) {
        let identifiers =
            [("apple.servicesID", servicesID), ("apple.teamID", teamID), ("apple.keyID", keyID)]
            + (next.map { [("apple.nextKeyID", $0.keyID)] } ?? []) + bundleIDs.map { ("apple.bundleIDs", $0) }
            + issuers.map { ("apple.issuers", $0) }
        var problems = identifiers.filter { !isPlainToken($0.1) }.map {
            "\($0.0) must not be empty and holds only printable ASCII without spaces"
        }
        if bundleIDs.contains(servicesID) || Set(bundleIDs).count != bundleIDs.count {
            problems.append("apple.bundleIDs must not repeat an identifier, nor name apple.servicesID")
        }
        if issuers.isEmpty { problems.append("apple.issuers must name at least one issuer") }
        let parsedEndpoint = AppleEndpoint(parsing: endpoint)
        if parsedEndpoint == nil { problems.append("apple.endpoint must be an http or https URL without query") }
        if AppleEndpoint(parsing: redirectURI) == nil {
            problems.append("the redirect URI must be an http or https URL without query or fragment")
        }
        if Set(scopes).count != scopes.count || !Set(scopes).isSubset(of: ["name", "email"]) {
            problems.append("apple.scopes may hold name and email, each once")
        }
        if userAgent.isEmpty || !userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            problems.append("the User-Agent must not be empty and holds only printable ASCII")
        }
        let current = Self.key(keyID, privateKeyPEM, "apple.privateKeyFile", &problems)
        let following = next.flatMap { Self.key($0.keyID, $0.privateKeyPEM, "apple.nextPrivateKeyFile", &problems) }
        if let current, let following, current.id.isExactly(following.id) || current.holdsSameKey(as: following) {
            problems.append("apple.nextKeyID and apple.nextPrivateKeyFile must be another key's")
        }
        guard problems.isEmpty, let current, let parsedEndpoint else {
            throw AppleConfigurationError(problems: problems)
        }

        self.servicesID = ClientID(servicesID)
        self.bundleIDs = bundleIDs.map { ClientID($0) }
        self.team = TeamID(teamID)
        self.signingKeys = ClientSecretKeys(current: current, next: following)
        self.issuers = issuers
        self.endpoint = parsedEndpoint
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.userAgent = userAgent
    }

    private static func key(
        _ id: String, _ pem: Secret, _ name: String, _ problems: inout [String]
    ) -> ClientSecretKey? {
        do throws(KeyError) {
            return ClientSecretKey(id: id, key: try P256PrivateKey(pem: pem.reveal()))
        } catch {
            problems.append("\(name) must hold a P-256 private key in PEM, as Apple's .p8 does")
            return nil
        }
    }

    /// Every client ID that a notification may be addressed to.
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

    /// The URL of one of Apple's paths, such as `/auth/token`.
    package func url(_ path: String) -> ClientURL {
        ClientURL(isSecure: root.isSecure, host: root.host, port: root.port, target: root.target + path)
    }
}

/// Whether a value is non-empty printable ASCII without spaces, at most 2,048 bytes, as identifiers and URLs are.
func isPlainToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 2048 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
}
