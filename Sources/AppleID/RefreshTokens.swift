package import Accounts
import Coding
import HTTP
import HTTPTypes

extension AppleIdentityProvider {
    /// Presents a refresh token at `/auth/token` (RFC 6749 §6), to learn whether Apple still accepts it.
    ///
    /// An answer means a dead token only in narrow circumstances, since a mistake signs people out: status 400, strict
    /// JSON, one of two errors, and a description that does not blame the client.
    package func check(_ token: RefreshToken, subject: AppleSubject, clientID: ClientID) async throws(TokenFailure) {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token.value)]
        let response = try await client.post(
            "/auth/token", as: clientID, form: form, unsigned: TokenFailure.clientRefused
        ) { .unavailable("token endpoint: \($0)", mayHaveActed: $0.mayHaveArrived) }
        let answer = try checked(response)
        try await verify(answer, subject: subject, clientID: clientID)
        await keys.renewIfDue()
    }

    /// Parses the answer. The status decides first: a gateway's error page is never parsed.
    private func checked(_ response: ClientResponse) throws(TokenFailure) -> TokenResponse {
        let status = response.status.code
        guard status == 200 || response.isRefusalStatus else { throw unavailable(response) }
        guard let object = response.jsonObject else {
            throw .unavailable("token endpoint: status \(status), content is not JSON", mayHaveActed: true)
        }
        guard status == 200 else { throw Self.checkFailure(TokenEndpointRefusal(object), status: status) }
        guard let token = object["id_token"]?.stringValue, !token.isEmpty else { throw .unverified("no id_token") }
        return (token, object["access_token"]?.stringValue, nil)
    }

    /// Apple examines the token first, and answers `invalid_grant` for another client's too: the description tells.
    private static func checkFailure(_ refusal: TokenEndpointRefusal?, status: Int) -> TokenFailure {
        guard let refusal else {
            return .unavailable("token endpoint: status \(status) without an error", mayHaveActed: true)
        }
        return switch refusal.error {
        // Both have been seen after a revocation, with status 400 as in RFC 6749 §5.2.
        case "invalid_grant" where status == 400, "invalid_request" where status == 400:
            // `client_id mismatch. …` and `redirect_uri mismatch. …`: the token is alive, the request was wrong.
            refusal.text.lowercased().contains("mismatch") ? .mismatch(refusal.text) : .dead(refusal.text)
        case "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
            .clientRefused(refusal.text)
        default: .unavailable("token endpoint: status \(status), " + refusal.text, mayHaveActed: true)
        }
    }

    /// A server error and a 429 mean that nothing was checked; when a gateway timed out, it may have been.
    private func unavailable(_ response: ClientResponse) -> TokenFailure {
        let status = response.status.code
        let isThrottled = status == 429
        let certainlyNot = isThrottled || (500...599).contains(status) && status != 504
        return .unavailable(
            "token endpoint: status \(status)", mayHaveActed: !certainlyNot, isThrottled: isThrottled,
            retryAfter: isThrottled || status == 503
                ? RetryAfter.milliseconds(response.fields[.retryAfter], at: clock.now()) : nil)
    }

    /// Verifies Apple's signed statement that the token belongs to this person and client.
    private func verify(_ answer: TokenResponse, subject: AppleSubject, clientID: ClientID) async throws(TokenFailure) {
        let claims = try await translating(
            await verify(answer.identityToken, for: [clientID], .back(nonce: nil, accessToken: answer.accessToken)),
            \Failure.ofCheck)
        guard claims.subject.rawValue.isExactly(subject.rawValue) else { throw .unverified("sub is wrong") }
    }

    /// Revokes a refresh token at `/auth/revoke` (RFC 7009 §2.1), which ends the person's authorization.
    package func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenFailure) {
        let form = [("token", token.value), ("token_type_hint", "refresh_token")]
        let response = try await client.post(
            "/auth/revoke", as: clientID, form: form, unsigned: TokenFailure.clientRefused
        ) { Self.unrevoked("\($0)") }
        if let refusal = response.tokenEndpointRefusal { throw .clientRefused(refusal.text) }
        guard response.status.code == 200 else { throw Self.unrevoked("status \(response.status.code)") }
        // Acknowledged: without content, as documented, or with a JSON object that names no error; also an unknown token
        // (RFC 7009 §2.2). A gateway's page or an incomplete answer is not: once it counts as done, nobody asks again.
        if response.body.isEmpty { return }
        guard let object = response.jsonObject, object["error"] == nil else {
            throw Self.unrevoked("status 200 with content that is not Apple's")
        }
    }

    /// What is not acknowledged is sent again, whatever Apple made of it.
    private static func unrevoked(_ text: String) -> TokenFailure {
        .unavailable("revocation endpoint: " + text, mayHaveActed: true)
    }
}
