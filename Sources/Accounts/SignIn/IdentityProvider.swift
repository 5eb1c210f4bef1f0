package import Coding
import Crypto

/// Apple, as the domain sees it. `AppleID` implements it; this module knows neither HTTP nor JOSE.
///
/// The types enforce the order of calls: `CallbackForm` (parsed, untrusted) → `ValidatedCallback` (state opened,
/// browser matched; only `SignIn` makes one) → `IdentityClaims` (front channel verified) → `VerifiedIdentity` (code
/// exchanged, both tokens agree).
package protocol IdentityProvider: Sendable {
    /// The Services ID: the client of the web flow.
    var servicesID: ClientID { get }
    /// The bundle IDs: the clients of the apps.
    var bundleIDs: [ClientID] { get }
    var team: TeamID { get }

    /// Apple's authorize endpoint with all parameters, percent-encoded, for a 303.
    func authorizeURL(state: String, nonce: String) -> String

    /// Parses the body of `POST /apple/callback`. Refuses duplicate or oversized fields.
    func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm

    /// The subject in an unverified identity token; nil without one.
    func claimedSubject(of identityToken: String) -> AppleSubject?

    /// A name as an app sent it, made safe for display; empty when unusable.
    func displayName(given: String?, family: String?) -> PersonName

    /// Verifies the identity token beside the code: signature, issuer, audience, times, `nonce`, `c_hash`.
    func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims

    /// Redeems the code and compares the returned token with `claims`: same issuer, audience and sub; nonce and `at_hash`
    /// valid when present. Sent once; never retried.
    func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity

    /// Redeems the code of a person who is already signed in, without an identity token to compare: verifies the returned
    /// one, and compares its `nonce` when one is given. Sent once; never retried.
    func redeem(authorizationCode: String, nonce: String?, clientID: ClientID) async throws(Failure) -> VerifiedIdentity

    /// Parses and verifies the body of `POST /apple/notifications`.
    /// - Throws: `.notificationRefused` for anything but Apple's notifications; `.keysUnavailable` when a later delivery
    ///   may succeed.
    func verifyNotification(_ body: [UInt8]) async throws(Failure) -> VerifiedNotification

    /// Asks whether Apple accepts a person's token, for this person and client. Sent once; never retried.
    func check(_ token: RefreshToken, subject: AppleSubject, clientID: ClientID) async throws(TokenFailure)

    /// Ends a person's authorization. Returns once Apple has acknowledged, which it also does for unknown tokens.
    func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenFailure)

    // Moving people between teams (TN3159), as any client of the configured team.

    /// Obtains an access token, so that a wrong key is detected before the first request about a person.
    func prepareTransfer(as clientID: ClientID) async throws(MigrationFailure)

    /// For the sending team: the identifier by which `recipient` may request this person. Always the same.
    func transferSubject(
        of subject: AppleSubject, to recipient: TeamID, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferSubject

    /// For the receiving team: who the person is there.
    func identity(
        of transferSubject: TransferSubject, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferredIdentity
}

/// The fields of Apple's form_post: parsed and bounded, not yet trusted.
package struct CallbackForm: Sendable {
    package var state: String?
    package var code: String?
    package var identityToken: String?
    /// The name in `user`, made safe for display; nil when absent or unusable. Never the address.
    package var name: PersonName?
    /// The raw `user` field, kept only for the re-post page.
    package var rawUser: String?
    /// `error`, such as `user_cancelled_authorize`.
    package var error: String?
    /// Our own flag: this post was sent again from our origin.
    package var isRepost: Bool
}

extension CallbackForm {
    /// Without Apple's fields.
    package init(isRepost: Bool) { self.isRepost = isRepost }
}

/// The claims of one verified identity token.
package struct IdentityClaims: Hashable, Sendable {
    package var issuer: String
    package var clientID: ClientID
    package var subject: AppleSubject
    package var issuedAt: Timestamp
    package var email: EmailAddress?
    package var realUserStatus: RealUserStatus?
    package var transferSubject: String?
    /// `org_id`, of Work & School accounts.
    package var organizationID: String?
}

extension IdentityClaims {
    /// Without the claims that a token may omit.
    package init(issuer: String, clientID: ClientID, subject: AppleSubject, issuedAt: Timestamp) {
        self.issuer = issuer
        self.clientID = clientID
        self.subject = subject
        self.issuedAt = issuedAt
    }
}

/// A person whom Apple verified on both channels, with the refresh token of this sign-in.
package struct VerifiedIdentity: Sendable {
    package var claims: IdentityClaims
    package var refreshToken: RefreshToken?

    package init(claims: IdentityClaims, refreshToken: RefreshToken?) {
        self.claims = claims
        self.refreshToken = refreshToken
    }
}

/// Apple's refresh token in plaintext.
package struct RefreshToken: Redacted {
    package let value: String
    package init(_ value: String) { self.value = value }

    /// - Parameter bytes: the opened seal; nil when it is not a token.
    init?(opened bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else { return nil }
        value = text
    }
}

/// A notification for a client of ours, or for an app that is not configured.
package enum VerifiedNotification: Hashable, Sendable {
    case ours(AppleNotification)
    /// The client ID: at most 255 printable ASCII characters.
    case ofOtherApp(String)
}

/// A verified server-to-server notification.
package struct AppleNotification: Hashable, Sendable {
    /// `type` of the event. `account-delete` and `account-deleted` are both `.accountDeleted`.
    package enum Kind: String, Sendable {
        case emailDisabled = "email-disabled"
        case emailEnabled = "email-enabled"
        case consentRevoked = "consent-revoked"
        case accountDeleted = "account-deleted"
        case unknown
    }

    /// `jti`, unique for each delivery.
    package var id: String
    /// `type` as Apple wrote it.
    package var type: String
    package var clientID: ClientID
    package var subject: AppleSubject?
    package var eventTime: Timestamp
    /// For email events.
    package var email: EmailAddress?
    /// The verified claims as compact JSON.
    package var payload: String

    /// Without a subject or an address.
    package init(id: String, type: String, clientID: ClientID, eventTime: Timestamp, payload: String) {
        self.id = id
        self.type = type
        self.clientID = clientID
        self.eventTime = eventTime
        self.payload = payload
    }

    package var kind: Kind { Kind(type: type) }
}

/// Why Apple did not check or revoke a token. The texts are for the operator and contain no token and no name.
package enum TokenFailure: Error, Hashable, Sendable {
    /// Apple no longer knows the token: revoked, deleted, or ended by a new password.
    case dead(String)
    /// Apple says the token belongs to another client or redirect URI: our mistake, and the consent is still valid.
    case mismatch(String)
    /// Apple refused our client credentials: key, team and client do not match.
    case clientRefused(String)
    /// Apple accepted the token, but returned an identity token that does not verify for this person and client.
    case unverified(String)
    /// Apple gave no useful answer.
    /// - `mayHaveActed`: the request may have been processed. Then a check counts as the day's.
    /// - `isThrottled`: 429. `retryAfter`: in milliseconds.
    case unavailable(String, mayHaveActed: Bool, isThrottled: Bool = false, retryAfter: Int64? = nil)

    /// A short, stable code for the log.
    package var reason: String {
        switch self {
        case .dead: "token_dead"
        case .mismatch: "mismatch"
        case .clientRefused: "client_refused"
        case .unverified: "identity_token"
        case .unavailable: "provider_unavailable"
        }
    }

    package var detail: String {
        switch self {
        case .dead(let text), .mismatch(let text), .clientRefused(let text), .unverified(let text),
            .unavailable(let text, _, _, _):
            text
        }
    }
}
