import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// The browser's answer at the end of a sign-in: at the callback, or after the question about an existing account.
extension WebRoutes {
    func answer(
        _ outcome: SignInOutcome, binding: BindingCookie, locale: PageLocale, request: ServerRequest
    ) async throws(Failure) -> ServerResponse {
        switch outcome {
        case .signedIn(let token, let session, let returnTo):
            remember(binding, session.tokenHash, returnTo)
            return onward(to: returnTo.location, returnTo, locale, request)
                .setting([cookies.setSession(token.reveal())] + forgettingName(request))
        case .alreadySignedIn(let returnTo): return onward(to: returnTo.location, returnTo, locale, request)
        case .cancelled(let errorReturn, let returnTo):
            remember(binding, cancelled: returnTo)
            return onward(to: errorReturn.cancelled, errorReturn, locale, request)
        case .refused(let refusal, let id): return await refused(refusal, id, locale, request)
        case .linkAuthorized(let location):
            return responses.redirect(to: location).setting(forgettingName(request))
        case .asksExisting(let person): return question(person, binding: binding, locale)
        // Only the callback can post again.
        case .repost: throw Failure(.missingBinding, visit: FailedVisit())
        case .failed(let failure, let returnTo, let link):
            throw failure.with(
                FailedVisit {
                    $0.returnTo = returnTo
                    $0.link = link
                    $0.language = returnTo == nil ? nil : locale.chosen
                })
        }
    }

    /// Leads on from a callback. After a form of our own it must not lead to another site only by redirects: browsers
    /// apply `form-action` to each of them, and an application may be anywhere. A page that refreshes avoids this.
    private func onward(
        to location: String, _ target: ReturnTarget, _ locale: PageLocale, _ request: ServerRequest
    ) -> ServerResponse {
        guard target.isAuthorizeRequest, SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else {
            return responses.redirect(to: location).keepingOpener(if: target.isAuthorizeRequest)
        }
        let strings = responses.pages.strings(locale)
        let page = MessagePage(
            page: "onward", strings, [MessagePage.Action(text: strings["repost.button"], link: location)])
        return responses.message(page, locale: locale, fields: [.refresh: "0; url=\(location)"]).keepingOpener()
    }

    /// Names the account: somebody with two may have chosen the wrong one.
    private func refused(
        _ refusal: SignInRefusal, _ id: UserID?, _ locale: PageLocale, _ request: ServerRequest
    ) async -> ServerResponse {
        var visit = FailedVisit {
            $0.language = locale.chosen
            $0.cookies = forgettingName(request)
        }
        if let id { visit.person = (try? await database.user(id)) ?? nil }
        let route = configuration.publicURL.pathBelow(request.path) ?? request.path
        let failure = Failure(refusal.code, id?.rawValue, visit: visit)
        return responses.failure(failure, route: route, reader: .visitor, request: request)
    }

    /// "Already have an account?" The browser's binding stays while its person signs in to the application.
    private func question(_ person: WaitingPerson, binding: BindingCookie, _ locale: PageLocale) -> ServerResponse {
        let strings = responses.pages.strings(locale)
        let page = responses.pages.render(
            "existing", locale: locale,
            .existing(waiting: person.id, name: PersonText.displayName(of: person), strings: strings))
        return responses.page(
            page, locale: locale, policy: responses.policy.existing, referrer: .sameOrigin
        ).setting(keeping(binding))
    }

    /// Renews the binding while something waits for this browser.
    func keeping(_ binding: BindingCookie) -> [String] {
        if case .value(let value) = binding { [cookies.setLinkBinding(value.cookieValue)] } else { [] }
    }

    private func remember(_ binding: BindingCookie, _ session: Digest256, _ target: ReturnTarget) {
        var browsers = [session]
        if case .value(let value) = binding { browsers.append(value.hash) }
        bounces.sent(browsers, to: target.location, at: clock.now())
    }

    /// An application that sends a visitor who cancelled straight back would lead them to Apple again and again.
    private func remember(_ binding: BindingCookie, cancelled target: ReturnTarget) {
        guard case .value(let value) = binding else { return }
        bounces.sent([value.hash], to: BounceMemory.cancelled(target), at: clock.now())
    }

    /// A completed sign-in has used the name or does not need it.
    private func forgettingName(_ request: ServerRequest) -> [String] {
        cookies.keptName(in: request.fields) == .absent ? [] : [Cookies.clearKeptName]
    }
}

/// `POST /login/existing`: a new person's answer to "Already have an account?".
extension WebRoutes {
    func existingAccount(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let form = try form(request, ["waiting", "choice"])
        guard let choice = form["choice"], choice == "connect" || choice == "new" else {
            throw .badRequest("choice must be connect or new")
        }
        guard let id = form["waiting"].flatMap({ WaitingID(parsing: $0) }) else { throw Failure(.linkUnknown) }
        let locale = responses.locale(of: request)
        let binding = cookies.bindingCookie(in: request.fields)
        func shown(_ failure: Failure) -> Failure {
            failure.inSignIn.with(FailedVisit { $0.language = locale.chosen })
        }
        guard choice == "connect" else {
            let device = DeviceDescription.device(of: request)
            let outcome = try await translating(
                await signIn.signUp(waiting: id, binding: binding, device: device), shown)
            return try await answer(outcome, binding: binding, locale: locale, request: request)
        }
        guard let address = configuration.login.passwordURL else { throw Failure(.notFound) }
        let ticket = try await translating(await signIn.ticket(ofWaiting: id, binding: binding), shown)
        return responses.redirect(to: AddressQuery.append("ticket=\(ticket.reveal())", to: address))
            .setting(keeping(binding))
    }
}
