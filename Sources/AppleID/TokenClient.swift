import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// Calls Apple as one of our clients: the form carries `client_id` and `client_secret` (RFC 6749 §2.3.1,
/// client_secret_post, the only method Apple accepts).
///
/// With two keys, a request that Apple refuses as `invalid_client` is sent once more with a secret of the other key.
/// The first had no effect: Apple refuses the client before it redeems or revokes anything.
struct TokenClient: Sendable {
    let client: AppleEndpointClient
    let secrets: ClientSecretMint

    /// - Throws: when there was no answer. Apple's answers, including refusals, are returned.
    func post(
        _ path: String, as clientID: ClientID, form: [(String, String)]
    ) async throws(TokenClientFailure) -> ClientResponse {
        let secret = try await translating(try secrets.secret(for: clientID), TokenClientFailure.secret)
        let response = try await send(path, clientID, secret, form)
        guard response.tokenEndpointRefusal?.isOfClient == true,
            let other = try await translating(try secrets.secret(after: secret), TokenClientFailure.secret)
        else { return response }
        // Its outcome is final: if it is lost, whether Apple refuses us is unknown.
        let second = try await send(path, clientID, other, form)
        // Any answer of the protocol except that error shows that Apple knows the key.
        if second.status.code == 200 || second.tokenEndpointRefusal?.isOfClient == false { secrets.keep(other) }
        return second
    }

    /// The same for callers with failures of their own: when nothing was sent, and when nothing was answered.
    func post<Reported: Error>(
        _ path: String, as clientID: ClientID, form: [(String, String)], unsigned: (String) -> Reported,
        unanswered: (HTTPClientError) -> Reported
    ) async throws(Reported) -> ClientResponse {
        try await translating(await post(path, as: clientID, form: form)) { (failure: TokenClientFailure) in
            switch failure {
            case .secret(let error): unsigned("the client secret could not be signed: \(error)")
            case .transport(let error): unanswered(error)
            }
        }
    }

    private func send(
        _ path: String, _ clientID: ClientID, _ secret: ClientSecret, _ form: [(String, String)]
    ) async throws(TokenClientFailure) -> ClientResponse {
        let credentials = [("client_id", clientID.rawValue), ("client_secret", secret.reveal())]
        let response = try await translating(
            await client.post(path, form: FormEncoder.encode(credentials + form)), TokenClientFailure.transport)
        // `invalid_grant` shows nothing: Apple examines the code first.
        if response.status.code == 200 { secrets.record(secret, isAccepted: true) }
        if response.tokenEndpointRefusal?.isOfClient == true { secrets.record(secret, isAccepted: false) }
        return response
    }
}

enum TokenClientFailure: Error {
    /// The client secret could not be signed: our fault, and nothing was sent.
    case secret(KeyError)
    /// No answer, or not HTTP. Whether Apple acted on the request is unknown.
    case transport(HTTPClientError)
}

/// A refusal as defined in RFC 6749 §5.2.
struct TokenEndpointRefusal: Hashable, Sendable {
    /// `error`: not empty. Compare it with `isExactly`.
    let error: String
    /// `error` and `error_description`, safe for the log: printable ASCII, at most 200 characters.
    let text: String

    /// `invalid_client`: our identifiers or our key, not what was asked.
    var isOfClient: Bool { error.isExactly("invalid_client") }

    init?(_ object: JSONObject) {
        guard let error = object["error"]?.stringValue, !error.isEmpty else { return nil }
        self.error = error
        let description = object["error_description"]?.stringValue ?? ""
        let whole = description.isEmpty ? error : error + ": " + description
        let printable = whole.unicodeScalars.lazy.filter { (0x20...0x7E).contains($0.value) }
        text = String(String.UnicodeScalarView(printable.prefix(200)))
    }
}

extension ClientResponse {
    var jsonObject: JSONObject? {
        guard looksLikeJSONObject else { return nil }
        let limits = JSONLimits(maximumBytes: AppleEndpointClient.maximumBodySize, maximumDepth: 8)
        return (try? JSONReader.parse(body, limits: limits))?.objectValue
    }

    /// Whether Apple refuses with this status. Any other, except 200, is outside the protocol.
    var isRefusalStatus: Bool { (400...403).contains(status.code) }

    /// Apple's refusal; nil when this is none. The status decides first: a gateway's error page is never parsed.
    var tokenEndpointRefusal: TokenEndpointRefusal? {
        guard isRefusalStatus, let jsonObject else { return nil }
        return TokenEndpointRefusal(jsonObject)
    }
}

extension HTTPClientError {
    var mayHaveArrived: Bool {
        switch self {
        case .unknownHost, .inside, .connect, .tls, .proxy: false
        case .timeout, .closed, .malformed, .tooLarge: true
        }
    }
}

/// The parsed answer of `/auth/token`; its identity token is not yet verified.
typealias TokenResponse = (identityToken: String, accessToken: String?, refreshToken: RefreshToken?)

extension AppleIdentityProvider {
    /// Redeems an authorization code at `/auth/token` (RFC 6749 §4.1.3), once, by client_secret_post.
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
        result.organizationID = back.organizationID ?? organizationID
        return result
    }
}
