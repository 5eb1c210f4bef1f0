import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// What `/auth/token` answered, parsed; the identity token in it is not yet verified.
struct TokenResponse: Sendable {
    let identityToken: String
    let accessToken: String?
    let refreshToken: RefreshToken?
}

/// Redeems an authorization code at `/auth/token` (RFC 6749 §4.1.3), once, by client_secret_post.
struct TokenExchange: Sendable {
    let client: AppleEndpointClient
    let secrets: ClientSecretMint
    /// The web flow's client: only its exchange names the redirect URI.
    let servicesID: ClientID
    let redirectURI: String

    /// - Throws: `.codeRefused` when Apple refused the code, `.clientRefused` when it refused us,
    ///   `.providerUnavailable` for everything that is no clear answer.
    func redeem(code: String, for clientID: ClientID) async throws(SignInFailure) -> TokenResponse {
        let secret: ClientSecret
        do throws(KeyError) {
            secret = try secrets.secret(for: clientID)
        } catch {
            throw .clientRefused("the client secret could not be signed: \(error)")
        }
        var form = [
            ("client_id", clientID.rawValue),
            ("client_secret", secret.reveal()),
            ("code", code),
            ("grant_type", "authorization_code"),
        ]
        // Apple: only if the authorize request had one. An app's had none.
        if clientID == servicesID { form.append(("redirect_uri", redirectURI)) }
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.post("/auth/token", form: FormEncoder.encode(form))
        } catch {
            throw .providerUnavailable("token endpoint: \(error)")
        }
        return try Self.parse(response)
    }

    /// Reads the answer. The status decides first: a gateway's error page is never looked into.
    static func parse(_ response: ClientResponse) throws(SignInFailure) -> TokenResponse {
        let status = response.status.code
        guard status == 200 || (400...403).contains(status) else {
            throw .providerUnavailable("token endpoint: status \(status)")
        }
        guard response.looksLikeJSONObject, let object = jsonObject(response.body) else {
            throw .providerUnavailable("token endpoint: status \(status), content is not JSON")
        }
        guard status == 200 else { throw refusal(object, status: status) }
        guard let token = object["id_token"]?.stringValue, !token.isEmpty else {
            throw .providerUnavailable("token endpoint: no id_token")
        }
        return TokenResponse(
            identityToken: token, accessToken: object["access_token"]?.stringValue,
            refreshToken: object["refresh_token"]?.stringValue.flatMap { $0.isEmpty ? nil : RefreshToken($0) })
    }

    private static func jsonObject(_ bytes: [UInt8]) -> JSONObject? {
        let limits = JSONLimits(maximumBytes: AppleEndpointClient.maximumBodySize, maximumDepth: 8)
        return (try? JSONReader.parse(bytes, limits: limits))?.objectValue
    }

    /// RFC 6749 §5.2, in Apple's usage: `invalid_grant` is about the code, every other of its words about us.
    private static func refusal(_ object: JSONObject, status: Int) -> SignInFailure {
        let error = object["error"]?.stringValue ?? ""
        let description = object["error_description"]?.stringValue ?? ""
        let text = description.isEmpty ? error : error + ": " + description
        return switch error {
        case "invalid_grant": .codeRefused(cleaned(text))
        case "invalid_client", "invalid_request", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
            .clientRefused(cleaned(text))
        default: .providerUnavailable("token endpoint: status \(status), " + cleaned(text))
        }
    }

    /// A peer's text for our log: printable ASCII, at most 200 characters.
    static func cleaned(_ text: String) -> String {
        let printable = text.unicodeScalars.lazy.filter { (0x20...0x7E).contains($0.value) }
        return String(String.UnicodeScalarView(printable.prefix(200)))
    }
}

extension IdentityClaims {
    /// Holds the token endpoint's token against the one that came through the browser (OpenID Connect Core §3.3.3.6),
    /// and gives what is known of the person from both.
    ///
    /// The token endpoint's word counts; the front channel only fills what it left out. `issuedAt` is the earlier of
    /// the two, so that a revocation between them ends this sign-in's session.
    func confirmed(by back: IdentityClaims) throws(SignInFailure) -> IdentityClaims {
        guard back.issuer == issuer else { throw .tokenMismatch("iss") }
        guard back.clientID == clientID else { throw .tokenMismatch("aud") }
        guard back.subject == subject else { throw .tokenMismatch("sub") }
        var result = back
        result.issuedAt = min(issuedAt, back.issuedAt)
        result.email = back.email ?? email
        result.realUserStatus = back.realUserStatus ?? realUserStatus
        result.transferSubject = back.transferSubject ?? transferSubject
        return result
    }
}
