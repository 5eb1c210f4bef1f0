import Accounts
import Coding
import HTTP
import HTTPTypes

extension TokenClient {
    /// Revokes a refresh token at `/auth/revoke` (RFC 7009 §2.1), which ends the person's authorization.
    /// - Throws: `.clientRefused` when Apple refused us, `.unavailable` without a clear answer.
    func revoke(_ token: RefreshToken, for clientID: ClientID) async throws(TokenFailure) {
        let form = [("token", token.value), ("token_type_hint", "refresh_token")]
        let response = try await post("/auth/revoke", as: clientID, form: form, unsigned: TokenFailure.clientRefused) {
            Self.unrevoked("\($0)")
        }
        if let failure = Self.revocationFailure(in: response) { throw failure }
    }

    /// Nil when Apple acknowledged: 200 without content, as documented, or with a JSON object that names no error. It
    /// also does so for unknown tokens (RFC 7009 §2.2). A gateway's page with status 200 is not an acknowledgement, nor
    /// is an incomplete answer: once it counts as done, nobody asks again.
    static func revocationFailure(in response: ClientResponse) -> TokenFailure? {
        let status = response.status.code
        if status == 200 {
            if response.body.isEmpty { return nil }
            if let object = response.jsonObject, object["error"] == nil { return nil }
            return unrevoked("status 200 with content that is not Apple's")
        }
        guard let refusal = response.tokenEndpointRefusal else {
            return unrevoked("status \(status)")
        }
        return .clientRefused(refusal.text)
    }

    /// What is not acknowledged is sent again, whatever Apple made of it.
    private static func unrevoked(_ text: String) -> TokenFailure {
        .unavailable("revocation endpoint: " + text, mayHaveActed: true)
    }
}
