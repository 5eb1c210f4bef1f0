import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `/link/{id}` and below: people who are signed in to an application choose the Apple Account for their account there.
extension WebRoutes {
    /// A route for visits. A prefetch gets a failure, which the browser drops; it asks again when the visitor comes.
    func visited(_ handle: @escaping RouteEntry.Handler) -> RouteEntry.Handler {
        { request, parameters throws(Failure) in
            guard !Navigation.isPrefetch(request.fields) else { return self.responses.empty(.serviceUnavailable) }
            return try await handle(request, parameters)
        }
    }

    /// Names both accounts, in the browser that opens the link's address first: `?token=` binds the link to it,
    /// and from then on the id is enough. A person who was asked in this browser whether they have an account
    /// needs no second visit to Apple: one button connects.
    ///
    /// A request that only reads the address gets the same page; its attempt is bound to no browser and cannot be used.
    func linkPage(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let id = try parameters.link
        let locale = responses.locale(of: request)
        let token = try Self.linkToken(in: request)
        let isPreview = token != nil && Navigation.hasNoVisitor(request.method, request.fields)
        let visitor = browser(of: request)
        let browser = isPreview ? BrowserBinding.make(random: random) : visitor
        if let token {
            try await translating(
                await signIn.openLink(id, token: token, binding: visitor, claims: !isPreview), \Failure.inSignIn)
        }
        let link = try await translating(await signIn.link(id), \Failure.inSignIn)
        let person = try await translating(
            await signIn.waitingPerson(for: link, binding: .value(browser)), \Failure.inSignIn)
        let signedIn = await reader.signedInIfKnown(request.fields)
        var content = ConnectPage(
            kind: link.kind, account: link.displayName,
            signedIn: signedIn.map { PersonText.displayName(of: $0.user) ?? $0.user.id.rawValue })
        let path = configuration.publicURL.path("/link/\(id)")
        if let person {
            content.waiting = ConnectPage.Waiting(
                name: PersonText.displayName(of: person), action: locale.link(path),
                other: locale.link(path + "/apple"))
            return responses.connectPage(content, button: nil, locale: locale).setting(keeping(.value(browser)))
        }
        let attempt = try await beginLink(id, browser, locale, isOpened: isPreview)
        let button = ConnectPage.Button(
            state: attempt.state, nonce: attempt.nonce, address: path + "/apple", query: locale.parameter ?? "",
            renewal: path + "/attempt", scriptNonce: Base64URL.encode(random.bytes(16)))
        return responses.connectPage(content, button: button, locale: locale)
            .setting(isPreview ? [] : [cookies.setLinkBinding(browser.cookieValue)])
    }

    /// A new state and nonce for an open page.
    func linkAttempt(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let browser = browser(of: request)
        let attempt = try await beginLink(try parameters.link, browser, responses.locale(of: request))
        return answer(attempt).setting([cookies.setLinkBinding(browser.cookieValue)])
    }

    /// For browsers without scripts: redirects to Apple; from another site to the page, which names the account.
    func linkApple(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let id = try parameters.link
        let locale = responses.locale(of: request)
        let sites = request.fields[values: .secFetchSite]
        guard sites.isEmpty || sites == ["same-origin"] else {
            return responses.redirect(to: locale.link(configuration.publicURL.path("/link/\(id)")))
        }
        let browser = browser(of: request)
        let attempt = try await beginLink(id, browser, locale)
        return responses.redirect(to: signIn.authorizeURL(for: attempt))
            .setting([cookies.setLinkBinding(browser.cookieValue)])
    }

    /// "Connect", with the identity that waits in this browser.
    func connectLink(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw Failure(.crossSite) }
        let id = try parameters.link
        let binding = cookies.bindingCookie(in: request.fields)
        let location: String
        do {
            location = try await signIn.connectWaiting(id, binding: binding)
        } catch  where [.linkUnknown, .linkExpired].contains(error.code) {
            // Nothing is waiting for this link any more: the page has Apple's button, or says what is wrong.
            let page = configuration.publicURL.path("/link/\(id)")
            return responses.redirect(to: responses.locale(of: request).link(page))
        } catch {
            throw error.inSignIn.with(FailedVisit { $0.link = id })
        }
        return responses.redirect(to: location)
    }

    /// - Throws: for an invalid token, as for a wrong one.
    private static func linkToken(in request: ServerRequest) throws(Failure) -> LinkAddressToken? {
        let value = Query(request).value("token")
        if case .absent = value { return nil }
        guard let token = value.text.flatMap({ LinkAddressToken(parsing: $0) }) else { throw Failure(.linkUnknown) }
        return token
    }

    /// - Parameter isOpened: the address was proven, for a browser that gets no binding.
    private func beginLink(
        _ id: LinkID, _ browser: BrowserBinding, _ locale: PageLocale, isOpened: Bool = false
    ) async throws(Failure) -> Attempt {
        try await translating(
            await signIn.beginLink(id, binding: browser, language: locale.chosen, isOpened: isOpened),
            \Failure.inSignIn)
    }
}

extension PathParameters {
    /// The link of `{id}`. An invalid id names no link.
    var link: LinkID {
        get throws(Failure) {
            guard let id = self["id"].flatMap({ LinkID(parsing: $0) }) else { throw Failure(.linkUnknown) }
            return id
        }
    }
}

extension WebResponses {
    /// The page that connects. Apple's window and its forms post here and need its Origin.
    func connectPage(_ content: ConnectPage, button: ConnectPage.Button?, locale: PageLocale) -> ServerResponse {
        let page = pages.render(
            "connect", locale: locale,
            content.values(
                button: button, locale: locale, strings: pages.strings(locale), configuration: configuration))
        let opensWindow = button != nil && configuration.login.opensWindow
        return self.page(
            page, locale: locale, policy: button.map { policy.login(nonce: $0.scriptNonce) }, referrer: .sameOrigin,
            fields: opensWindow ? SecurityHeaders.keepingPopups : HTTPFields())
    }
}
