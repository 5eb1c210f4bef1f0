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

    /// Posts one form.
    /// - Parameter path: of the endpoint, such as `/auth/token`.
    /// - Parameter form: everything except the client's ID and secret.
    /// - Throws: when there was no answer. Apple's answers, including refusals, are returned.
    func post(
        _ path: String, as clientID: ClientID, form: [(String, String)]
    ) async throws(TokenClientFailure) -> ClientResponse {
        let secret = try await translating(try secrets.secret(for: clientID), TokenClientFailure.secret)
        let response = try await send(path, clientID, secret, form)
        guard response.tokenEndpointRefusal?.isOfClient == true,
            let other = try await translating(try secrets.secret(after: secret), TokenClientFailure.secret)
        else { return response }
        // Its outcome is final: if it is lost, nobody knows whether we are refused.
        let second = try await send(path, clientID, other, form)
        // Any answer of the protocol except that error shows that Apple knows the key.
        if second.status.code == 200 || second.tokenEndpointRefusal?.isOfClient == false { secrets.keep(other) }
        return second
    }

    /// The same for callers with failures of their own.
    /// - Parameters:
    ///   - unsigned: the failure of a request that could not be made, with its text.
    ///   - unanswered: that of one without an answer.
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
        return try await translating(await client.post(path, form: FormEncoder.encode(credentials + form))) {
            (error: HTTPClientError) in TokenClientFailure.transport(error)
        }
    }
}

/// Why Apple could not be called.
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

    /// From an answer's object; nil when it names no error.
    init?(_ object: JSONObject) {
        guard let error = object["error"]?.stringValue, !error.isEmpty else { return nil }
        self.error = error
        let description = object["error_description"]?.stringValue ?? ""
        text = Self.cleaned(description.isEmpty ? error : error + ": " + description)
    }

    private static func cleaned(_ text: String) -> String {
        let printable = text.unicodeScalars.lazy.filter { (0x20...0x7E).contains($0.value) }
        return String(String.UnicodeScalarView(printable.prefix(200)))
    }
}

extension ClientResponse {
    /// The content as a JSON object; nil when it is anything else.
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
    /// Whether a byte of the request may have reached the peer.
    var mayHaveArrived: Bool {
        switch self {
        case .unknownHost, .inside, .connect, .tls, .proxy: false
        case .timeout, .closed, .malformed, .tooLarge: true
        }
    }
}
