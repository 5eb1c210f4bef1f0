import Accounts
import Coding
import HTTP
import HTTPTypes

/// Presents a refresh token at `/auth/token` (RFC 6749 §6), to learn whether Apple still accepts it.
///
/// An answer means a dead token only in narrow circumstances, since a mistake signs people out: status 400, strict
/// JSON, one of two errors, and a description that does not blame the client.
struct TokenCheck: Sendable {
    let client: TokenClient
    let identityTokens: IdentityTokenVerifier
    let clock: any WallClock

    func check(
        _ token: RefreshToken, of subject: AppleSubject, as clientID: ClientID
    ) async throws(TokenFailure) {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token.value)]
        let response = try await client.post(
            "/auth/token", as: clientID, form: form, unsigned: TokenFailure.clientRefused
        ) { .unavailable("token endpoint: \($0)", mayHaveActed: $0.mayHaveArrived) }
        let answer = try parse(response)
        try await verify(answer, subject: subject, clientID: clientID)
    }

    /// Parses the answer. The status decides first: a gateway's error page is never parsed.
    private func parse(_ response: ClientResponse) throws(TokenFailure) -> TokenResponse {
        let status = response.status.code
        guard status == 200 || response.isRefusalStatus else { throw unavailable(response) }
        guard let object = response.jsonObject else {
            throw .unavailable("token endpoint: status \(status), content is not JSON", mayHaveActed: true)
        }
        guard status == 200 else { throw Self.failure(TokenEndpointRefusal(object), status: status) }
        guard let token = object["id_token"]?.stringValue, !token.isEmpty else { throw .unverified("no id_token") }
        return TokenResponse(
            identityToken: token, accessToken: object["access_token"]?.stringValue, refreshToken: nil)
    }

    /// Apple examines the token before the client, and answers `invalid_grant` for another client's token too: only the
    /// description tells them apart.
    private static func failure(_ refusal: TokenEndpointRefusal?, status: Int) -> TokenFailure {
        guard let refusal else {
            return .unavailable("token endpoint: status \(status) without an error", mayHaveActed: true)
        }
        return switch refusal.error {
        // Both have been seen after a revocation, with status 400 as in RFC 6749 §5.2.
        case "invalid_grant" where status == 400, "invalid_request" where status == 400:
            refusal.blamesClient ? .mismatch(refusal.text) : .dead(refusal.text)
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

    /// That Apple accepted the token is worth only as much as its signed statement for whom: this person and client.
    private func verify(
        _ answer: TokenResponse, subject: AppleSubject, clientID: ClientID
    ) async throws(TokenFailure) {
        let expectation = IdentityTokenExpectation(
            clientIDs: [clientID], nonce: "", channel: .refreshed(accessToken: answer.accessToken))
        do throws(TokenRefusal) {
            let claims = try await identityTokens.verify(answer.identityToken, expectation)
            guard claims.subject.rawValue.isExactly(subject.rawValue) else {
                throw TokenRefusal.refused("sub is wrong")
            }
        } catch {
            switch error {
            case .refused(let text), .clock(let text): throw .unverified(text)
            case .otherAudience: throw .unverified("aud is not ours")
            case .keys(.unknownKey): throw .unverified("unknown kid")
            case .keys(let failure): throw .unavailable(failure.cause, mayHaveActed: true)
            }
        }
    }
}

extension TokenEndpointRefusal {
    /// `client_id mismatch. …` and `redirect_uri mismatch. …`: the token is alive, the request was wrong.
    fileprivate var blamesClient: Bool { text.lowercased().contains("mismatch") }
}
