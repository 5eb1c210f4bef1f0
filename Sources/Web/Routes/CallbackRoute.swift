import Accounts
import Coding
import HTTP
import HTTPTypes
import Logging

/// `POST /apple/callback`: Apple's form_post, delivered by the browser.
extension WebRoutes {
    func callback(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        do {
            try signIns.record(request)
        } catch {
            throw rateLimited(try? received(request), error)
        }
        let callback = try received(request)
        let outcome = await signIn.complete(
            callback, sameOrigin: SameOrigin.holds(request.fields, publicURL: configuration.publicURL),
            device: DeviceDescription.device(of: request),
            // Only a value of ours can be opened; several count as none.
            keptName: cookies.keptName(in: request.fields).text)
        return try await answer(outcome, to: callback, request)
            .keepingOpener(if: callback.returnTo?.isAuthorizeRequest ?? false)
    }

    private func answer(
        _ outcome: SignInOutcome, to callback: ReceivedCallback, _ request: ServerRequest
    ) async throws(Failure) -> ServerResponse {
        switch outcome {
        case .repost(let form): return repost(form, locale(of: callback, request))
        case .failed(let failure, let returnTo?, let link):
            // The name, which Apple sends only once, when the failure would lose it.
            let kept = await signIn.nameToKeep(of: callback, after: failure)
            throw failure.with(visit(callback, to: returnTo, link: link, keeping: kept))
        default:
            return try await self.answer(
                outcome, binding: callback.binding, locale: locale(of: callback, request), request: request)
        }
    }

    /// The sign-in's own language: Apple's post does not carry `ui_locales`.
    private func locale(of callback: ReceivedCallback, _ request: ServerRequest) -> PageLocale {
        responses.locale(begunIn: callback.language, request: request)
    }

    private func received(_ request: ServerRequest) throws(Failure) -> ReceivedCallback {
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        return signIn.receive(request.body, binding: cookies.bindingCookie(in: request.fields))
    }

    /// A rate-limited callback, with what would be lost: the name that Apple sends only once, and the sign-in's target.
    private func rateLimited(_ callback: ReceivedCallback?, _ failure: Failure) -> Failure {
        guard let callback, let target = callback.returnTo else { return failure }
        let kept = signIn.nameToKeep(ofTurnedAway: callback)
        return failure.with(visit(callback, to: target, link: callback.link, keeping: kept))
    }

    private func visit(
        _ callback: ReceivedCallback, to target: ReturnTarget, link: LinkID?, keeping name: String?
    ) -> FailedVisit {
        FailedVisit {
            $0.returnTo = target
            $0.errorReturn = callback.errorReturn
            $0.link = link
            $0.language = callback.language
            $0.cookies = name.map { [cookies.setKeptName($0)] } ?? []
        }
    }

    /// The page that posts the form's known fields again from our own origin, where the binding cookie is sent.
    private func repost(_ form: CallbackForm, _ locale: PageLocale) -> ServerResponse {
        let known: [(String, String?)] = [
            ("state", form.state), ("code", form.code), ("id_token", form.identityToken), ("user", form.rawUser),
            ("error", form.error), ("bramley_repost", "1"),
        ]
        let fields = known.compactMap { name, value in value.map { (name: name, value: $0) } }
        return responses.scripted(
            "repost", locale: locale, .repost(fields: fields, to: configuration.publicURL.path("/apple/callback")))
    }
}

extension MediaType {
    /// `application/x-www-form-urlencoded`, in one field, with any parameters.
    static func isForm(_ fields: HTTPFields) -> Bool {
        essence(of: fields)?.isExactly("application/x-www-form-urlencoded") == true
    }
}

/// `POST /apple/notifications`: Apple's servers report what happened to an account.
extension WebRoutes {
    func notification(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        var failure: Failure
        do {
            if try await services.notifications.receive(request.body) != nil { return responses.empty(.ok) }
            failure = Failure(.notificationRefused)
        } catch {
            // Not without Apple's keys: the notification may be Apple's own, with a new key.
            if error.code == .notificationRefused { try failedNotifications.pass(request) }
            failure = error
        }
        // Logged where it happened.
        failure.level = .debug
        throw failure
    }
}
