package import Coding
import Crypto

/// An authorization request (OIDC Core §3.1.2.1) as parsed: nothing in it is trusted yet.
package struct AuthorizeRequest: Sendable {
    fileprivate let fields: [FormField]

    package init(_ fields: [FormField]) { self.fields = fields }

    subscript(name: String) -> String? { fields.value(name) }

    /// Nil when it is absent or repeated.
    package var clientID: String? { fields.isRepeated("client_id") ? nil : self["client_id"] }

    /// Whether Apple's page was cancelled: the sign-in led back here (`ReturnTarget.cancelled`).
    package var isCancelled: Bool { self["error"] == "user_cancelled_authorize" }

    /// The address for answers, with a proven redirect URI; otherwise nil, for a page of ours (RFC 6749 §3.1.2.4).
    package func answerAddress(of client: OpenIDClient) -> AnswerAddress? {
        guard !fields.isRepeated("redirect_uri"), let uri = self["redirect_uri"], client.accepts(redirectURI: uri)
        else { return nil }
        return AnswerAddress(
            redirectURI: uri, state: fields.isRepeated("state") ? nil : self["state"],
            isPosted: !fields.isRepeated("response_mode") && self["response_mode"] == "form_post")
    }

    /// Addresses of services (RFC 8707 §2), as sent.
    package var resources: [String] {
        fields.filter { $0.name.isExactly("resource") && !$0.value.isEmpty }.map(\.value)
    }

    /// As sent, not proven.
    package var redirectURI: String? { self["redirect_uri"] }

    /// Whether no page may be shown; the request need not be valid.
    package var wantsNoPage: Bool { self["prompt"] == "none" }
}

/// An answer that the browser takes to a client.
package enum ClientAnswer: Hashable, Sendable {
    /// An address with the answer in its query.
    case redirect(String)
    /// A form to post there (OAuth 2.0 Form Post Response Mode §2).
    case post(to: String, fields: [FormField])
}

/// A proven redirect URI and the `state` that goes with every answer there.
package struct AnswerAddress: Hashable, Sendable {
    package let redirectURI: String
    let state: String?
    /// `response_mode=form_post`
    let isPosted: Bool

    /// With a code (RFC 6749 §4.1.2), and `iss` (RFC 9207 §2).
    package func answer(code: GrantedCode, issuer: String) -> ClientAnswer { answer([("code", code.reveal())], issuer) }

    /// With an error (RFC 6749 §4.1.2.1).
    package func answer(_ error: ProviderError, issuer: String) -> ClientAnswer {
        answer([("error", error.code.rawValue), ("error_description", error.text)], issuer)
    }

    private func answer(_ answer: [(String, String)], _ issuer: String) -> ClientAnswer {
        let fields = answer + (state.map { [("state", $0)] } ?? []) + [("iss", issuer)]
        if isPosted { return .post(to: redirectURI, fields: fields.map { FormField(name: $0, value: $1) }) }
        let query = fields.map { "\($0)=\(PercentEncoding.encodeComponent($1))" }.joined(separator: "&")
        return .redirect(AddressQuery.append(query, to: redirectURI))
    }
}

/// `prompt`, but for `consent`.
package enum AuthorizePrompt: Hashable, Sendable {
    case none
    case login
}

/// An authorization request that may be answered with a code: client and redirect URI are proven, the rest is valid.
package struct ValidatedAuthorizeRequest: Sendable {
    package let client: OpenIDClient
    package let address: AnswerAddress
    package let scopes: [OpenIDScope]
    /// What it asks access to (RFC 8707); empty for userinfo alone.
    package let services: [Service]
    let nonce: String?
    let challenge: String?
    package let prompt: AuthorizePrompt?
    /// `prompt=consent`: a third-party application asks even for what was allowed before.
    let asksConsent: Bool
    /// Seconds.
    let maximumAge: Int64?
    /// `id_token_hint`, not verified.
    let hint: String?
    /// `RequestSeal.Kind.mark`
    let mark: String?

    /// The longest `state` and `nonce`, in bytes.
    package static let maximumOpaque = 8_192

    /// - Parameter services: `OpenIDProvider.services(of:)` of the request.
    /// - Throws: an error for the client.
    package init(
        _ request: AuthorizeRequest, client: OpenIDClient, address: AnswerAddress, services: [Service] = []
    ) throws(Failure) {
        try request.fields.checkOnce(Self.names)
        if request["request"] != nil { throw .oauth(.requestNotSupported, "request objects are not supported") }
        if request["request_uri"] != nil { throw .oauth(.requestURINotSupported, "request_uri is not supported") }
        guard let type = request["response_type"] else { throw .oauth(.invalidRequest, "response_type is missing") }
        guard type == "code" else { throw .oauth(.unsupportedResponseType, "response_type must be code") }
        guard ["query", "form_post"].contains(request["response_mode"] ?? "query") else {
            throw .oauth(.invalidRequest, "response_mode must be query or form_post")
        }
        self.client = client
        self.address = address
        self.services = services
        scopes = try Self.scopes(of: request, client, services)
        nonce = request["nonce"]
        try Self.checkOpaque("state", address.state)
        try Self.checkOpaque("nonce", nonce)
        challenge = try Self.challenge(of: request, client)
        let words = (request["prompt"] ?? "").split(separator: " ")
        prompt = try Self.prompt(words)
        asksConsent = words.contains("consent")
        maximumAge = try Self.maximumAge(of: request)
        hint = request["id_token_hint"]
        mark = request[Self.markName]
    }

    /// The parameters that must not be repeated. Others are ignored.
    private static let names = [
        "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "prompt", "max_age", "id_token_hint", "request", "request_uri", "display",
        "ui_locales", "login_hint", "acr_values", "claims", markName,
    ]
    static let markName = "bramley_mark"

    /// Those of the request that this client may have. A device's request has the same rules.
    static func scopes(
        of request: AuthorizeRequest, _ client: OpenIDClient, _ services: [Service]
    ) throws(Failure) -> [OpenIDScope] {
        // Without any, the least (RFC 6749 §3.3).
        let asked = OpenIDScope.parse(request["scope"] ?? (services.isEmpty ? OpenIDScope.openid.rawValue : ""))
        guard asked.contains(.openid) || !services.isEmpty else {
            throw .oauth(.invalidScope, "scope must contain openid, or resource must name a service")
        }
        return asked.filter { scope in
            client.mayRequest(scope) && (scope.isIdentity || services.contains { $0.has(scope) })
        }
    }

    /// Control characters would not survive the round trip through Apple (RFC 6749 Appendix A.5 has none).
    private static func checkOpaque(_ name: String, _ text: String?) throws(Failure) {
        guard let text else { return }
        if text.utf8.count > maximumOpaque {
            throw .oauth(.invalidRequest, "\(name) is longer than \(maximumOpaque) bytes")
        }
        if !PlainLine.isPlain(text) { throw .oauth(.invalidRequest, "\(name) has control characters") }
    }

    /// Only S256 (RFC 9700 §2.1.1): without a method it would be `plain` (RFC 7636 §4.3).
    private static func challenge(of request: AuthorizeRequest, _ client: OpenIDClient) throws(Failure) -> String? {
        let method = request["code_challenge_method"]
        guard let challenge = request["code_challenge"] else {
            if method != nil { throw .oauth(.invalidRequest, "code_challenge is missing") }
            guard !client.isPublic, !client.requiresPKCE else {
                throw .oauth(.invalidRequest, "this client must send a code_challenge (RFC 7636)")
            }
            return nil
        }
        guard method == "S256" else { throw .oauth(.invalidRequest, "code_challenge_method must be S256") }
        guard Base64URL.decode(challenge)?.count == Digest256.size else {
            throw .oauth(.invalidRequest, "code_challenge must be 43 characters of base64url")
        }
        return challenge
    }

    private static func prompt(_ words: [Substring]) throws(Failure) -> AuthorizePrompt? {
        if words.contains("none") {
            guard words.count == 1 else { throw .oauth(.invalidRequest, "prompt=none excludes other values") }
            return AuthorizePrompt.none
        }
        // At Apple the person chooses the account (OIDC Core §3.1.2.1, `select_account`).
        return words.contains("login") || words.contains("select_account") ? .login : nil
    }

    private static func maximumAge(of request: AuthorizeRequest) throws(Failure) -> Int64? {
        guard let text = request["max_age"] else { return nil }
        guard text.utf8.count <= 12, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let age = Int64(text) else {
            throw .oauth(.invalidRequest, "max_age must be a number of seconds")
        }
        return age
    }

    /// Whether any program on the visitor's machine could have sent it (RFC 8252 §8.6).
    var isNative: Bool { client.isPublic && LocalProgram(redirectURI: address.redirectURI) != nil }

    /// Whether the person may be asked once they are signed in: the sign-in alone then tells the client nothing.
    package var mayAsk: Bool { client.isForeign || isNative }

    /// The request as the query of a return target, without ignored parameters.
    func query(mark: String) -> String {
        let prompts = [prompt == .login ? "login" : nil, asksConsent ? "consent" : nil].compactMap(\.self)
        let fields: [(String, String?)] = [
            ("response_type", "code"), ("client_id", client.clientID), ("redirect_uri", address.redirectURI),
            ("scope", OpenIDScope.text(scopes)), ("state", address.state), ("nonce", nonce),
            ("code_challenge", challenge), ("code_challenge_method", challenge.map { _ in "S256" }),
            ("max_age", maximumAge.map { String($0) }), ("response_mode", address.isPosted ? "form_post" : nil),
            ("prompt", prompts.isEmpty ? nil : prompts.joined(separator: " ")), (Self.markName, mark),
        ]
        return (fields + services.map { ("resource", $0.uri) }).compactMap { name, value in
            value.map { "\(name)=\(PercentEncoding.encodeComponent($0))" }
        }
        .joined(separator: "&")
    }

    /// Identifies the request in its mark.
    var digest: Digest256 { SHA256.hash(utf8: query(mark: "")) }
}

/// Sealed for one request: a time, and a person or a session.
struct RequestSeal: Hashable, Sendable {
    enum Kind: String {
        /// In a request before the person goes to Apple, to recognise the sign-in that answers it: otherwise
        /// `prompt=login` would repeat. The name is the person's of the `id_token_hint`; empty for anyone.
        case mark = "openid-authorize"
        /// In the form in which a person decides, in the session of this name.
        case decision = "openid-decision"

        fileprivate func purpose(_ hour: Int64) -> SealingPurpose { .other("\(rawValue)/\(hour)") }
    }

    static let maximumLength = 512

    var time: Timestamp
    var name: String

    func text(_ kind: Kind, for request: Digest256, with keyring: SealingKeyring) -> String {
        keyring.sealText(
            request.bytes + [UInt8](bigEndian: time.milliseconds) + Array(name.utf8), issuedAt: time,
            purpose: kind.purpose)
    }

    /// Nil when it is not ours, or another request's.
    static func open(
        _ text: String, _ kind: Kind, for request: Digest256, with keyring: SealingKeyring
    ) -> RequestSeal? {
        guard let plain = keyring.openText(text, maximumLength: maximumLength, purpose: kind.purpose),
            plain.count >= 40, constantTimeEquals(Array(plain[..<32]), request.bytes)
        else { return nil }
        return RequestSeal(
            time: Timestamp(milliseconds: Int64(bigEndianBytes: plain[32..<40])),
            name: String(decoding: plain[40...], as: UTF8.self))
    }
}
