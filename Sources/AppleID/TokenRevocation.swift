import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// Revokes a refresh token at `/auth/revoke` (RFC 7009 §2.1), which ends the person's authorization with it.
struct TokenRevocation: Sendable {
    let client: AppleEndpointClient
    let secrets: ClientSecretMint

    /// - Throws: `.clientRefused` when Apple refused us, `.unavailable` for everything that is no clear answer.
    func revoke(_ token: RefreshToken, for clientID: ClientID) async throws(TokenRevocationFailure) {
        let secret: ClientSecret
        do throws(KeyError) {
            secret = try secrets.secret(for: clientID)
        } catch {
            throw .clientRefused("the client secret could not be signed: \(error)")
        }
        let form = [
            ("client_id", clientID.rawValue),
            ("client_secret", secret.reveal()),
            ("token", token.value),
            ("token_type_hint", "refresh_token"),
        ]
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.post("/auth/revoke", form: FormEncoder.encode(form))
        } catch {
            throw .unavailable("revocation endpoint: \(error)")
        }
        if let failure = Self.failure(in: response) { throw failure }
    }

    /// Nil when Apple acknowledged: 200 without content, as it documents. It says so for unknown tokens too (RFC 7009
    /// §2.2), and a page of some gateway on the way, with status 200, is no acknowledgement.
    static func failure(in response: ClientResponse) -> TokenRevocationFailure? {
        let status = response.status.code
        if status == 200 {
            if response.body.isEmpty || response.looksLikeJSONObject { return nil }
            return .unavailable("revocation endpoint: status 200 with content that is not Apple's")
        }
        guard (400...403).contains(status), response.looksLikeJSONObject else {
            return .unavailable("revocation endpoint: status \(status)")
        }
        let limits = JSONLimits(maximumBytes: AppleEndpointClient.maximumBodySize, maximumDepth: 8)
        let object = (try? JSONReader.parse(response.body, limits: limits))?.objectValue
        guard let error = object?["error"]?.stringValue, !error.isEmpty else {
            return .unavailable("revocation endpoint: status \(status)")
        }
        let description = object?["error_description"]?.stringValue ?? ""
        return .clientRefused(TokenExchange.cleaned(description.isEmpty ? error : error + ": " + description))
    }
}
