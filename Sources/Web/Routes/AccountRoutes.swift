import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET /`, `GET /account`, `GET /logout` and `POST /logout`.
struct AccountRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let reader: SignedInReader
    let access: AccountAccess
    let targets: ReturnTargets
    let bounces: BounceMemory
    let clock: any WallClock
    let random: any RandomSource

    func root(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let path = try await access.signedIn(request) == nil ? "/login" : "/account"
        return responses.redirect(to: responses.locale(of: request).link(configuration.publicURL.path(path)))
    }

    /// Where password managers send people (A Well-Known URL for Changing Passwords).
    func changePassword(_ request: ServerRequest) throws(WebFailure) -> ServerResponse {
        guard let url = configuration.login.changePasswordURL else { throw WebFailure(.notFound) }
        return responses.redirect(to: url)
    }

    func account(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let locale = responses.locale(of: request)
        guard let signedIn = try await access.active(request) else {
            return access.login(returningTo: "/account", locale: locale)
        }
        var place: SessionCursor?
        switch Query(request).value("after") {
        case .absent: break
        // What is no place in the list shows its beginning.
        case .one(let text): place = Places.sessions.place(text)
        case .several: throw .badRequest("after is given more than once")
        }
        let sessions = try await WebFailure.mapping(
            await AccountSessions.read(of: signedIn, after: place, from: reader.database, at: clock.now()))
        let nonce = Base64URL.encode(random.bytes(16))
        let strings = responses.pages.strings(locale)
        let next = sessions.next.map { cursor in
            locale.link(configuration.publicURL.path("/account?after=\(Places.sessions.text(cursor))"))
        }
        let page = responses.pages.render(
            "account", locale: locale,
            AccountPage.values(
                of: signedIn.user, sessions: sessions, next: next,
                notice: AccountNotice(request, among: AccountNotice.ofAccount)?.text(strings), scriptNonce: nonce,
                strings: strings))
        return responses.page(
            page, locale: locale, policy: responses.policy.scripted(nonce: nonce), referrer: .sameOrigin)
    }

    /// One button; or the confirmation that nobody is signed in, which is also where a sign-out ends.
    func logoutPage(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let locale = responses.locale(of: request)
        let strings = responses.pages.strings(locale)
        guard let signedIn = try await access.signedIn(request) else {
            let again = MessagePage.Action(
                text: strings?["message.signIn"] ?? "", link: locale.link(configuration.publicURL.path("/login")))
            let home = configuration.site.homeURL == nil ? [] : [MessagePage.home(strings, locale, configuration)]
            let page = MessagePage(page: "signed_out", strings, [again] + home)
            return responses.page(page.render(responses.pages, locale: locale), locale: locale)
        }
        let returnTo: String?
        switch Query(request).value("return_to") {
        case .one(let text) where !text.isEmpty:
            guard targets.validate(text) != nil else { throw WebFailure(.returnToRefused) }
            returnTo = text
        case .several: throw .badRequest("return_to is given more than once")
        case .absent, .one: returnTo = nil
        }
        let page = responses.pages.render(
            "logout", locale: locale, LogoutPage.values(of: signedIn.user, returnTo: returnTo, strings: strings))
        return responses.page(page, locale: locale, referrer: .sameOrigin)
    }

    /// Ends the session, durably, before the browser is told to forget it.
    func logout(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw WebFailure(.crossSite) }
        var location = responses.locale(of: request).link(configuration.publicURL.path("/logout"))
        // A script may send nothing at all.
        let form = request.body.isEmpty ? [:] : try access.form(request, ["return_to"])
        if let text = form["return_to"], !text.isEmpty {
            guard let target = targets.validate(text) else { throw WebFailure(.returnToRefused) }
            location = target.location
        }
        try await end(request)
        return responses.redirect(to: location, cookies: [cookies.clearSession])
    }

    /// `POST /logout/switch`: signs out and opens the login page, with the same return target. For the button of the
    /// page that refuses somebody, on any of our sites. A post from elsewhere ends nothing and gets the page with the
    /// button.
    func switchAccount(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let form = request.body.isEmpty ? [:] : try AccountAccess.fields(request, ["return_to"])
        var query = ""
        if let text = form["return_to"], !text.isEmpty {
            guard let target = targets.validate(text) else { throw WebFailure(.returnToRefused) }
            query = "?return_to=" + PercentEncoding.encodeComponent(target.location)
        }
        let locale = responses.locale(of: request)
        let origins = configuration.login.allowedReturnOrigins
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL, or: origins) else {
            return responses.redirect(to: locale.link(configuration.publicURL.path("/logout") + query))
        }
        try await end(request)
        return responses.redirect(
            to: locale.link(configuration.publicURL.path("/login") + query), cookies: [cookies.clearSession])
    }

    /// Ends the session, durably, and forgets where its browser was sent.
    private func end(_ request: ServerRequest) async throws(WebFailure) {
        let signedIn = try await access.signedIn(request)
        if let signedIn {
            try await WebFailure.mapping(
                await reader.database.endSession(signedIn.session.id, cause: .signOut, at: clock.now()))
        }
        bounces.forget(signedIn?.session, request.fields, cookies)
    }
}
