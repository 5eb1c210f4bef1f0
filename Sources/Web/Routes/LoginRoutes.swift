import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET /login`, `GET /login/attempt` and `GET /login/apple`: everything before Apple.
extension WebRoutes {
    /// The login page; a visitor who is signed in and wants to go somewhere is redirected there, once.
    func loginPage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try await loginPage(request, wish(request))
    }

    /// The login page for a program's request.
    /// - Parameter target: the request.
    func page(
        _ request: ServerRequest, for target: ReturnTarget, _ signedIn: SignedIn?, notice: LoginPage.Notice
    ) -> ServerResponse {
        show(request, ReturnWish(text: target.location, target: target), signedIn, notice: notice)
    }

    /// - Parameter wish: where to go afterwards.
    func loginPage(_ request: ServerRequest, _ wish: ReturnWish) async throws(Failure) -> ServerResponse {
        // It shows this page itself, and says which program asks.
        if wish.target.isAuthorizeRequest { return responses.redirect(to: wish.target.location).keepingOpener() }
        let signedIn = try await reader.signedIn(reader.credential(in: request.fields))
        if isBounce(request, wish, signedIn) {
            return show(request, wish, signedIn, notice: .bounced(target: wish.target.location))
        }
        if let signedIn, signedIn.user.state == .active {
            if wish.text != nil {
                bounces.sent([signedIn.session.tokenHash], to: wish.target.location, at: clock.now())
                return responses.redirect(to: wish.target.location)
            }
            let name = PersonText.displayName(of: signedIn.user) ?? signedIn.user.id.rawValue
            return show(request, wish, signedIn, notice: .alreadySignedIn(name))
        }
        let origin = wish.text == nil ? nil : PublicURL.origin(of: wish.target.location)
        let isElsewhere = origin.map { !$0.isExactly(configuration.publicURL.origin) } ?? false
        return show(request, wish, signedIn, notice: isElsewhere ? origin.map { .returnsTo($0) } : nil)
    }

    private func show(
        _ request: ServerRequest, _ wish: ReturnWish, _ signedIn: SignedIn?, notice: LoginPage.Notice?
    ) -> ServerResponse {
        let binding = binding(request) ?? BrowserBinding.make(random: random)
        let locale = responses.locale(of: request)
        let attempt = signIn.begin(
            binding: binding, returnTo: wish.target, replacing: signedIn?.session.id, language: locale.chosen,
            errorReturn: wish.errorReturn)
        let scriptNonce = Base64URL.encode(random.bytes(16))
        let page = responses.pages.login(
            locale: locale,
            LoginPage.Content(
                state: attempt.state, nonce: attempt.nonce, scriptNonce: scriptNonce, returnTo: wish.text,
                errorReturn: wish.errorReturn, cancelled: wish.cancelled, notice: notice))
        let opensWindow = configuration.login.mode == .popup
        return responses.page(
            page, locale: locale, policy: responses.policy.login(nonce: scriptNonce),
            // With the popup this page posts Apple's answer itself: its Origin must not become null.
            referrer: opensWindow ? .sameOrigin : .noReferrer,
            fields: opensWindow ? SecurityHeaders.keepingPopups : HTTPFields()
        ).setting([cookies.setBinding(binding.cookieValue)]).keepingOpener(if: wish.target.isAuthorizeRequest)
    }

    /// A new state and nonce for an open page.
    func loginAttempt(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let wish = try wish(request)
        let (attempt, binding) = await begin(request, wish)
        return answer(attempt).setting([cookies.setBinding(binding.cookieValue)])
    }

    /// The answer for the scripts of pages with Apple's button.
    func answer(_ attempt: Attempt) -> ServerResponse {
        responses.json { writer in
            writer.member("state", attempt.state)
            writer.member("nonce", attempt.nonce)
            writer.member("expiresAt", attempt.expiresAt)
            writer.member("renewAfter", attempt.renewAfter)
        }
    }

    /// Begins an attempt and redirects to Apple.
    func loginApple(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let wish = try wish(request)
        let signedIn = await reader.signedInIfKnown(request.fields)
        if isBounce(request, wish, signedIn) {
            return show(request, wish, signedIn, notice: .bounced(target: wish.target.location))
        }
        if isCancelled(request, wish) {
            if wish.target.isAuthorizeRequest {
                return responses.redirect(to: wish.target.location).keepingOpener()
            }
            return show(request, wish, signedIn, notice: nil)
        }
        let (attempt, binding) = await begin(request, wish)
        return responses.redirect(to: signIn.authorizeURL(for: attempt))
            .setting([cookies.setBinding(binding.cookieValue)])
            .keepingOpener(if: wish.target.isAuthorizeRequest)
    }

    /// Whether the target that a browser was just sent to has sent it back. A browser whose session has ended, or that
    /// names no target, does not count.
    private func isBounce(_ request: ServerRequest, _ wish: ReturnWish, _ signedIn: SignedIn?) -> Bool {
        guard wish.text != nil else { return false }
        let browser: Digest256?
        if let signedIn {
            browser = signedIn.session.tokenHash
        } else {
            browser = cookies.session(in: request.fields) == .absent ? binding(request)?.hash : nil
        }
        guard let browser else { return false }
        return bounces.consumeBounce(browser, target: wish.target.location, at: clock.now())
    }

    /// Whether the visitor has just cancelled this very sign-in, and the application sent them back: the page, where
    /// they choose, ends the loop.
    private func isCancelled(_ request: ServerRequest, _ wish: ReturnWish) -> Bool {
        guard let browser = binding(request)?.hash else { return false }
        return bounces.consumeBounce(browser, target: BounceMemory.cancelled(wish.target), at: clock.now())
    }

    private func begin(_ request: ServerRequest, _ wish: ReturnWish) async -> (Attempt, BrowserBinding) {
        let binding = binding(request) ?? BrowserBinding.make(random: random)
        let replacing = await reader.signedInIfKnown(request.fields)?.session.id
        let attempt = signIn.begin(
            binding: binding, returnTo: wish.target, replacing: replacing,
            language: responses.locale(of: request).chosen, errorReturn: wish.errorReturn)
        return (attempt, binding)
    }

    private func binding(_ request: ServerRequest) -> BrowserBinding? { cookies.browserBinding(in: request.fields) }

    private func wish(_ request: ServerRequest) throws(Failure) -> ReturnWish {
        try ReturnWish(Query(request), among: targets)
    }
}
