package import Accounts
import Coding
import HTTP
import HTTPTypes
import Synchronization

struct AccessToken: Sendable {
    /// How long one is used, in seconds; Apple gives it an hour.
    fileprivate static let use: Int64 = 3000

    /// Any client of the team: subjects belong to the team.
    fileprivate var client: ClientID
    fileprivate var text: String
    fileprivate var issuedAt: Timestamp

    /// The form that requests one, besides the client's own fields.
    static let form = [("grant_type", "client_credentials"), ("scope", "user.migration")]
}

// Moves people between teams at `/auth/usermigrationinfo` (TN3159): the sending team gets a `transfer_sub` for each,
// the receiving one redeems it. Both send an access token besides the client secret.
extension AppleIdentityProvider {
    package func prepareTransfer(as clientID: ClientID) async throws(MigrationFailure) {
        _ = try await token(of: clientID)
    }

    package func transferSubject(
        of subject: AppleSubject, to recipient: TeamID, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferSubject {
        let answer = try await ask([("sub", subject.rawValue), ("target", recipient.rawValue)], as: clientID)
        guard let text = ClaimRules.optionalIdentifier("transfer_sub", in: answer) else {
            throw .unavailable("migration endpoint: no transfer_sub")
        }
        return TransferSubject(text)
    }

    package func identity(
        of transferSubject: TransferSubject, as clientID: ClientID
    ) async throws(MigrationFailure) -> TransferredIdentity {
        let answer = try await ask([("transfer_sub", transferSubject.rawValue)], as: clientID)
        guard let text = ClaimRules.optionalIdentifier("sub", in: answer) else {
            throw .unavailable("migration endpoint: no sub")
        }
        // Apple reports only relay addresses. One that is not marked as such, or that could break a program, is ignored.
        let email = EmailClaims.read(answer).flatMap { $0.isPrivate ? $0.address : nil }
        return TransferredIdentity(
            subject: AppleSubject(text),
            email: email.map { EmailAddress(address: $0, isVerified: true, isPrivate: true) })
    }

    /// Sends the request with the current token, and once more with a new one when Apple refuses it.
    private func ask(_ form: [(String, String)], as clientID: ClientID) async throws(MigrationFailure) -> JSONObject {
        let path = "/auth/usermigrationinfo"
        let first = try await token(of: clientID)
        let response = try await post(path, form, as: clientID, bearer: first.text)
        guard Self.isRefusalOfUs(response) else { return try read(response) }
        let second = try await token(of: clientID, after: first)
        return try read(try await post(path, form, as: clientID, bearer: second.text))
    }

    /// - Parameter refused: a token that Apple no longer accepts.
    private func token(
        of clientID: ClientID, after refused: AccessToken? = nil
    ) async throws(MigrationFailure) -> AccessToken {
        let now = clock.now()
        if let kept = accessToken.withLock({ $0 }), kept.client == clientID, kept.text != refused?.text,
            kept.issuedAt <= now, now < kept.issuedAt.adding(seconds: AccessToken.use)
        {
            return kept
        }
        let response = try await post("/auth/token", AccessToken.form, as: clientID, bearer: nil)
        if let refusal = response.tokenEndpointRefusal { throw .clientRefused(refusal.text) }
        guard let text = try read(response)["access_token"]?.stringValue, isPlainToken(text) else {
            throw .unavailable("token endpoint: no access_token")
        }
        let token = AccessToken(client: clientID, text: text, issuedAt: now)
        accessToken.withLock { $0 = token }
        return token
    }

    private func post(
        _ path: String, _ form: [(String, String)], as clientID: ClientID, bearer: String?
    ) async throws(MigrationFailure) -> ClientResponse {
        var endpoint = client.client
        endpoint.accessToken = bearer
        let client = TokenClient(client: endpoint, secrets: client.secrets)
        return try await client.post(path, as: clientID, form: form, unsigned: MigrationFailure.clientRefused) {
            .unavailable("\(path): \($0)")
        }
    }

    /// Refuses the client, its key or its token, not the request. RFC 6750 §3.1 has its own error for the last.
    private static func isRefusalOfUs(_ response: ClientResponse) -> Bool {
        if response.status.code == 401 { return true }
        guard let error = response.tokenEndpointRefusal?.error else { return false }
        return ["invalid_client", "invalid_token", "unauthorized_client", "invalid_scope", "insufficient_scope"]
            .contains { $0.isExactly(error) }
    }

    private func read(_ response: ClientResponse) throws(MigrationFailure) -> JSONObject {
        let status = response.status.code
        if status == 200 {
            guard let object = response.jsonObject else { throw .unavailable("status 200, content is not JSON") }
            return object
        }
        guard let refusal = response.tokenEndpointRefusal else {
            if status == 401 { throw .clientRefused("status 401") }
            throw .unavailable("status \(status)", retryAfter: retryAfter(response))
        }
        if Self.isRefusalOfUs(response) { throw .clientRefused(refusal.text) }
        // For people who revoked, Apple has sent either.
        if refusal.error.isExactly("invalid_request") || refusal.error.isExactly("invalid_grant") {
            throw .personRefused(refusal.text)
        }
        throw .unavailable("status \(status), " + refusal.text, retryAfter: retryAfter(response))
    }

    /// `Retry-After` in seconds, rounded up.
    private func retryAfter(_ response: ClientResponse) -> Int64? {
        RetryAfter.milliseconds(response.fields[.retryAfter], at: clock.now()).map { ($0 + 999) / 1_000 }
    }
}
