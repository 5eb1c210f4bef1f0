/// The result of one post to the callback, which determines what the visitor sees.
package enum SignInOutcome: Sendable {
    /// 303 to the target, with the session cookie.
    case signedIn(token: SessionToken, session: Session, returnTo: ReturnTarget)
    /// A later replay in the browser whose session lives: 303 without a cookie.
    case alreadySignedIn(returnTo: ReturnTarget)
    /// The binding cookie is missing: the page that posts the form again from our own origin.
    case repost(CallbackForm)
    /// Apple knows the person, and they may not sign in: a page.
    case refused(SignInRefusal, UserID?)
    /// The error page. `returnTo`, known once the state opened, is where the attempt would have led; `link` is the link
    /// that it was for.
    case failed(Failure, returnTo: ReturnTarget? = nil, link: LinkID? = nil)
    /// The visitor cancelled at Apple, and the application wants to know: 303 to `errorReturn.cancelled`. `returnTo` is
    /// where the sign-in would have led.
    case cancelled(_ errorReturn: ReturnTarget, returnTo: ReturnTarget)
    /// The attempt was for a link, whose identity now waits for the application's backend: 303 to this address.
    case linkAuthorized(location: String)
    /// Nobody has this identity, and its person is asked whether they have an account: a page.
    case asksExisting(WaitingPerson)
}
