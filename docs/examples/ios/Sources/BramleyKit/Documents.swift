import Foundation

/// The server's nonce for one request to Apple.
public struct Challenge: Decodable, Sendable {
    public let nonce: String
}

/// A sign-in for the server: Apple's answer and its challenge.
public struct SignInRequest: Codable, Sendable {
    public struct Name: Codable, Hashable, Sendable {
        public var givenName: String?
        public var familyName: String?

        public init(givenName: String?, familyName: String?) {
            self.givenName = givenName
            self.familyName = familyName
        }
    }

    public var identityToken: String
    public var authorizationCode: String
    public var nonce: String
    /// Apple gives it only once: always send it when you have it.
    public var user: Name?

    public init(identityToken: String, authorizationCode: String, nonce: String, user: Name? = nil) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.nonce = nonce
        self.user = user
    }

    /// The same bytes for the same request, so that the server recognises a retry.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(self)
    }
}

/// A link that your backend has created for the person, to connect Apple with their account: docs/apps/linking.md. Treat
/// `ticket` as a password; it expires after ten minutes.
public struct AccountLink: Codable, Sendable {
    public var id: String
    public var ticket: String
    public var nonce: String

    public init(id: String, ticket: String, nonce: String) {
        self.id = id
        self.ticket = ticket
        self.nonce = nonce
    }
}

/// Apple's answer for a link. If the server's answer is lost, the same bytes are sent again.
struct LinkProof: Codable, Sendable {
    var identityToken: String
    var authorizationCode: String
    /// Apple gives it only once: always send it when you have it.
    var user: SignInRequest.Name?
}

/// The signed-in person.
public struct Account: Codable, Hashable, Sendable {
    public struct Name: Codable, Hashable, Sendable {
        public var given: String?
        public var family: String?
    }

    /// The server's id of the person. Store this one.
    public var id: String
    /// Apple's id, for `credentialState(forUserID:)`.
    public var appleSubject: String
    public var email: String?
    public var name: Name
    /// `authorized`, `revoked`, `notFound` or `transferred`.
    public var credentialState: String
}

/// A completed sign-in. Treat `token` as a password: it belongs in the Keychain and in `Authorization`, nowhere else.
public struct SignedIn: Codable, Sendable {
    public var token: String
    public var user: Account
}

/// Apple's answer was right, but the server does not admit the person: tell them. Once they are admitted, they sign in
/// with a new challenge.
public enum SignInRefusal: String, Error, Sendable {
    /// The account waits for the operator's approval.
    case pending = "user_pending"
    case disabled = "user_disabled"
    /// The server admits no new people.
    case closed = "sign_up_closed"
}

/// The server's refusal (RFC 9457).
public struct Problem: Error, Decodable, Sendable {
    private enum CodingKeys: CodingKey { case status, code, detail }

    public var status: Int
    /// Stable; docs/reference/failures.md lists all codes.
    public var code: String
    public var detail: String?
    /// `Retry-After`: seconds until the same request may work.
    public internal(set) var retryAfter: TimeInterval?

    /// The same request may work later.
    public var isTemporary: Bool { [429, 502, 503].contains(status) }
}
