/// Why a sign-in, a notification, a proxy's request or an API request was refused: stable codes, the same in log lines,
/// problem documents, the audit log and under `errors` in the pages' strings. `entry` explains each.
package enum ReasonCode: String, Sendable, CaseIterable {
    // Sign-ins.
    case malformedCallback = "malformed_callback"
    case invalidState = "invalid_state"
    case staleState = "stale_state"
    case wrongBrowser = "wrong_browser"
    case missingBinding = "missing_binding"
    case replayed
    case cancelled
    case providerError = "provider_error"
    case identityToken = "identity_token"
    case tokenMismatch = "token_mismatch"
    case clock
    case keysUnavailable = "keys_unavailable"
    case providerUnavailable = "provider_unavailable"
    case codeRefused = "code_refused"
    case clientRefused = "client_refused"
    case revoked
    case storage
    case userPending = "user_pending"
    case userDisabled = "user_disabled"
    case signUpClosed = "sign_up_closed"
    case returnToRefused = "return_to_refused"

    // Only sign-ins of apps.
    case invalidNonce = "invalid_nonce"
    case nonceExpired = "nonce_expired"
    case nonceUsed = "nonce_used"
    case nativeNotConfigured = "native_not_configured"

    // Notifications.
    case notificationRefused = "notification_refused"

    // Requests of proxies.
    case notAllowed = "not_allowed"
    case originalRequest = "original_request"
    case assertionNotConfigured = "assertion_not_configured"

    // The API, and requests of any kind.
    case signedOut = "signed_out"
    case apiKeyRequired = "api_key_required"
    case invalidToken = "invalid_token"
    case apiKeyExpired = "api_key_expired"
    case insufficientScope = "insufficient_scope"
    case invalidRequest = "invalid_request"
    case userNotFound = "user_not_found"
    case sessionNotFound = "session_not_found"
    case webhookNotFound = "webhook_not_found"
    case clientNotFound = "client_not_found"
    case externalIDTaken = "external_id_taken"
    case operatorGroup = "operator_group"
    case preconditionFailed = "precondition_failed"
    case cursorExpired = "cursor_expired"
    case freshSignInRequired = "fresh_sign_in_required"
    case unavailable
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case badRequest = "bad_request"
    case crossSite = "cross_site"
    case contentTooLarge = "content_too_large"
    case unsupportedMediaType = "unsupported_media_type"
    case tooManyRequests = "too_many_requests"

    // Links. The two with hyphens follow Apple's guide for account authentication extensions.
    case linkUnknown = "link_unknown"
    case linkExpired = "link_expired"
    case linkEnded = "link_ended"
    case codeInvalid = "code_invalid"
    case identityLinkedElsewhere = "identity-linked-elsewhere"
    case accountAlreadyLinked = "account-already-linked"
    case tokenRequired = "token_required"

    // Applications that sign people in by OpenID Connect.
    case openIDNotConfigured = "openid_not_configured"
    case openIDClientUnknown = "openid_client_unknown"
    case openIDErrorReturned = "openid_error_returned"
    case openIDRedirectRefused = "openid_redirect_refused"
    case openIDNotAllowed = "openid_not_allowed"
    case openIDClientRefused = "openid_client_refused"
    case openIDGrantRefused = "openid_grant_refused"

    /// The codes with which a sign-in can fail before the person is looked up.
    package static let signIns = allCases.prefix { $0 != .userPending }
}
