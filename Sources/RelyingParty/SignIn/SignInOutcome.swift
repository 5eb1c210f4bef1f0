/// What became of one post to the callback, and so what the visitor is shown.
package enum SignInOutcome: Sendable {
    /// 303 to the target, with the session cookie.
    case signedIn(token: SessionToken, session: Session, returnTo: ReturnTarget)
    /// A later replay in the browser whose session lives: 303 without a cookie.
    case alreadySignedIn(returnTo: ReturnTarget)
    /// The binding cookie did not come along: the one page that posts the form again from our own origin.
    case repost(CallbackForm)
    /// The person waits for the operator's approval: a page.
    case pending(UserID)
    case disabled(UserID)
    /// Nobody new may sign up: a page.
    case closed
    /// The error page; `retry` is where a new attempt should lead, known once the state opened. 400, or 503 when
    /// `isTemporary`.
    case failed(SignInFailure, retry: ReturnTarget?)
    /// The visitor cancelled at Apple, and the application wants to be told: 303 to `errorReturn.cancelled`. `returnTo` is
    /// where the sign-in would have led.
    case cancelled(_ errorReturn: ReturnTarget, returnTo: ReturnTarget)
    /// The attempt was a link's, and its identity waits for the application's backend: 303 to this address.
    case linkAuthorized(location: String)
    /// The attempt was a link's, and came to nothing. `returnTo` is where the link, or the upgrade, would have led. An
    /// upgrade that succeeds is `signedIn`.
    case linkFailed(LinkFailure, link: LinkKey, returnTo: ReturnTarget)
    /// Nobody has this identity, and its person is asked whether they have an account: a page.
    case asksExisting(WaitingPerson)
}

extension SignInFailure {
    /// Neither the visitor's fault nor Apple's refusal: the same callback may succeed later. 503, and never kept as
    /// the answer for a reload.
    package var isTemporary: Bool {
        switch self {
        case .keysUnavailable, .providerUnavailable, .answerLost, .storage: true
        case .malformedCallback, .invalidState, .staleState, .wrongBrowser, .missingBinding, .replayed, .cancelled,
            .providerError, .identityToken, .tokenMismatch, .clock, .codeRefused, .clientRefused, .revoked:
            false
        }
    }
}
