import Accounts
import Coding
import HTTP
import HTTPTypes

/// `GET /`, `GET /account`, `GET /logout` and `POST /logout`.
extension WebRoutes {
    func root(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let path = try await signedIn(request) == nil ? "/login" : "/account"
        return redirect(to: path, locale: responses.locale(of: request))
    }

    /// Where password managers send people (A Well-Known URL for Changing Passwords).
    func changePassword(_ request: ServerRequest) throws(Failure) -> ServerResponse {
        guard let url = configuration.login.changePasswordURL else { throw Failure(.notFound) }
        return responses.redirect(to: url)
    }

    func accountPage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else { return login(returningTo: "/account", locale: locale) }
        // An invalid position shows the beginning.
        let place = try Query(request).single("after").flatMap(Places.sessions.place)
        let sessions = try await AccountSessions.read(
            of: signedIn, after: place, from: reader.database, at: clock.now())
        let applications = (try await database.applications(of: signedIn.user.id, at: clock.now()) ?? [])
            .sorted { $0.lastUsedAt > $1.lastUsedAt }.prefix(ConnectedApplication.shown)
        let strings = responses.pages.strings(locale)
        let next = sessions.next.map { cursor in
            locale.link(configuration.publicURL.path("/account?after=\(Places.sessions.text(cursor))"))
        }
        let notice = AccountNotice(request, among: AccountNotice.ofAccount)?.text(strings)
        let page = locale.link(configuration.publicURL.path("/operator"))
        return responses.scripted(
            "account", locale: locale,
            .account(
                of: signedIn.user, sessions: sessions, applications: applications, next: next,
                operatorPage: signedIn.user.isOperator(configuration.operatorGroups) ? page : nil, notice: notice,
                strings: strings))
    }

    /// One button; or the confirmation that nobody is signed in, which is also where a sign-out ends.
    func logoutPage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        let strings = responses.pages.strings(locale)
        guard let signedIn = try await signedIn(request) else {
            let again = MessagePage.Action(
                text: strings["message.signIn"], link: locale.link(configuration.publicURL.path("/login")))
            let home = configuration.site.homeURL == nil ? [] : [MessagePage.home(strings, locale, configuration)]
            return responses.message(MessagePage(page: "signed_out", strings, [again] + home), locale: locale)
        }
        let returnTo = try Query(request).given("return_to")
        _ = try target(returnTo)
        let page = responses.pages.render(
            "logout", locale: locale, .logout(of: signedIn.user, returnTo: returnTo, strings: strings))
        return responses.page(page, locale: locale, referrer: .sameOrigin)
    }

    /// Ends the session, durably, before the browser is told to forget it.
    func logout(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw Failure(.crossSite) }
        // A script may send nothing at all.
        let form = request.body.isEmpty ? [:] : try form(request, ["return_to"])
        let target = try target(form["return_to"])
        try await end(request)
        let page = responses.locale(of: request).link(configuration.publicURL.path("/logout"))
        return responses.redirect(to: target?.location ?? page).setting([cookies.clearSession])
    }

    /// `POST /logout/switch`: signs out and opens the login page, with the same return target. For the button of the
    /// page that refuses somebody, on any of our sites. A post from elsewhere ends nothing and gets the page with the
    /// button.
    func switchAccount(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let form = request.body.isEmpty ? [:] : try Self.fields(request, ["return_to"])
        let target = try target(form["return_to"])
        let query = target.map { "?return_to=" + PercentEncoding.encodeComponent($0.location) } ?? ""
        let locale = responses.locale(of: request)
        let origins = configuration.login.allowedReturnOrigins
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL, or: origins) else {
            return redirect(to: "/logout" + query, locale: locale)
        }
        try await end(request)
        return redirect(to: "/login" + query, locale: locale).setting([cookies.clearSession])
    }

    /// - Throws: when this is not an allowed target.
    private func target(_ returnTo: String?) throws(Failure) -> ReturnTarget? {
        guard let returnTo, !returnTo.isEmpty else { return nil }
        guard let target = targets.validate(returnTo) else { throw Failure(.returnToRefused) }
        return target
    }

    /// Ends the session, durably, and forgets where its browser was sent.
    private func end(_ request: ServerRequest) async throws(Failure) {
        let signedIn = try await signedIn(request)
        if let signedIn { try await reader.database.endSession(signedIn.session.id, cause: .signOut, at: clock.now()) }
        bounces.forget(signedIn?.session, request.fields, cookies)
    }
}

/// `GET /account/export`: everything stored about the person, as a file.
extension WebRoutes {
    func export(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else { return login(returningTo: "/account", locale: locale) }
        // Another site can lead here with the cookie, though the log would say that the person asked.
        guard SameOrigin.isOwnOrTyped(request.fields) else { return redirect(to: "/account", locale: locale) }
        try exports.pass(request)
        let now = clock.now()
        let record = try await database.accountRecord(of: signedIn.user.id, newest: 0, at: now)
        // Deleted between the two look-ups.
        guard let record else { return login(returningTo: "/account", locale: locale) }
        try await database.record(.userExported, user: signedIn.user.id, object: nil, at: now)
        var response = responses.json([])
        response.body = try await responses.body(of: AccountExport(record, database, at: now), route: "/account/export")
        response.fields[.contentDisposition] = "attachment; filename=\"bramley-account.json\""
        return response
    }
}
