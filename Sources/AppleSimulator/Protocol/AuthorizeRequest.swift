/// A valid `GET /auth/authorize`: every parameter checked as Apple does.
struct AuthorizeRequest: Sendable {
    enum ResponseMode: String, Sendable {
        case query, fragment
        case formPost = "form_post"
        /// The popup of Apple's script.
        case webMessage = "web_message"
    }

    var client: SimulatorConfiguration.Client
    /// Nil only for an app.
    var redirectURI: String?
    var wantsIdentityToken: Bool
    var responseMode: ResponseMode
    var scopes: Set<String>
    var state: String?
    var nonce: String?
    var challenge: CodeChallenge?
}

/// A mistake in the relying party's request. Apple shows it on a page of its own and never returns it.
struct AuthorizeError: Error, Sendable {
    /// As on Apple's page.
    var code: String
    /// What to do about it, which Apple does not say.
    var explanation: String
}

extension AuthorizeRequest {
    /// - Parameter allowsNative: whether an App ID may ask without a redirect URI, as an app does through the system.
    init(
        _ fields: FormFields, clients: [SimulatorConfiguration.Client], allowsNative: Bool = false
    ) throws(AuthorizeError) {
        if let name = fields.duplicate {
            throw AuthorizeError(code: "invalid_request", explanation: "The parameter \(name) is repeated.")
        }
        guard let clientID = fields.text("client_id") else {
            throw AuthorizeError(code: "invalid_request", explanation: "The parameter client_id is missing.")
        }
        guard let client = clients.first(where: { $0.id == clientID }) else {
            throw AuthorizeError(
                code: "invalid_client",
                explanation: "\(clientID) is not registered. The web uses a Services ID, without the Team ID before it."
            )
        }
        self.client = client
        if client.isNative {
            guard allowsNative else {
                throw AuthorizeError(
                    code: "invalid_client", explanation: "\(clientID) is an App ID: the web uses the Services ID.")
            }
        } else {
            redirectURI = try Self.redirectURI(fields, client: client)
        }
        wantsIdentityToken = try Self.responseType(fields)
        scopes = try Self.scopes(fields)
        responseMode = try Self.responseMode(fields, scopes: scopes, wantsIdentityToken: wantsIdentityToken)
        state = fields.text("state")
        nonce = fields.text("nonce")
        challenge = try Self.challenge(fields)
    }

    private static func redirectURI(
        _ fields: FormFields, client: SimulatorConfiguration.Client
    ) throws(AuthorizeError) -> String {
        guard let uri = fields.text("redirect_uri") else {
            throw AuthorizeError(code: "invalid_request", explanation: "The parameter redirect_uri is missing.")
        }
        guard !uri.contains("#") else {
            throw AuthorizeError(code: "invalid_request", explanation: "redirect_uri must have no fragment.")
        }
        guard client.redirectURIs.contains(uri) else {
            throw AuthorizeError(
                code: "invalid_request",
                explanation: "Invalid web redirect url: \(uri) is not registered for \(client.id). Registered: "
                    + client.redirectURIs.joined(separator: ", ") + ". Every character counts, a final slash too.")
        }
        return uri
    }

    private static func responseType(_ fields: FormFields) throws(AuthorizeError) -> Bool {
        switch fields.text("response_type") {
        case "code": return false
        case "code id_token": return true
        case nil: throw AuthorizeError(code: "invalid_request", explanation: "The parameter response_type is missing.")
        case "id_token":
            throw AuthorizeError(
                code: "unsupported_response_type",
                explanation: "id_token alone is not supported: ask for code id_token.")
        case let other?:
            throw AuthorizeError(
                code: "unsupported_response_type",
                explanation: "response_type is code or code id_token, not \(other)." + plusHint(other))
        }
    }

    private static func scopes(_ fields: FormFields) throws(AuthorizeError) -> Set<String> {
        let text = fields["scope"] ?? ""
        let scopes = Set(text.split(separator: " ").map(String.init))
        if let wrong = scopes.subtracting(["openid", "name", "email"]).min() {
            throw AuthorizeError(
                code: "invalid_scope", explanation: "The scopes are name and email, not \(wrong)." + plusHint(text))
        }
        return scopes
    }

    /// Apple's authorize endpoint requires `%20`; a plus sign stays a plus sign.
    private static func plusHint(_ text: String) -> String {
        text.contains("+") ? " Write the space as %20: a plus sign is not a space here." : ""
    }

    private static func responseMode(
        _ fields: FormFields, scopes: Set<String>, wantsIdentityToken: Bool
    ) throws(AuthorizeError) -> ResponseMode {
        let text = fields.text("response_mode")
        guard let mode = text.map(ResponseMode.init) ?? (wantsIdentityToken ? .fragment : .query) else {
            throw AuthorizeError(
                code: "invalid_request",
                explanation: "response_mode is query, fragment or form_post, not \(text ?? "").")
        }
        let asksForData = !scopes.isDisjoint(with: ["name", "email"])
        if asksForData, mode == .query || mode == .fragment {
            throw AuthorizeError(
                code: "invalid_request",
                explanation: "response_mode must be form_post when name or email scope is requested.")
        }
        if wantsIdentityToken, mode == .query {
            throw AuthorizeError(
                code: "invalid_request",
                explanation: "response_mode must be fragment or form_post when id_token is requested.")
        }
        return mode
    }

    private static func challenge(_ fields: FormFields) throws(AuthorizeError) -> CodeChallenge? {
        let method = fields.text("code_challenge_method")
        guard let value = fields.text("code_challenge") else {
            guard method == nil else {
                throw AuthorizeError(
                    code: "invalid_request", explanation: "code_challenge_method without code_challenge.")
            }
            return nil
        }
        guard let method = CodeChallenge.Method(rawValue: method ?? "plain") else {
            throw AuthorizeError(code: "invalid_request", explanation: "code_challenge_method is S256 or plain.")
        }
        return CodeChallenge(value: value, method: method)
    }
}
