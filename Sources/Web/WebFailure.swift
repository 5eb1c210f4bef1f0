import HTTP
import HTTPTypes
import Logging
import RelyingParty

/// Everything that ends a request of the web side without what was asked for. This file alone says which status, which
/// words and which log level each case has; the cause goes to the log only.
enum WebFailure: Error, Sendable {
    case signIn(SignInFailure, retry: ReturnTarget?)
    case notification(NotificationFailure)
    case store(StoreError)
    case routing(RoutingFailure)
    case badRequest(String)
    /// `return_to` names nothing of ours.
    case returnToRefused
    /// A request that changes something, and does not come from our pages.
    case crossSite
    case contentTooLarge
    case unsupportedMediaType
    case tooManyRequests(retryAfter: Int)
    /// The proxy's description of the original request is ambiguous.
    case originalRequest(OriginalRequest.Refusal)
    /// No session, where the API needs one.
    case signedOut
    /// A session whose user waits for approval, or is switched off.
    case userPending
    case userDisabled
    /// The access rules let other people in. `rule` counts from 1; `target` is what was asked for, when it is ours.
    case notAllowed(rule: Int?, target: ReturnTarget?)
    /// Assertions are asked for, and `assertion.audience` is not given.
    case assertionNotConfigured

    var status: HTTPResponse.Status {
        switch self {
        case .signIn(let failure, _): failure.isTemporary ? .serviceUnavailable : .badRequest
        case .notification(.refused): .badRequest
        case .notification, .store: .serviceUnavailable
        case .routing(let failure): failure.status
        case .badRequest, .returnToRefused: .badRequest
        case .crossSite, .originalRequest, .userPending, .userDisabled, .notAllowed: .forbidden
        case .contentTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .tooManyRequests: .tooManyRequests
        case .signedOut: .unauthorized
        case .assertionNotConfigured: .notFound
        }
    }

    /// The stable code of problem documents, log lines and, below `errors` in the strings, the error page.
    var code: String {
        switch self {
        case .signIn(let failure, _): failure.reason
        case .notification(.refused): "notification_refused"
        case .notification(.keysUnavailable): "keys_unavailable"
        case .notification(.storage), .store: "unavailable"
        case .routing(.notFound): "not_found"
        case .routing(.methodNotAllowed), .routing(.unknownMethod): "method_not_allowed"
        case .routing(.malformedPath), .badRequest: "bad_request"
        case .returnToRefused: "return_to_refused"
        case .crossSite: "cross_site"
        case .contentTooLarge: "content_too_large"
        case .unsupportedMediaType: "unsupported_media_type"
        case .tooManyRequests: "too_many_requests"
        case .originalRequest: "original_request"
        case .signedOut: "signed_out"
        case .userPending: "user_pending"
        case .userDisabled: "user_disabled"
        case .notAllowed: "not_allowed"
        case .assertionNotConfigured: "assertion_not_configured"
        }
    }

    /// For the operator; never holds a token, a code or an address.
    var detail: String? {
        switch self {
        case .signIn(let failure, _): failure.detail
        case .notification(.refused(let text)), .notification(.keysUnavailable(let text)),
            .notification(.storage(let text)), .badRequest(let text):
            text
        case .store(let error): error.text
        case .originalRequest(let refusal): "\(refusal)"
        case .notAllowed(let rule?, _): "rule \(rule)"
        default: nil
        }
    }

    /// Peer nonsense is `debug`, what a visitor may ask about is `info`, what an operator must see is more.
    var level: Logger.Level {
        switch self {
        case .signIn(let failure, _): Self.level(of: failure)
        case .store: .error
        case .originalRequest: .warning
        case .returnToRefused, .crossSite, .tooManyRequests, .userPending, .userDisabled, .notAllowed,
            .assertionNotConfigured:
            .info
        // `Notifications` writes the one line of these itself.
        case .notification: .debug
        case .routing, .badRequest, .contentTooLarge, .unsupportedMediaType, .signedOut: .debug
        }
    }

    private static func level(of failure: SignInFailure) -> Logger.Level {
        switch failure {
        case .malformedCallback, .invalidState: .debug
        case .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled, .providerError, .revoked: .info
        case .identityToken, .tokenMismatch, .clock, .keysUnavailable, .providerUnavailable, .codeRefused: .warning
        case .clientRefused, .storage: .error
        }
    }

    /// Fields that belong to the status.
    var fields: HTTPFields {
        switch self {
        case .routing(let failure): failure.fields
        case .tooManyRequests(let seconds): [.retryAfter: String(seconds)]
        // RFC 9110 §15.5.2 wants a challenge; Bearer is the one that makes no browser ask for a password.
        case .signedOut: [.wwwAuthenticate: "Bearer"]
        case .signIn, .notification, .store: status == .serviceUnavailable ? [.retryAfter: "30"] : HTTPFields()
        default: HTTPFields()
        }
    }

    /// Whether the page has a number to pass on: somebody will look it up, so only what the log shows by default.
    var showsErrorID: Bool {
        switch self {
        case .signIn(.cancelled, _), .tooManyRequests, .userPending, .userDisabled, .notAllowed: false
        default: level > .debug
        }
    }
}
