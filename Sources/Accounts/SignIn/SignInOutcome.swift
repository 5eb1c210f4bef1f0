/// The result of one post to the callback, which determines what the visitor sees.
package enum SignInOutcome: Sendable {
    /// 303 to the target, with the session cookie.
    case signedIn(token: SessionToken, session: Session, returnTo: ReturnTarget)
    /// A later replay in the browser whose session lives: 303 without a cookie.
    case alreadySignedIn(returnTo: ReturnTarget)
    /// The binding cookie is missing: the page that posts the form again from our own origin.
    case repost(CallbackForm)
    /// The person waits for the operator's approval: a page.
    case pending(UserID)
    case disabled(UserID)
    /// New people may not sign up: a page.
    case closed
    /// The error page. `retry`, known once the state opened, is where a new attempt should lead. 400, or 503 when
    /// `isTemporary`.
    case failed(SignInFailure, retry: ReturnTarget?)
    /// The visitor cancelled at Apple, and the application wants to know: 303 to `errorReturn.cancelled`. `returnTo` is
    /// where the sign-in would have led.
    case cancelled(_ errorReturn: ReturnTarget, returnTo: ReturnTarget)
    /// The attempt was for a link, whose identity now waits for the application's backend: 303 to this address.
    case linkAuthorized(location: String)
    /// The attempt was for a link, and failed. `returnTo` is where the link would have led.
    case linkFailed(LinkFailure, link: LinkID, returnTo: ReturnTarget)
    /// Nobody has this identity, and its person is asked whether they have an account: a page.
    case asksExisting(WaitingPerson)
}

extension SignInFailure {
    /// Neither the visitor's fault nor Apple's refusal: the same callback may succeed later. 503, and never kept as the
    /// answer for a reload.
    package var isTemporary: Bool {
        switch self {
        case .keysUnavailable, .providerUnavailable, .answerLost, .storage: true
        case .malformedCallback, .invalidState, .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled,
            .providerError, .identityToken, .tokenMismatch, .clock, .codeRefused, .clientRefused, .revoked:
            false
        }
    }
}
