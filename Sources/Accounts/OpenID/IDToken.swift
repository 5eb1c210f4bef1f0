package import Coding
import Crypto
import Storage

/// Makes and reads ID tokens (OIDC Core §2): RS256, with the keys and the schedule of assertions.
///
/// An ID token cannot pass for an assertion, nor the reverse (RFC 8725 §3.11, §3.12): the types differ, and no client has
/// the name of an assertion's audience.
struct IDTokens: Sendable {
    /// How long one is valid, in seconds. A key stays published for an hour after it last signed.
    static let lifetime: Int64 = 1_800

    let issuer: String
    let keys: SigningKeys

    /// `isFirst`: from the code, so it carries the nonce (OIDC Core §12.2). `access` is issued with it, for `at_hash`.
    func make(
        of held: HeldGrant, access: GrantedAccessToken, isFirst: Bool, at now: Timestamp
    ) async throws(Failure) -> String {
        let grant = held.grant
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string(held.user.id.rawValue), "aud": .string(held.clientID),
            "iat": .integer(now.seconds), "exp": .integer(now.seconds + Self.lifetime),
            "auth_time": .integer(grant.authenticatedAt.seconds), "sid": .string(grant.session.rawValue),
            // OIDC Core §3.1.3.6: the left half of the digest.
            "at_hash": .string(Base64URL.encode(Array(access.hash.bytes.prefix(16)))),
        ]
        if isFirst, let nonce = grant.nonce { claims["nonce"] = .string(nonce) }
        for member in held.claims.members where member.name != "sub" { claims[member.name] = member.value }
        return try await sign(claims, type: "JWT", at: now)
    }

    /// - Parameter type: `typ` (RFC 8725 §3.11).
    func sign(_ claims: JSONObject, type: String, at now: Timestamp) async throws(Failure) -> String {
        let signer = try await keys.signer(.rs256, at: now)
        do {
            return try SignedJWT.sign(
                header: [("kid", .string(signer.keyID)), ("typ", .string(type))], claims: claims, key: signer.key)
        } catch {
            throw Failure(.unavailable, "a token cannot be signed: \(error)")
        }
    }

    /// The person and client of one of our ID tokens; nil for anything else. It may have expired (OIDC Core §3.1.2.1), but
    /// its key must still be published.
    func verify(hint: String, at now: Timestamp) async throws(Failure) -> (user: UserID, client: String)? {
        guard let jws = try? CompactJWS.parse(hint), let keyID = jws.keyID,
            (try? RS256.requireAlgorithm(of: jws)) != nil,
            let key = try await keys.publicKey(keyID, at: now), (try? RS256.verify(jws, with: key)) != nil,
            jws.header["typ"] == "JWT", let claims = try? JSONObject.claims(jws.payload),
            claims["iss"]?.stringValue?.isExactly(issuer) == true,
            let user = claims["sub"]?.stringValue.flatMap({ UserID(parsing: $0) }), claims.audience.count == 1,
            OpenIDClientID(named: claims.audience[0]) != nil
        else { return nil }
        return (user, claims.audience[0])
    }
}

extension HeldGrant {
    /// The claims about its person (OIDC Core §5.1, §5.4), as in userinfo: what is known and `accessScopes` allow.
    package var claims: JSONObject {
        let scopes = accessScopes
        var claims: JSONObject = ["sub": .string(user.id.rawValue)]
        if scopes.contains(.profile) {
            claims["name"] = user.name.full.map { .string($0) }
            claims["given_name"] = user.name.given.map { .string($0) }
            claims["family_name"] = user.name.family.map { .string($0) }
            claims["updated_at"] = .integer(userUpdatedAt.seconds)
        }
        if scopes.contains(.email), let email = user.email, email.isPlain {
            claims["email"] = .string(email.address)
            claims["email_verified"] = .bool(email.isVerified)
        }
        if scopes.contains(.groups) { claims["groups"] = .texts(user.memberships) }
        if scopes.contains(.apple) {
            claims["apple_sub"] = .string(user.appleSubject.rawValue)
            claims["is_private_email"] = user.email.map { .bool($0.isPrivate) }
        }
        return claims
    }
}
