import Accounts
import HTTP
import HTTPTypes
import Logging
import Storage

/// Everything that can make a web request fail. Only this file assigns each case its status, texts and log level; the
/// cause goes only to the log.
enum WebFailure: StoreFailure, Sendable {
    case signIn(SignInFailure, retry: SignInRetry?)
    /// Of an app.
    case nativeSignIn(SignInFailure)
    /// No bundle IDs are configured.
    case nativeNotConfigured
    /// New people may not sign up.
    case signUpClosed
    case notification(NotificationFailure)
    case store(StoreError)
    case routing(RoutingFailure)
    case badRequest(String)
    /// `return_to` is not an allowed target.
    case returnToRefused
    /// A request that changes something and does not come from our pages.
    case crossSite
    case contentTooLarge
    case unsupportedMediaType
    /// `retry` is for a sign-in on its way back from Apple.
    case tooManyRequests(retryAfter: Int, retry: SignInRetry? = nil)
    /// The proxy's description of the original request is ambiguous.
    case originalRequest(OriginalRequest.Refusal)
    /// There is no session, and the API needs one.
    case signedOut
    /// The session's user waits for approval, or is disabled.
    case userPending
    case userDisabled
    /// The access rules admit other people. `rule` counts from 1; `target` is what was requested, if it is ours;
    /// `person` is who asked, if signed in.
    case notAllowed(rule: Int?, target: ReturnTarget?, person: User?)
    /// Assertions are requested, and `assertion.audience` is not configured.
    case assertionNotConfigured
    /// An API request that docs/openapi.yaml does not allow; its developer reads the text, which contains nothing that
    /// was sent.
    case invalidRequest(String)
    /// No credentials where an API key is needed; or none that are a live key.
    case apiKeyMissing
    case apiKeyRefused(BackendCredential.Scheme)
    /// An expired key.
    case apiKeyExpired(BackendCredential.Scheme)
    case insufficientScope(APIScope)
    case userNotFound
    case sessionNotFound
    /// There is no such endpoint, or no such waiting event.
    case webhookNotFound
    /// There is no such program.
    case clientNotFound
    case externalIDTaken
    /// Only an operator gives and takes `operator.groups`.
    case operatorGroup
    /// `If-Match` or `If-None-Match` does not hold (RFC 9110 §13.1).
    case preconditionFailed
    /// Events after that position may have been deleted.
    case cursorExpired
    /// The sign-in is too old for what cannot be undone.
    case freshSignInRequired
    /// A step of a link. `way` is for visitors.
    case link(LinkFailure, way: LinkWay?)
    /// There is no ticket, and the app needs one.
    case linkTokenMissing
    /// No program is registered.
    case openIDNotConfigured
    /// A program's request names no client of ours, or no redirect URI of this client: nobody can be told but the visitor.
    case openIDClientUnknown
    case openIDAddressRefused(OpenIDAddress)
    /// Told to the program by the browser; only for the log.
    case openIDErrorReturned(ProviderError, OpenIDClient)
    /// The person is in no group of the client.
    case openIDNotAllowed(OpenIDRefusal)
    /// An answer of the protocol to a program.
    case provider(ProviderError)
    /// There is no access token.
    case bearerMissing
    /// An access token in two places (RFC 6750 §2).
    case bearerMalformed

    init(store error: StoreError) { self = .store(error) }

    var status: HTTPResponse.Status {
        switch self {
        case .signIn(let failure, _), .nativeSignIn(let failure):
            failure.isTemporary ? .serviceUnavailable : .badRequest
        case .notification(.refused), .notification(.otherAudience): .badRequest
        case .notification, .store: .serviceUnavailable
        case .routing(let failure): failure.status
        case .badRequest, .returnToRefused, .invalidRequest, .openIDClientUnknown, .openIDAddressRefused,
            .bearerMalformed:
            .badRequest
        case .openIDErrorReturned: .seeOther
        case .provider(let error): error.status
        case .insufficientScope, .freshSignInRequired, .signUpClosed: .forbidden
        case .userNotFound, .sessionNotFound, .webhookNotFound, .clientNotFound, .assertionNotConfigured,
            .nativeNotConfigured, .openIDNotConfigured:
            .notFound
        case .externalIDTaken: .conflict
        case .link(let failure, _): Self.status(of: failure)
        case .cursorExpired: .gone
        case .preconditionFailed: .preconditionFailed
        case .crossSite, .originalRequest, .userPending, .userDisabled, .notAllowed, .openIDNotAllowed,
            .operatorGroup:
            .forbidden
        case .contentTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .tooManyRequests: .tooManyRequests
        case .signedOut, .apiKeyMissing, .apiKeyRefused, .apiKeyExpired, .linkTokenMissing, .bearerMissing:
            .unauthorized
        }
    }

    private static func status(of failure: LinkFailure) -> HTTPResponse.Status {
        switch failure {
        case .invalid, .codeInvalid: .badRequest
        case .unknown: .notFound
        case .expired: .gone
        case .ended, .identityLinkedElsewhere, .accountAlreadyLinked: .conflict
        case .userPending, .userDisabled: .forbidden
        case .storage: .serviceUnavailable
        case .tooMany: .tooManyRequests
        case .signIn(let failure): failure.isTemporary ? .serviceUnavailable : .badRequest
        }
    }

    /// The stable code in problem documents, log lines and, under `errors` in the strings, the error page.
    var code: String { reasonCode.rawValue }

    var reasonCode: ReasonCode {
        switch self {
        // An app has no state: what it sends back is the nonce.
        case .nativeSignIn(.invalidState): .invalidNonce
        case .nativeSignIn(.staleState): .nonceExpired
        case .nativeSignIn(.replayed): .nonceUsed
        case .nativeSignIn(.malformedCallback): .invalidRequest
        case .nativeSignIn(let failure): failure.reasonCode
        case .nativeNotConfigured: .nativeNotConfigured
        case .signUpClosed: .signUpClosed
        case .signIn(let failure, _): failure.reasonCode
        case .notification(.refused), .notification(.otherAudience): .notificationRefused
        case .notification(.keysUnavailable): .keysUnavailable
        case .notification(.storage), .store: .unavailable
        case .routing(.notFound): .notFound
        case .routing(.methodNotAllowed), .routing(.unknownMethod): .methodNotAllowed
        case .routing(.malformedPath), .badRequest: .badRequest
        case .returnToRefused: .returnToRefused
        case .crossSite: .crossSite
        case .contentTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .tooManyRequests: .tooManyRequests
        case .originalRequest: .originalRequest
        case .signedOut: .signedOut
        case .userPending: .userPending
        case .userDisabled: .userDisabled
        case .notAllowed: .notAllowed
        case .assertionNotConfigured: .assertionNotConfigured
        case .invalidRequest: .invalidRequest
        case .apiKeyMissing: .apiKeyRequired
        case .apiKeyRefused: .invalidToken
        case .apiKeyExpired: .apiKeyExpired
        case .insufficientScope: .insufficientScope
        case .userNotFound: .userNotFound
        case .sessionNotFound: .sessionNotFound
        case .webhookNotFound: .webhookNotFound
        case .clientNotFound: .clientNotFound
        case .externalIDTaken: .externalIDTaken
        case .operatorGroup: .operatorGroup
        case .preconditionFailed: .preconditionFailed
        case .cursorExpired: .cursorExpired
        case .freshSignInRequired: .freshSignInRequired
        case .link(let failure, _): failure.reasonCode
        case .linkTokenMissing, .bearerMissing: .tokenRequired
        case .openIDNotConfigured: .openIDNotConfigured
        case .openIDClientUnknown: .openIDClientUnknown
        case .openIDAddressRefused: .openIDRedirectRefused
        case .openIDErrorReturned: .openIDErrorReturned
        case .bearerMalformed: .invalidRequest
        case .openIDNotAllowed: .openIDNotAllowed
        case .provider(let error): Self.reasonCode(of: error)
        }
    }

    private static func reasonCode(of error: ProviderError) -> ReasonCode {
        switch error.code {
        case .invalidClient: .openIDClientRefused
        case .invalidGrant: .openIDGrantRefused
        case .invalidToken: .invalidToken
        default: .invalidRequest
        }
    }

    /// For the operator; never contains a token, a code or an address.
    var detail: String? {
        switch self {
        case .signIn(let failure, _), .nativeSignIn(let failure): failure.detail
        case .notification(.refused(let text)), .notification(.keysUnavailable(let text)),
            .notification(.storage(let text)), .badRequest(let text),
            .invalidRequest(let text):
            text
        case .insufficientScope(let scope): scope.rawValue
        case .store(let error): error.text
        case .originalRequest(let refusal): refusal.text
        case .notAllowed(let rule?, _, _): "rule \(rule)"
        case .link(let failure, _): failure.detail
        case .openIDAddressRefused(let address): address.text
        case .openIDErrorReturned(let error, let client):
            "client \(client.id): \(error.code.rawValue), \(error.text)"
        case .openIDNotAllowed(let refusal): "client \(refusal.client.id)"
        case .provider(let error): error.cause ?? error.text
        default: nil
        }
    }

    /// For the request's developer; in the problem document.
    var explanation: String? {
        switch self {
        case .invalidRequest(let text), .badRequest(let text), .nativeSignIn(.malformedCallback(let text)): text
        case .returnToRefused:
            "return_to and error_return must be a path of this site, or an address on an origin of "
                + "login.allowedReturnOrigins"
        case .insufficientScope(let scope): "the API key lacks the scope \(scope.rawValue)"
        case .apiKeyExpired: "the API key has expired; ask the operator for a new one"
        case .operatorGroup:
            "only an operator gives or takes a group of operator.groups, or lets in somebody who is in one"
        default: nil
        }
    }

    /// Invalid requests are `debug`, what a visitor may ask about is `info`, what an operator must see is higher.
    var level: Logger.Level {
        switch self {
        case .signIn(let failure, _), .nativeSignIn(let failure): Self.level(of: failure)
        case .store: .error
        case .originalRequest: .warning
        // A program that does not work, or a person who stands before it.
        case .openIDClientUnknown, .openIDAddressRefused, .openIDErrorReturned, .openIDNotAllowed, .openIDNotConfigured:
            .info
        case .provider(let error): [.invalidClient, .invalidGrant].contains(error.code) ? .info : .debug
        case .returnToRefused, .crossSite, .tooManyRequests, .userPending, .userDisabled, .notAllowed,
            .assertionNotConfigured, .nativeNotConfigured, .signUpClosed:
            .info
        // A revoked key or a missing scope is somebody's application that does not work.
        case .apiKeyRefused, .apiKeyExpired, .insufficientScope, .freshSignInRequired: .info
        // An application that asks for more than it may.
        case .operatorGroup: .warning
        case .invalidRequest, .apiKeyMissing, .userNotFound, .sessionNotFound, .webhookNotFound, .clientNotFound,
            .externalIDTaken, .preconditionFailed, .cursorExpired:
            .debug
        // `Notifications` logs these itself.
        case .notification: .debug
        case .routing, .badRequest, .contentTooLarge, .unsupportedMediaType, .signedOut, .linkTokenMissing,
            .bearerMissing, .bearerMalformed:
            .debug
        case .link(let failure, _): Self.level(of: failure)
        }
    }

    private static func level(of failure: LinkFailure) -> Logger.Level {
        switch failure {
        case .invalid, .unknown: .debug
        case .expired, .ended, .codeInvalid, .identityLinkedElsewhere, .accountAlreadyLinked, .tooMany, .userPending,
            .userDisabled:
            .info
        case .storage: .error
        case .signIn(let failure): level(of: failure)
        }
    }

    private static func level(of failure: SignInFailure) -> Logger.Level {
        switch failure {
        case .malformedCallback, .invalidState: .debug
        case .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled, .providerError, .revoked: .info
        case .identityToken, .tokenMismatch, .clock, .keysUnavailable, .providerUnavailable, .answerLost, .codeRefused:
            .warning
        case .clientRefused, .storage: .error
        }
    }

    /// Fields required by the status, and by a program's window, which must keep its opener until it is back there.
    var fields: HTTPFields {
        let fields = statusFields
        return switch self {
        case .signIn(_, let retry?), .tooManyRequests(_, let retry?):
            retry.target.isAuthorizeRequest ? HTTPFields(fields + SecurityHeaders.keepingOpener) : fields
        default: fields
        }
    }

    private var statusFields: HTTPFields {
        switch self {
        case .routing(let failure): failure.fields
        case .tooManyRequests(let seconds, _): [.retryAfter: String(seconds)]
        // RFC 9110 §15.5.2 requires a challenge; Bearer does not make a browser prompt for a password.
        case .signedOut, .linkTokenMissing: [.wwwAuthenticate: "Bearer"]
        // RFC 6750 §3: no error code where no credentials were sent.
        case .apiKeyMissing, .bearerMissing: [.wwwAuthenticate: Self.challenge]
        case .bearerMalformed: [.wwwAuthenticate: Self.challenge + ", error=\"invalid_request\""]
        case .provider(let error): error.fields
        case .openIDNotAllowed: SecurityHeaders.keepingOpener
        case .apiKeyRefused(let scheme): Self.challenges(refused: scheme)
        case .apiKeyExpired(let scheme):
            Self.challenges(refused: scheme, because: ", error_description=\"The API key has expired\"")
        case .insufficientScope(let scope):
            [.wwwAuthenticate: Self.challenge + ", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""]
        case .link(.tooMany(let seconds), _): [.retryAfter: String(max(1, seconds))]
        case .signIn, .nativeSignIn, .notification, .store, .link:
            status == .serviceUnavailable ? [.retryAfter: "30"] : HTTPFields()
        default: HTTPFields()
        }
    }

    private static let challenge = "Bearer realm=\"bramley\""

    /// RFC 6749 §5.2 requires the attempted scheme among the challenges. Otherwise Basic is not offered: it would make
    /// a browser that strays here prompt its user for a password.
    /// - Parameter description: the parameter `error_description`, with a leading comma.
    private static func challenges(
        refused scheme: BackendCredential.Scheme, because description: String = ""
    ) -> HTTPFields {
        var fields: HTTPFields = [.wwwAuthenticate: challenge + ", error=\"invalid_token\"" + description]
        if scheme == .basic {
            fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"bramley\", charset=\"UTF-8\""))
        }
        return fields
    }

    /// Cookies for the browser.
    var cookies: [String] {
        switch self {
        case .signIn(_, let retry?), .tooManyRequests(_, let retry?): retry.cookies
        case .link(_, let way?): way.cookies
        default: []
        }
    }

    /// The language in which the failed sign-in began, if `ui_locales` chose it.
    var language: String? {
        switch self {
        case .signIn(_, let retry), .tooManyRequests(_, let retry): retry?.language
        case .link(_, let way): way?.language
        default: nil
        }
    }

    /// Whether the page shows an error ID: only for failures that the log shows by default.
    var showsErrorID: Bool {
        switch self {
        case .signIn(.cancelled, _), .tooManyRequests, .userPending, .userDisabled, .openIDNotAllowed: false
        case .link(.signIn(.cancelled), _): false
        // A link that ended in an orderly way explains itself.
        case .link(let failure, _): level > .info || failure.isSignIn
        default: level > .debug
        }
    }
}

extension WebFailure {
    /// Who was refused, where the page names them.
    var person: User? {
        switch self {
        case .notAllowed(_, _, let person): person
        case .openIDNotAllowed(let refusal): refusal.person
        default: nil
        }
    }

    /// The program that the page is about.
    var program: OpenIDClient? {
        switch self {
        case .openIDAddressRefused(let address): address.client
        case .openIDNotAllowed(let refusal): refusal.client
        default: nil
        }
    }
}

/// What the page of a failed or refused sign-in knows of the page that began it.
struct SignInRetry: Sendable {
    /// Where another attempt leads.
    var target: ReturnTarget
    /// Where it leads when cancelled.
    var errorReturn: ReturnTarget?
    /// The language chosen by `ui_locales`; nil when the browser's own is right.
    var language: String?
    /// `Set-Cookie` for what would otherwise be lost.
    var cookies: [String] = []
}
