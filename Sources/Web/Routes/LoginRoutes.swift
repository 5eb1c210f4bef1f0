import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET /login`, `GET /login/attempt` and `GET /login/apple`: everything before Apple.
extension WebRoutes {
    /// The login page; a visitor who is signed in and wants to go somewhere is redirected there, once.
    func loginPage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try await loginPage(request, requested(request))
    }

    /// - Parameter requested: where to go afterwards.
    func loginPage(_ request: ServerRequest, _ requested: RequestedReturn) async throws(Failure) -> ServerResponse {
        // It shows this page itself, and names the application.
        if requested.target.isAuthorizeRequest {
            return responses.redirect(to: requested.target.location).keepingOpener()
        }
        let signedIn = try await reader.signedIn(reader.credential(in: request.fields))
        if isBounce(request, requested, signedIn) {
            return show(request, requested, signedIn, notice: .bounced(target: requested.target.location))
        }
        if let signedIn, signedIn.user.state == .active {
            if requested.text != nil {
                bounces.sent([signedIn.session.tokenHash], to: requested.target.location, at: clock.now())
                return responses.redirect(to: requested.target.location)
            }
            let name = PersonText.displayName(of: signedIn.user) ?? signedIn.user.id.rawValue
            return show(request, requested, signedIn, notice: .alreadySignedIn(name))
        }
        let origin = requested.text == nil ? nil : PublicURL.origin(of: requested.target.location)
        let isElsewhere = origin.map { !$0.isExactly(configuration.publicURL.origin) } ?? false
        return show(request, requested, signedIn, notice: isElsewhere ? origin.map { .returnsTo($0) } : nil)
    }

    func show(
        _ request: ServerRequest, _ requested: RequestedReturn, _ signedIn: SignedIn?, notice: LoginPage.Notice?
    ) -> ServerResponse {
        let binding = browser(of: request)
        let locale = responses.locale(of: request)
        let attempt = signIn.begin(
            binding: binding, returnTo: requested.target, replacing: signedIn?.session.id, language: locale.chosen,
            errorReturn: requested.errorReturn)
        let scriptNonce = Base64URL.encode(random.bytes(16))
        let page = responses.pages.login(
            locale: locale,
            LoginPage.Content(
                state: attempt.state, nonce: attempt.nonce, scriptNonce: scriptNonce, returnTo: requested.text,
                errorReturn: requested.errorReturn, cancelled: requested.cancelled, notice: notice))
        let opensWindow = configuration.login.opensWindow
        return responses.page(
            page, locale: locale, policy: responses.policy.login(nonce: scriptNonce),
            // With the popup this page posts Apple's answer itself: its Origin must not become null.
            referrer: opensWindow ? .sameOrigin : .noReferrer,
            fields: opensWindow ? SecurityHeaders.keepingPopups : HTTPFields()
        ).setting([cookies.setBinding(binding.cookieValue)]).keepingOpener(if: requested.target.isAuthorizeRequest)
    }

    /// A new state and nonce for an open page.
    func loginAttempt(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let requested = try requested(request)
        let (attempt, binding) = await begin(request, requested)
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

    func loginApple(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let requested = try requested(request)
        let signedIn = await reader.signedInIfKnown(request.fields)
        if isBounce(request, requested, signedIn) {
            return show(request, requested, signedIn, notice: .bounced(target: requested.target.location))
        }
        if isCancelled(request, requested) {
            if requested.target.isAuthorizeRequest {
                return responses.redirect(to: requested.target.location).keepingOpener()
            }
            return show(request, requested, signedIn, notice: nil)
        }
        let (attempt, binding) = await begin(request, requested)
        return responses.redirect(to: signIn.authorizeURL(for: attempt))
            .setting([cookies.setBinding(binding.cookieValue)])
            .keepingOpener(if: requested.target.isAuthorizeRequest)
    }

    /// Whether the target that a browser was just sent to has sent it back; not without a target or a live session.
    private func isBounce(_ request: ServerRequest, _ requested: RequestedReturn, _ signedIn: SignedIn?) -> Bool {
        guard requested.text != nil else { return false }
        let browser: Digest256?
        if let signedIn {
            browser = signedIn.session.tokenHash
        } else {
            browser = cookies.session(in: request.fields) == .absent ? binding(request)?.hash : nil
        }
        guard let browser else { return false }
        return bounces.consumeBounce(browser, target: requested.target.location, at: clock.now())
    }

    /// Whether the visitor just cancelled this sign-in and was sent back: the page, where they choose, ends the loop.
    private func isCancelled(_ request: ServerRequest, _ requested: RequestedReturn) -> Bool {
        guard let browser = binding(request)?.hash else { return false }
        return bounces.consumeBounce(browser, target: BounceMemory.cancelled(requested.target), at: clock.now())
    }

    private func begin(_ request: ServerRequest, _ requested: RequestedReturn) async -> (Attempt, BrowserBinding) {
        let binding = browser(of: request)
        let replacing = await reader.signedInIfKnown(request.fields)?.session.id
        let attempt = signIn.begin(
            binding: binding, returnTo: requested.target, replacing: replacing,
            language: responses.locale(of: request).chosen, errorReturn: requested.errorReturn)
        return (attempt, binding)
    }

    private func binding(_ request: ServerRequest) -> BrowserBinding? { cookies.browserBinding(in: request.fields) }

    /// The browser's binding, or a new one.
    func browser(of request: ServerRequest) -> BrowserBinding {
        binding(request) ?? BrowserBinding.make(random: random)
    }

    private func requested(_ request: ServerRequest) throws(Failure) -> RequestedReturn {
        try RequestedReturn(Query(request), among: targets)
    }
}
