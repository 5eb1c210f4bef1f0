import Accounts
import HTTP
import HTTPTypes
import Logging
import Storage

/// A failed request: why, and what its answer says besides. The code alone decides on status, texts and log level; the
/// cause goes only to the log.
struct WebFailure: StoreFailure, Sendable {
    let failure: Failure
    private(set) var status: HTTPResponse.Status
    /// Of the line in the log.
    private(set) var level: Logger.Level
    /// What the page knows of its visitor; nil where there is no page.
    private(set) var visit: FailedVisit?
    /// As a program reads it that speaks OpenID Connect.
    var oauth: ProviderError?
    /// Fields besides those of the code.
    private var ownFields: HTTPFields

    init(_ failure: Failure, visit: FailedVisit? = nil, fields: HTTPFields = HTTPFields(), level: Logger.Level? = nil) {
        self.failure = failure
        self.visit = visit
        status = failure.code.status
        self.level = level ?? failure.code.entry.level
        ownFields = fields
    }

    init(
        _ code: ReasonCode, _ detail: String? = nil, visit: FailedVisit? = nil, fields: HTTPFields = HTTPFields(),
        level: Logger.Level? = nil
    ) {
        self.init(Failure(code, detail), visit: visit, fields: fields, level: level)
    }

    init(store error: StoreError) { self.init(.unavailable, error.text) }

    init(routing: RoutingFailure) {
        switch routing {
        case .notFound: self.init(.notFound)
        case .methodNotAllowed, .unknownMethod: self.init(.methodNotAllowed, fields: routing.fields)
        case .malformedPath: self.init(.badRequest)
        }
        status = routing.status
    }

    /// - Parameter client: for the log.
    init(_ error: ProviderError, of client: OpenIDClient? = nil) {
        let cause = error.cause ?? error.text
        let named = error.reason == .unavailable ? nil : client
        self.init(
            error.reason, named.map { "client \($0.id): \(cause)" } ?? cause, fields: error.fields,
            // A program's access token ends every hour.
            level: error.reason == .invalidToken ? .debug : nil)
        oauth = error
    }

    /// - Parameter failure: of an app's sign-in. An app has no state: what it sends back is the nonce.
    init(ofApp failure: Failure) {
        switch failure.code {
        case .invalidState: self.init(.invalidNonce)
        case .staleState: self.init(.nonceExpired)
        case .replayed: self.init(.nonceUsed)
        case .malformedCallback: self.init(.invalidRequest, failure.detail)
        default: self.init(failure)
        }
    }

    /// The stable code in problem documents, log lines and, under `errors` in the strings, the error page.
    var code: ReasonCode { failure.code }

    /// For the request's developer; in the problem document.
    var explanation: String? {
        switch code {
        case .invalidRequest, .badRequest: failure.detail
        case .returnToRefused:
            "return_to and error_return must be a path of this site, or an address on an origin of "
                + "login.allowedReturnOrigins"
        case .insufficientScope: failure.detail.map { "the API key lacks the scope \($0)" }
        case .apiKeyExpired: "the API key has expired; ask the operator for a new one"
        case .operatorGroup:
            "only an operator gives or takes a group of operator.groups, or lets in somebody who is in one"
        default: nil
        }
    }

    /// Fields required by the status, and by a program's window, which must keep its opener until it is back there.
    var fields: HTTPFields {
        var fields = ownFields
        if let seconds = failure.retryAfter {
            fields[.retryAfter] = String(seconds)
        } else if status == .serviceUnavailable {
            fields[.retryAfter] = "30"
        }
        if fields[.wwwAuthenticate] == nil { fields[.wwwAuthenticate] = challenge }
        return keepsOpener ? HTTPFields(fields + SecurityHeaders.keepingOpener) : fields
    }

    /// RFC 9110 §15.5.2 requires one; Bearer does not make a browser prompt for a password.
    private var challenge: String? {
        switch code {
        case .signedOut, .tokenRequired: "Bearer"
        // RFC 6750 §3: no error code where no credentials were sent.
        case .apiKeyRequired: Self.challenge
        default: nil
        }
    }

    static let challenge = "Bearer realm=\"bramley\""

    private var keepsOpener: Bool {
        if code == .openIDNotAllowed { return true }
        guard code.isOfSignIn, let visit, visit.link == nil else { return false }
        return visit.returnTo?.isAuthorizeRequest ?? false
    }

    /// Whether the page shows an error ID: only for failures that the log shows by default, and not where the page
    /// explains itself.
    var showsErrorID: Bool {
        switch code {
        case .cancelled, .tooManyRequests, .userPending, .userDisabled, .openIDNotAllowed, .linkExpired, .linkEnded,
            .codeInvalid, .identityLinkedElsewhere, .accountAlreadyLinked:
            false
        default: level > .debug
        }
    }
}

extension ReasonCode {
    /// With its reason phrase, which a number alone has not.
    var status: HTTPResponse.Status {
        let known: [HTTPResponse.Status] = [
            .seeOther, .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .conflict, .gone,
            .preconditionFailed, .contentTooLarge, .unsupportedMediaType, .tooManyRequests, .serviceUnavailable,
        ]
        let code = entry.status
        return known.first { $0.code == code } ?? HTTPResponse.Status(code: code)
    }

    /// Of a sign-in on its way back from Apple.
    var isOfSignIn: Bool { self == .tooManyRequests || Self.signIns.contains(self) }
}

extension WebFailure {
    /// Of an API request that docs/openapi.yaml does not allow; its developer reads the text, which contains nothing
    /// that was sent.
    static func invalidRequest(_ text: String) -> WebFailure { WebFailure(.invalidRequest, text) }

    static func badRequest(_ text: String) -> WebFailure { WebFailure(.badRequest, text) }

    /// - Parameter seconds: until the next one.
    static func tooManyRequests(retryAfter seconds: Int, visit: FailedVisit? = nil) -> WebFailure {
        var failure = Failure(.tooManyRequests)
        failure.retryAfter = seconds
        return WebFailure(failure, visit: visit)
    }

    /// The proxy's description of the original request is ambiguous.
    static func originalRequest(_ refusal: OriginalRequest.Refusal) -> WebFailure {
        WebFailure(.originalRequest, refusal.text)
    }

    /// The access rules admit other people.
    /// - Parameters:
    ///   - rule: counts from 1.
    ///   - target: what was requested, if it is ours.
    ///   - person: who asked, if signed in.
    static func notAllowed(rule: Int?, target: ReturnTarget?, person: User?) -> WebFailure {
        WebFailure(.notAllowed, rule.map { "rule \($0)" }, visit: FailedVisit(returnTo: target, person: person))
    }
}

/// What the page of a failure knows of its visitor, and of the page that began it.
struct FailedVisit: Sendable {
    /// Where another attempt leads, or where the link would have led.
    var returnTo: ReturnTarget?
    /// Where it leads when cancelled.
    var errorReturn: ReturnTarget?
    var link: LinkID?
    /// The language chosen by `ui_locales`; nil when the browser's own is right.
    var language: String?
    /// `Set-Cookie` for what would otherwise be lost.
    var cookies: [String] = []
    /// Who was refused, where the page names them.
    var person: User?
    /// The program that the page is about.
    var program: OpenIDClient?
    /// Tells the program.
    var declined: String?
}
