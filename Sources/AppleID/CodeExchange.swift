import Accounts
import Coding
import HTTP
import HTTPTypes

/// The parsed answer of `/auth/token`; its identity token is not yet verified.
typealias TokenResponse = (identityToken: String, accessToken: String?, refreshToken: RefreshToken?)

extension AppleIdentityProvider {
    /// Redeems an authorization code at `/auth/token` (RFC 6749 §4.1.3), once, by client_secret_post.
    /// - Throws: `.codeRefused` when Apple refused the code, `.clientRefused` when it refused us,
    ///   `.providerUnavailable` when it did not answer, and whether it may have redeemed the code.
    func redeem(code: String, for clientID: ClientID) async throws(Failure) -> TokenResponse {
        var form = [("code", code), ("grant_type", "authorization_code")]
        // Apple: only if the authorize request had one. An app's had none.
        if clientID == servicesID { form.append(("redirect_uri", configuration.redirectURI)) }
        let response = try await client.post(
            "/auth/token", as: clientID, form: form, unsigned: { Failure(.clientRefused, $0) }
        ) { error in
            Failure(.providerUnavailable, "token endpoint: \(error)", mayHaveSpentCode: error.mayHaveArrived)
        }
        // The status decides first: a gateway's error page is never parsed.
        let status = response.status.code
        guard status == 200 || response.isRefusalStatus else {
            throw Failure(.providerUnavailable, "token endpoint: status \(status)")
        }
        guard let object = response.jsonObject else {
            // With 200 the code is spent, whatever a gateway made of the answer.
            let text = "token endpoint: status \(status), content is not JSON"
            throw Failure(.providerUnavailable, text, mayHaveSpentCode: status == 200)
        }
        guard status == 200 else { throw Self.exchangeFailure(TokenEndpointRefusal(object), status: status) }
        guard let token = object["id_token"]?.stringValue, !token.isEmpty else {
            throw Failure(.providerUnavailable, "token endpoint: no id_token", mayHaveSpentCode: true)
        }
        return (
            token, object["access_token"]?.stringValue,
            object["refresh_token"]?.stringValue.flatMap { $0.isEmpty ? nil : RefreshToken($0) }
        )
    }

    /// RFC 6749 §5.2, as Apple uses it: `invalid_grant` concerns the code, all other errors concern us.
    private static func exchangeFailure(_ refusal: TokenEndpointRefusal?, status: Int) -> Failure {
        guard let refusal else {
            return Failure(.providerUnavailable, "token endpoint: status \(status) without an error")
        }
        return switch refusal.error {
        case "invalid_grant": Failure(.codeRefused, refusal.text)
        case "invalid_client", "invalid_request", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
            Failure(.clientRefused, refusal.text)
        default: Failure(.providerUnavailable, "token endpoint: status \(status), " + refusal.text)
        }
    }
}

extension IdentityClaims {
    /// Compares the token endpoint's token with the one from the browser (OpenID Connect Core §3.3.3.6), and combines
    /// what both say about the person.
    ///
    /// The token endpoint takes precedence; the front channel only fills what it omits. `issuedAt` is the earlier of
    /// the two, so that a revocation between them ends this sign-in's session.
    func confirmed(by back: IdentityClaims) throws(Failure) -> IdentityClaims {
        guard back.issuer == issuer else { throw Failure(.tokenMismatch, "iss") }
        guard back.clientID == clientID else { throw Failure(.tokenMismatch, "aud") }
        guard back.subject == subject else { throw Failure(.tokenMismatch, "sub") }
        var result = back
        result.issuedAt = min(issuedAt, back.issuedAt)
        result.email = back.email ?? email
        result.realUserStatus = back.realUserStatus ?? realUserStatus
        result.transferSubject = back.transferSubject ?? transferSubject
        return result
    }
}
