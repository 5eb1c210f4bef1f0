import Accounts
import Coding
import HTTP
import HTTPTypes

/// Revokes a refresh token at `/auth/revoke` (RFC 7009 §2.1), which ends the person's authorization.
struct TokenRevocation: Sendable {
    let client: TokenClient

    /// - Throws: `.clientRefused` when Apple refused us, `.unavailable` without a clear answer.
    func revoke(_ token: RefreshToken, for clientID: ClientID) async throws(TokenRevocationFailure) {
        let form = [("token", token.value), ("token_type_hint", "refresh_token")]
        let response: ClientResponse
        do throws(TokenClientFailure) {
            response = try await client.post("/auth/revoke", as: clientID, form: form)
        } catch {
            switch error {
            case .secret(let error): throw .clientRefused("the client secret could not be signed: \(error)")
            case .transport(let error): throw .unavailable("revocation endpoint: \(error)")
            }
        }
        if let failure = Self.failure(in: response) { throw failure }
    }

    /// Nil when Apple acknowledged: 200 without content, as documented, or with a JSON object that names no error. It
    /// also does so for unknown tokens (RFC 7009 §2.2). A gateway's page with status 200 is not an acknowledgement, nor
    /// is an incomplete answer: once it counts as done, nobody asks again.
    static func failure(in response: ClientResponse) -> TokenRevocationFailure? {
        let status = response.status.code
        if status == 200 {
            if response.body.isEmpty { return nil }
            if let object = response.jsonObject, object["error"] == nil { return nil }
            return .unavailable("revocation endpoint: status 200 with content that is not Apple's")
        }
        guard let refusal = response.tokenEndpointRefusal else {
            return .unavailable("revocation endpoint: status \(status)")
        }
        return .clientRefused(refusal.text)
    }
}
