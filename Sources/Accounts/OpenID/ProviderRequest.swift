package import Coding
import Crypto
import Logging
import Storage

/// A request to the token or revocation endpoint, as parsed.
package struct ProviderRequest: Sendable {
    /// A registered id, or the address of a document.
    let clientID: String
    /// Any of them may be its secret (RFC 6749 §2.3.1). Empty without client authentication.
    let secrets: [OpenIDClientSecret]
    let fields: [FormField]

    /// Of a form, with the values of `Authorization`. Throws `invalid_request` or `invalid_client`.
    package init(_ fields: [FormField], authorization: [String]) throws(Failure) {
        try fields.checkOnce(Self.names)
        self.fields = fields
        let named = try fields.value("client_id").map(Self.clientID)
        let secret = fields.value("client_secret").map { OpenIDClientSecret(unchecked: $0) }
        if fields.value("client_assertion") != nil || fields.value("client_assertion_type") != nil {
            throw .oauth(.invalidClient, "client assertions are not supported")
        }
        if let first = authorization.first {
            guard authorization.count == 1, secret == nil else {
                throw .oauth(.invalidRequest, "the client uses two authentication methods")
            }
            let (id, secrets) = try Self.basic(first)
            guard named.map({ $0.isExactly(id) }) ?? true else {
                throw .oauth(.invalidRequest, "client_id is not the authenticated client")
            }
            (clientID, self.secrets) = (id, secrets)
        } else if let named {
            (clientID, secrets) = (named, secret.map { [$0] } ?? [])
        } else {
            throw .oauth(.invalidClient, "no client authentication")
        }
    }

    subscript(name: String) -> String? { fields.value(name) }

    /// The service that the token is for (RFC 8707 §2.2).
    ///
    /// - Throws: `invalid_target` for several: a token is for one.
    func resource() throws(Failure) -> String? {
        let named = fields.filter { $0.name.isExactly("resource") && !$0.value.isEmpty }
        guard named.count <= 1 else { throw .oauth(.invalidTarget, "resource must name one service") }
        return named.first?.value
    }

    private static let names = [
        "grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "client_id", "client_secret",
        "client_assertion", "client_assertion_type", "token", "token_type_hint", "device_code",
    ]

    private static func clientID(_ text: String) throws(Failure) -> String {
        guard OpenIDClientID(named: text) != nil else { throw .oauth(.invalidClient, "unknown client") }
        return text
    }

    /// Both halves are form-encoded before they are joined (RFC 6749 §2.3.1); Authlib and others leave that out, so a
    /// secret may be either form. Ours and ids have no character that differs: only an operator's own secret may.
    /// - Returns: no secret for an empty one (RFC 6749 §2.3.1), as oidc-agent sends for a public client.
    static func basic(_ value: String) throws(Failure) -> (String, [OpenIDClientSecret]) {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let bytes = Base64.decode(Array(parts[1].drop { $0 == " " }.utf8)),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { throw .oauth(.invalidClient, "Authorization must be Basic") }
        func decoded(_ half: ArraySlice<UInt8>) -> String {
            var text: [UInt8] = []
            FormDecoder.append(decoding: Array(half).span, to: &text)
            return String(decoding: text, as: UTF8.self)
        }
        let id = try clientID(decoded(bytes[..<colon]))
        let secret = bytes[(colon + 1)...]
        if secret.isEmpty { return (id, []) }
        return (
            id, [decoded(secret), String(decoding: secret, as: UTF8.self)].map { OpenIDClientSecret(unchecked: $0) }
        )
    }
}

extension [FormField] {
    /// The first value of a parameter; empty ones count as absent (RFC 6749 §3.1).
    func value(_ name: String) -> String? { first { $0.name.isExactly(name) && !$0.value.isEmpty }?.value }

    func isRepeated(_ name: String) -> Bool { count { $0.name.isExactly(name) } > 1 }

    /// - Throws: `invalid_request` for a parameter that is given twice.
    func checkOnce(_ names: [String]) throws(Failure) {
        for name in names where isRepeated(name) { throw .oauth(.invalidRequest, "\(name) is given more than once") }
    }
}

/// A request to the token endpoint (RFC 6749 §4.1.3, §6).
enum TokenRequest {
    case code(GrantedCode, redirectURI: String, verifier: String?, resource: String?)
    case refresh(GrantedRefreshToken, scopes: [OpenIDScope]?, resource: String?)
    case device(GrantedDeviceCode, resource: String?)

    /// RFC 8628 §3.4.
    static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

    init(_ request: ProviderRequest) throws(Failure) {
        switch request["grant_type"] {
        case "authorization_code":
            guard let code = request["code"] else { throw .oauth(.invalidRequest, "code is missing") }
            guard let uri = request["redirect_uri"] else { throw .oauth(.invalidRequest, "redirect_uri is missing") }
            guard let code = GrantedCode(parsing: code) else { throw Self.refusedCode() }
            self = .code(
                code, redirectURI: uri, verifier: request["code_verifier"], resource: try request.resource())
        case "refresh_token":
            guard let text = request["refresh_token"] else { throw .oauth(.invalidRequest, "refresh_token is missing") }
            guard let token = GrantedRefreshToken(parsing: text) else { throw Self.refusedRefresh() }
            self = .refresh(
                token, scopes: try request["scope"].map(Self.scopes), resource: try request.resource())
        case Self.deviceGrant:
            guard let code = request["device_code"] else { throw .oauth(.invalidRequest, "device_code is missing") }
            guard let code = GrantedDeviceCode(parsing: code) else { throw Self.refusedCode() }
            self = .device(code, resource: try request.resource())
        case nil: throw .oauth(.invalidRequest, "grant_type is missing")
        default:
            throw .oauth(
                .unsupportedGrantType, "grant_type must be authorization_code, refresh_token or \(Self.deviceGrant)")
        }
    }

    /// RFC 6749 §6: only granted scopes, so no unknown ones.
    private static func scopes(_ text: String) throws(Failure) -> [OpenIDScope] {
        let words = text.split(separator: " ")
        guard !words.isEmpty, words.allSatisfy({ OpenIDScope(rawValue: String($0)) != nil }) else {
            throw .oauth(.invalidScope, "the scope is unknown")
        }
        return OpenIDScope.parse(text)
    }

    /// The same answer for every reason, so that a guesser learns nothing; `cause` is for the operator's log.
    static func refusedCode(_ cause: String? = nil) -> Failure {
        .oauth(
            .invalidGrant, "the code is unknown, used, expired, or of another client, redirect_uri or code_verifier",
            cause: cause)
    }

    static func refusedRefresh(_ cause: String? = nil) -> Failure {
        .oauth(.invalidGrant, "the refresh token is unknown, used, ended, or of another client", cause: cause)
    }
}

/// An error of the protocol, for the client.
package struct ProviderError: Hashable, Sendable {
    /// The codes of RFC 6749 §4.1.2.1 and §5.2, OIDC Core §3.1.2.6, RFC 6750 §3.1 and RFC 8628 §3.5.
    package enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid_request"
        case accessDenied = "access_denied"
        case unsupportedResponseType = "unsupported_response_type"
        case invalidScope = "invalid_scope"
        case temporarilyUnavailable = "temporarily_unavailable"
        case loginRequired = "login_required"
        case interactionRequired = "interaction_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unsupportedGrantType = "unsupported_grant_type"
        case invalidToken = "invalid_token"
        case invalidTarget = "invalid_target"
        case consentRequired = "consent_required"
        case unauthorizedClient = "unauthorized_client"
        case authorizationPending = "authorization_pending"
        case slowDown = "slow_down"
        case expiredToken = "expired_token"
    }

    package var code: Code
    /// `error_description`, for the client's developer: ASCII without quotes and backslashes, and nothing that was sent.
    package var text: String

    package init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }

    fileprivate var reason: ReasonCode {
        switch code {
        case .invalidClient: .openIDClientRefused
        case .invalidGrant, .expiredToken: .openIDGrantRefused
        case .invalidToken: .invalidToken
        case .temporarilyUnavailable: .unavailable
        default: .invalidRequest
        }
    }
}

extension Failure {
    /// - Parameter cause: for the operator's log only, instead of `text`.
    package static func oauth(_ code: ProviderError.Code, _ text: String, cause: String? = nil) -> Failure {
        let error = ProviderError(code, text)
        var failure = Failure(error.reason, cause ?? text)
        failure.oauth = error
        // Access tokens expire every hour; devices ask every five seconds.
        if [.invalidToken, .authorizationPending, .slowDown].contains(code) { failure.level = .debug }
        return failure
    }

    /// - Parameter client: for the log.
    package func of(_ client: OpenIDClient) -> Failure {
        guard oauth != nil else { return self }
        var failure = self
        failure.detail = "client \(client.clientID): \(description)"
        return failure
    }
}
