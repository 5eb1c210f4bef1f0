import Accounts
import HTTP
import HTTPTypes
import Logging

// A failed request, as HTTP answers it: only the code decides on texts; the detail goes only to the log.
extension Failure {
    init(_ code: ReasonCode, _ detail: String? = nil, visit: FailedVisit) {
        self.init(code, detail)
        self.visit = visit
    }

    /// The same, on the page of a visitor.
    func with(_ visit: FailedVisit?) -> Failure {
        var failure = self
        failure.visit = visit
        return failure
    }

    /// In a sign-in of an app. An app has no state: what it sends back is the nonce.
    var ofApp: Failure {
        switch code {
        case .invalidState: Failure(.invalidNonce)
        case .staleState: Failure(.nonceExpired)
        case .replayed: Failure(.nonceUsed)
        case .malformedCallback: Failure(.invalidRequest, detail)
        default: inSignIn
        }
    }

    init(routing: RoutingFailure) {
        switch routing {
        case .notFound: self.init(.notFound)
        case .methodNotAllowed, .unknownMethod: self.init(.methodNotAllowed)
        case .malformedPath: self.init(.badRequest)
        }
        status = routing.status.code
    }

    /// For the request's developer; in the problem document.
    var explanation: String? {
        switch code {
        case .invalidRequest, .badRequest: detail
        case .returnToRefused:
            "return_to and error_return must be a path of this site, or an address on an origin of "
                + "login.allowedReturnOrigins"
        case .insufficientScope: detail.map { "the API key lacks the scope \($0)" }
        case .apiKeyExpired: "the API key has expired; ask the operator for a new one"
        case .operatorGroup:
            "only an operator may change who is in a group of operator.groups, or activate a member"
        default: nil
        }
    }

    /// As an OpenID Connect client reads it.
    var providerError: ProviderError {
        switch (oauth, code) {
        case (let error?, _): error
        case (nil, .unavailable):
            ProviderError(.temporarilyUnavailable, "the server cannot answer now; try again")
        case (nil, .tooManyRequests): ProviderError(.temporarilyUnavailable, "too many requests; try again later")
        case (nil, _): ProviderError(.invalidRequest, explanation ?? code.rawValue)
        }
    }

    /// Fields required by the status, and by an application's window, which must keep its opener until it returns.
    var fields: HTTPFields {
        var fields = HTTPFields()
        if let seconds = retryAfter {
            fields[.retryAfter] = String(seconds)
        } else if status == 503 {
            fields[.retryAfter] = "30"
        }
        fields[values: .wwwAuthenticate] = challenges.isEmpty ? usualChallenges : challenges
        return keepsOpener ? HTTPFields(fields + SecurityHeaders.keepingOpener) : fields
    }

    /// RFC 9110 §15.5.2 requires one; Bearer does not make a browser prompt for a password.
    private var usualChallenges: [String] {
        switch (oauth?.code, code) {
        case (.invalidClient, _): [Self.basicChallenge]
        case (.invalidToken, _):
            [Self.challenge + ", error=\"invalid_token\", error_description=\"\(oauth?.text ?? "")\""]
        case (_, .signedOut), (_, .tokenRequired): ["Bearer"]
        // RFC 6750 §3: no error code where no credentials were sent.
        case (_, .apiKeyRequired): [Self.challenge]
        default: []
        }
    }

    static let challenge = "Bearer realm=\"bramley\""
    static let basicChallenge = "Basic realm=\"bramley\", charset=\"UTF-8\""

    private var keepsOpener: Bool {
        if code == .openIDNotAllowed { return true }
        guard code.isOfSignIn, let visit, visit.link == nil else { return false }
        return visit.returnTo?.isAuthorizeRequest ?? false
    }

    /// Whether the page shows an error ID: for failures that the log shows by default, unless the page explains itself.
    var showsErrorID: Bool {
        switch code {
        case .cancelled, .tooManyRequests, .openIDNotAllowed, .linkExpired, .linkEnded, .codeInvalid,
            .identityLinkedElsewhere, .accountAlreadyLinked:
            false
        default: level > .debug
        }
    }

    /// The status with its reason phrase.
    var answerStatus: HTTPResponse.Status {
        let known: [HTTPResponse.Status] = [
            .seeOther, .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .conflict, .gone,
            .preconditionFailed, .contentTooLarge, .unsupportedMediaType, .tooManyRequests, .notImplemented,
            .serviceUnavailable,
        ]
        return known.first { $0.code == status } ?? HTTPResponse.Status(code: status)
    }

    /// Of an API request that docs/openapi.yaml does not allow, for its developer; repeats nothing that was sent.
    static func invalidRequest(_ text: String) -> Failure { Failure(.invalidRequest, text) }

    static func badRequest(_ text: String) -> Failure { Failure(.badRequest, text) }

    /// - Parameter seconds: until the next one.
    static func tooManyRequests(retryAfter seconds: Int) -> Failure {
        var failure = Failure(.tooManyRequests)
        failure.retryAfter = seconds
        return failure
    }

    /// The proxy's description of the original request is ambiguous.
    static func originalRequest(_ refusal: OriginalRequest.Refusal) -> Failure {
        Failure(.originalRequest, refusal.text)
    }

    /// The access rules admit other people. `rule` counts from 1; `target` is ours; `person` is signed in.
    static func notAllowed(rule: Int?, target: ReturnTarget?, person: User?) -> Failure {
        let visit = FailedVisit {
            $0.returnTo = target
            $0.person = person
        }
        return Failure(.notAllowed, rule.map { "rule \($0)" }, visit: visit)
    }
}

extension ReasonCode {
    /// Of a sign-in on its way back from Apple.
    var isOfSignIn: Bool { self == .tooManyRequests || Self.signIns.contains(self) }
}
