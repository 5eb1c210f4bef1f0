package import Coding
package import Crypto
package import Storage

/// Makes logout tokens (Back-Channel Logout §2.4): RS256, with the keys of ID tokens.
///
/// One cannot pass for an ID token, nor the reverse: the types differ, and a logout token has `events` and no `nonce`.
extension OpenIDProvider: LogoutTokenSource {
    /// How long one is valid, in seconds. Each attempt to deliver makes its own.
    package static let logoutTokenLifetime: Int64 = 120

    package func logoutToken(
        for client: String, of user: UserID, session: SessionID?, at now: Timestamp
    ) async throws(StoreError) -> Secret {
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(client), "iat": .integer(now.seconds),
            "exp": .integer(now.seconds + Self.logoutTokenLifetime),
            "jti": .string(Base64URL.encode(random.bytes(16))), "sub": .string(user.rawValue),
            "events": .object(["http://schemas.openid.net/event/backchannel-logout": .object([:])]),
        ]
        // Without one, every session of the person at the client ends.
        if let session { claims["sid"] = .string(session.rawValue) }
        return Secret(try await tokens.sign(claims, type: "logout+jwt", at: now))
    }
}
