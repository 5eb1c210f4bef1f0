import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `/link/{id}` and what is below it: the page on which somebody whom an application has signed in chooses the Apple
/// Account for their account there.
struct LinkRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let reader: SignedInReader
    let signIn: SignIn
    let answers: SignInAnswers
    let random: any RandomSource

    /// Names both accounts. Whoever was asked in this very browser whether they have an account needs no second trip to
    /// Apple: one button connects.
    func page(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        let id = try parameters.link
        let locale = responses.locale(of: request)
        let binding = cookies.bindingCookie(in: request.fields)
        let (link, person) = try await answeringVisitors { () throws(LinkFailure) in
            let link = try await signIn.link(id)
            return (link, try await signIn.waitingPerson(for: link, binding: binding))
        }
        let signedIn = (try? await reader.signedIn(reader.credential(in: request.fields))) ?? nil
        var content = ConnectPage.Content(
            kind: link.kind == .upgrade ? .upgrade : .link, account: link.displayName,
            signedIn: signedIn.map { PersonText.displayName(of: $0.user) ?? $0.user.id.rawValue })
        let path = configuration.publicURL.path("/link/\(id)")
        if let person {
            content.waiting = ConnectPage.Waiting(
                name: ExistingAccountPage.name(of: person), action: locale.link(path),
                other: locale.link(path + "/apple"))
            return show(content, locale, cookies: answers.keeping(binding))
        }
        let (attempt, browser) = try await begin(id, request, locale)
        let button = ConnectPage.Button(
            state: attempt.state, nonce: attempt.nonce, address: path + "/apple", query: locale.parameter ?? "",
            renewal: path + "/attempt",
            scriptNonce: Base64URL.encode(random.bytes(16)))
        return show(content, locale, button: button, cookies: [cookies.setLinkBinding(browser.cookieValue)])
    }

    /// A fresh state and nonce for a page that is open already.
    func attempt(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        let (attempt, browser) = try await begin(try parameters.link, request, responses.locale(of: request))
        return LoginRoutes.answer(attempt, responses, cookies: [cookies.setLinkBinding(browser.cookieValue)])
    }

    /// Starts an attempt at the tap and goes to Apple: the way without scripts. From another site, by the page, which
    /// names the account first.
    func apple(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        let id = try parameters.link
        let locale = responses.locale(of: request)
        let sites = request.fields[values: .secFetchSite]
        guard sites.isEmpty || sites == ["same-origin"] else {
            return responses.redirect(to: locale.link(configuration.publicURL.path("/link/\(id)")))
        }
        let (attempt, browser) = try await begin(id, request, locale)
        return responses.redirect(
            to: signIn.authorizeURL(for: attempt), cookies: [cookies.setLinkBinding(browser.cookieValue)])
    }

    /// "Connect", with the identity that waits in this browser.
    func connect(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw .crossSite }
        let id = try parameters.link
        let binding = cookies.bindingCookie(in: request.fields)
        let location: String
        do {
            location = try await signIn.connectWaiting(id, binding: binding)
        } catch .unknown, .expired {
            // Nobody waits here for this link any more: the page has Apple's button, or says what is wrong with the link.
            let page = configuration.publicURL.path("/link/\(id)")
            return responses.redirect(to: responses.locale(of: request).link(page))
        } catch {
            throw WebFailure(visitor: error, way: LinkWay(link: LinkKey(id)))
        }
        return responses.redirect(to: location)
    }

    private func begin(
        _ id: LinkID, _ request: ServerRequest, _ locale: PageLocale
    ) async throws(WebFailure) -> (Attempt, BrowserBinding) {
        let binding = cookies.browserBinding(in: request.fields) ?? BrowserBinding.make(random: random)
        let attempt = try await answeringVisitors { () throws(LinkFailure) in
            try await signIn.beginLink(id, binding: binding, language: locale.chosen)
        }
        return (attempt, binding)
    }

    private func show(
        _ content: ConnectPage.Content, _ locale: PageLocale, button: ConnectPage.Button? = nil, cookies: [String]
    ) -> ServerResponse {
        responses.connectPage(content, button: button, locale: locale, cookies: cookies)
    }
}

extension PathParameters {
    /// The link of `{id}`. What is no id names no link.
    var link: LinkID {
        get throws(WebFailure) {
            guard let id = self["id"].flatMap({ LinkID(parsing: $0) }) else { throw .link(.unknown, way: nil) }
            return id
        }
    }
}

extension WebResponses {
    /// The page that connects. Its own answer in Apple's window, and its forms, need its Origin.
    func connectPage(
        _ content: ConnectPage.Content, button: ConnectPage.Button?, locale: PageLocale, cookies: [String]
    ) -> ServerResponse {
        let page = pages.render(
            "connect", locale: locale,
            ConnectPage.values(
                content, button: button, locale: locale, strings: pages.strings(locale), configuration: configuration))
        let opensWindow = button != nil && configuration.login.mode == .popup
        return self.page(
            page, locale: locale, policy: button.map { policy.login(nonce: $0.scriptNonce) }, referrer: .sameOrigin,
            cookies: cookies, fields: opensWindow ? SecurityHeaders.keepingPopups : HTTPFields())
    }
}
