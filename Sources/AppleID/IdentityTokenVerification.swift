import Accounts
import Coding

/// How an identity token arrived, which determines what it must contain.
enum IdentityTokenChannel: Sendable {
    /// With the code, through the browser or an app: `nonce` and `c_hash` are required.
    case front(nonce: String, authorizationCode: String)
    /// From the token endpoint: the nonce, as Apple must repeat it, equal if present; `at_hash` right if present. With a
    /// nil nonce, any: for a refresh token, long after the sign-in, and for an app's code redeemed without a token.
    case back(nonce: String?, accessToken: String?)
}

// Apple's identity tokens (OpenID Connect Core §3.1.3.7 and §3.3.2.11). Cheap claims are checked first, unverified: a
// token that is not for us costs no RSA and no fetch. No option skips a check.
extension AppleIdentityProvider {
    func verify(
        _ text: String, for clientIDs: [ClientID], _ channel: IdentityTokenChannel
    ) async throws(Failure) -> IdentityClaims {
        let token = try UnverifiedAppleToken.parse(text)
        let claims = token.claims
        let issuer = try ClaimRules.validateIssuer(claims, issuers: configuration.issuers)
        let audience = try ClaimRules.validateAudience(claims, allowed: clientIDs.map(\.rawValue))
        let issuedAt = try ClaimRules.validateTimes(claims, at: clock.now())
        let subject = try ClaimRules.identifier("sub", in: claims)
        // A notification is signed by the same keys and must never sign anybody in (RFC 8725 §3.11).
        guard claims["events"] == nil else { throw .refused("events: a notification is not an identity token") }
        try validateBinding(claims, channel)

        let verified = try await keys.verifySignature(of: token)
        var identity = IdentityClaims(
            issuer: issuer, clientID: ClientID(audience), subject: AppleSubject(subject), issuedAt: issuedAt)
        identity.email = EmailClaims.read(verified)
        let states: [Int64: RealUserStatus] = [0: .unsupported, 1: .unknown, 2: .likelyReal]
        identity.realUserStatus = verified["real_user_status"]?.int64Value.flatMap { states[$0] }
        identity.transferSubject = ClaimRules.optionalIdentifier("transfer_sub", in: verified)
        identity.organizationID = verified["org_id"]?.stringValue.flatMap {
            UserLimits.accepts(organizationID: $0) ? $0 : nil
        }
        return identity
    }

    /// Checks that the token belongs to this attempt and to its code or access token. `nonce_supported` waives nothing.
    private func validateBinding(_ claims: JSONObject, _ channel: IdentityTokenChannel) throws(Failure) {
        switch channel {
        case .front(let nonce, let code):
            try require(claims, "nonce", toBe: nonce)
            try require(claims, "c_hash", toBe: ClaimRules.halfHash(of: code))
        case .back(let nonce, let accessToken):
            if let nonce, claims["nonce"] != nil { try require(claims, "nonce", toBe: nonce) }
            guard claims["at_hash"] != nil else { return }
            guard let accessToken else { throw .refused("at_hash came without an access token") }
            try require(claims, "at_hash", toBe: ClaimRules.halfHash(of: accessToken))
        }
    }

    private func require(_ claims: JSONObject, _ name: String, toBe expected: String) throws(Failure) {
        guard let value = claims[name] else { throw .refused("\(name) is missing") }
        // An empty expected value would match an empty claim.
        guard let text = value.stringValue, !expected.isEmpty, ClaimRules.isSame(text, expected) else {
            throw .refused("\(name) is wrong")
        }
    }
}
