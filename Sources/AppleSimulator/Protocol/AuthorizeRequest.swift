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

    /// - Parameter allowsNative: whether an App ID may ask without a redirect URI, as an app does through the system.
    init(
        _ fields: FormFields, clients: [SimulatorConfiguration.Client], allowsNative: Bool = false
    ) throws(OAuthError) {
        if let name = fields.duplicate { throw .request("The parameter \(name) is repeated.") }
        guard let clientID = fields.text("client_id") else { throw .request("The parameter client_id is missing.") }
        guard let client = clients.first(where: { $0.id == clientID }) else {
            throw .client("\(clientID) is not registered. The web uses a Services ID, without the Team ID prefix.")
        }
        self.client = client
        if client.isNative {
            guard allowsNative else { throw .client("\(clientID) is an App ID: the web uses the Services ID.") }
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
    ) throws(OAuthError) -> String {
        guard let uri = fields.text("redirect_uri") else { throw .request("The parameter redirect_uri is missing.") }
        guard !uri.contains("#") else { throw .request("redirect_uri must have no fragment.") }
        guard client.redirectURIs.contains(uri) else {
            throw .request(
                "Invalid web redirect url: \(uri) is not registered for \(client.id). Registered: "
                    + client.redirectURIs.joined(separator: ", ") + ". Every character counts, a final slash too.")
        }
        return uri
    }

    private static func responseType(_ fields: FormFields) throws(OAuthError) -> Bool {
        switch fields.text("response_type") {
        case "code": return false
        case "code id_token": return true
        case nil: throw .request("The parameter response_type is missing.")
        case "id_token":
            throw OAuthError(
                code: "unsupported_response_type",
                reason: "id_token without code is not supported; request code id_token.")
        case let other?:
            throw OAuthError(
                code: "unsupported_response_type",
                reason: "response_type must be code or code id_token, not \(other)." + plusHint(other))
        }
    }

    private static func scopes(_ fields: FormFields) throws(OAuthError) -> Set<String> {
        let text = fields["scope"] ?? ""
        let scopes = Set(text.split(separator: " ").map(String.init))
        if let wrong = scopes.subtracting(["openid", "name", "email"]).min() {
            throw OAuthError(
                code: "invalid_scope", reason: "The scopes must be name or email, not \(wrong)." + plusHint(text))
        }
        return scopes
    }

    /// Apple's authorize endpoint requires `%20`; a plus sign stays a plus sign.
    private static func plusHint(_ text: String) -> String {
        text.contains("+") ? " Write the space as %20: a plus sign is not a space here." : ""
    }

    private static func responseMode(
        _ fields: FormFields, scopes: Set<String>, wantsIdentityToken: Bool
    ) throws(OAuthError) -> ResponseMode {
        let text = fields.text("response_mode")
        guard let mode = text.map(ResponseMode.init) ?? (wantsIdentityToken ? .fragment : .query) else {
            throw .request("response_mode must be query, fragment or form_post, not \(text ?? "").")
        }
        if !scopes.isDisjoint(with: ["name", "email"]), mode == .query || mode == .fragment {
            throw .request("response_mode must be form_post when name or email scope is requested.")
        }
        if wantsIdentityToken, mode == .query {
            throw .request("response_mode must be fragment or form_post when id_token is requested.")
        }
        return mode
    }

    private static func challenge(_ fields: FormFields) throws(OAuthError) -> CodeChallenge? {
        let method = fields.text("code_challenge_method")
        guard let value = fields.text("code_challenge") else {
            guard method == nil else { throw .request("code_challenge_method without code_challenge.") }
            return nil
        }
        guard let method = CodeChallenge.Method(rawValue: method ?? "plain") else {
            throw .request("code_challenge_method must be S256 or plain.")
        }
        return CodeChallenge(value: value, method: method)
    }
}
