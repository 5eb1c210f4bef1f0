package import Accounts
import Coding
package import Crypto

/// Makes assertions about who is signed in, for backends that trust the key rather than the network: JWTs of at most
/// five minutes, each for one configured audience and signed with its algorithm.
///
/// An assertion cannot be mistaken for another token, nor another token for one (RFC 8725 §3.11, §3.12): it has its own
/// type, the issuer is this server, the audience is neither a client ID nor Apple, and the keys sign only assertions.
package struct AssertionIssuer: Sendable {
    /// `typ` of the header.
    static let type = "bramley-assertion+jwt"

    private let issuer: String
    /// At least one; the first is the default.
    let audiences: [AssertionAudience]
    private let limits: SessionLimits
    private let random: any RandomSource
    let keys: SigningKeys

    /// - Returns: nil when `assertion.audience` is not configured.
    package init?(configuration: WebConfiguration, keys: SigningKeys?, random: any RandomSource) {
        guard !configuration.assertionAudiences.isEmpty, let keys else { return nil }
        issuer = configuration.publicURL.absolute
        audiences = configuration.assertionAudiences
        limits = configuration.sessionLimits
        self.random = random
        self.keys = keys
    }

    /// The audience with exactly this name; nil when it is not configured.
    func audience(named name: String) -> AssertionAudience? { audiences.first { $0.name.isExactly(name) } }

    /// For one of `audiences` and an active user, read after the request began: the compact JWS and its end. Nil when
    /// the session ends within the second.
    func assertion(
        about signedIn: SignedIn, for audience: AssertionAudience, at now: Timestamp
    ) async throws(Failure) -> (token: Secret, expiresAt: Timestamp)? {
        try sign(signedIn, for: audience, at: now, with: try await keys.signer(audience.algorithm, at: now))
    }

    /// - Parameter signer: a key of the audience's algorithm.
    func sign(
        _ signedIn: SignedIn, for audience: AssertionAudience, at now: Timestamp, with signer: SigningKeys.Signer
    ) throws(Failure) -> (token: Secret, expiresAt: Timestamp)? {
        // Never past the session's own end; whole seconds, rounded down.
        let end = min(now.adding(seconds: SigningKeySchedule.assertionLifetime), limits.end(of: signedIn.session))
        let expiresAt = Timestamp(seconds: end.seconds)
        guard now < expiresAt else { return nil }
        do {
            let token = try SignedJWT.sign(
                header: [("kid", .string(signer.keyID)), ("typ", .string(Self.type))],
                claims: claims(signedIn, for: audience, issuedAt: now, expiresAt: expiresAt), key: signer.key)
            return (Secret(token), expiresAt)
        } catch {
            throw Failure(.unavailable, "an assertion cannot be signed: \(error)")
        }
    }

    /// Registered names (RFC 7519 §4.1, OpenID Connect Core §5.1) where they exist. Unknown values are omitted.
    private func claims(
        _ signedIn: SignedIn, for audience: AssertionAudience, issuedAt: Timestamp, expiresAt: Timestamp
    ) -> JSONObject {
        let (user, session) = (signedIn.user, signedIn.session)
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string(user.id.rawValue), "aud": .string(audience.name),
            "iat": .integer(issuedAt.seconds), "exp": .integer(expiresAt.seconds),
            "jti": .string(Base64URL.encode(random.bytes(16))),
            "sid": .string(session.id.rawValue), "auth_time": .integer(session.createdAt.seconds),
        ]
        if let email = user.email, let address = email.forApplications {
            claims["email"] = .string(address)
            claims["email_verified"] = true
            claims["is_private_email"] = .bool(email.isPrivate)
        }
        claims["name"] = user.name.full.map { .string($0) }
        claims["given_name"] = user.name.given.map { .string($0) }
        claims["family_name"] = user.name.family.map { .string($0) }
        claims["groups"] = .texts(user.memberships)
        claims["external_id"] = user.externalID.map { .string($0) }
        return claims
    }
}
