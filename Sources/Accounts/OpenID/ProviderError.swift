/// An error of the protocol, as a client reads it.
package struct ProviderError: Error, Hashable, Sendable {
    /// The codes of RFC 6749 §4.1.2.1 and §5.2, OIDC Core §3.1.2.6 and RFC 6750 §3.1.
    package enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid_request"
        case accessDenied = "access_denied"
        case unsupportedResponseType = "unsupported_response_type"
        case invalidScope = "invalid_scope"
        case serverError = "server_error"
        case temporarilyUnavailable = "temporarily_unavailable"
        case loginRequired = "login_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unsupportedGrantType = "unsupported_grant_type"
        case invalidToken = "invalid_token"
        case insufficientScope = "insufficient_scope"
    }

    package var code: Code
    /// `error_description`, for the client's developer: ASCII without quotes and backslashes, and nothing that was sent.
    package var text: String
    /// For the operator's log, where the client must not learn which it was.
    package var cause: String?

    package init(_ code: Code, _ text: String, cause: String? = nil) {
        self.code = code
        self.text = text
        self.cause = cause
    }

    func caused(by cause: String?) -> ProviderError { ProviderError(code, text, cause: cause) }
}
