import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `POST /apple/callback`: Apple's form_post, brought by the browser.
struct CallbackRoute: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let signIn: SignIn
    let answers: SignInAnswers
    let random: any RandomSource
    let gate: RateGate

    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        do {
            try gate.noting(request)
        } catch .tooManyRequests(let seconds, _) {
            throw turnedAway(request, retryAfter: seconds)
        }
        guard MediaType.isForm(request.fields) else { throw .unsupportedMediaType }
        guard request.body.count <= configuration.limits.callbackBody else { throw .contentTooLarge }
        let binding = cookies.bindingCookie(in: request.fields)
        let outcome = await signIn.complete(
            body: request.body, binding: binding,
            sameOrigin: SameOrigin.holds(request.fields, publicURL: configuration.publicURL),
            device: DeviceDescription.device(of: request), keptName: keptName(request))
        switch outcome {
        case .repost(let form): return repost(form, request)
        // In no language: what the callback says of one is not read again.
        case .signedIn(let token, let session, let returnTo):
            return answers.signedIn(token, session, returnTo, binding: binding, request: request)
        case .failed(let failure, let retry):
            let cookies = await keepingName(after: failure, request, binding)
            throw .signIn(
                failure,
                retry: retry.map { target in
                    SignInRetry(
                        target: target, language: signIn.chosenLanguage(ofCallback: request.body), cookies: cookies)
                })
        case .linkFailed(let failure, let link, let returnTo):
            let cookies =
                switch failure {
                case .signIn(let failure): await keepingName(after: failure, request, binding)
                case .storage(let text): await keepingName(after: .storage(text), request, binding)
                default: [String]()
                }
            throw WebFailure(
                visitor: failure,
                way: LinkWay(
                    link: link, returnTo: returnTo, language: signIn.chosenLanguage(ofCallback: request.body),
                    cookies: cookies))
        default:
            return try answers.answer(outcome, binding: binding, locale: locale(request), request: request)
        }
    }

    /// One callback too many of this address, with what would be lost: the name that Apple sends once, and where the
    /// sign-in was to lead.
    private func turnedAway(_ request: ServerRequest, retryAfter seconds: Int) -> WebFailure {
        guard MediaType.isForm(request.fields), request.body.count <= configuration.limits.callbackBody,
            let lost = signIn.turnedAway(body: request.body, binding: cookies.bindingCookie(in: request.fields))
        else { return .tooManyRequests(retryAfter: seconds) }
        let kept = lost.keptName.map { [cookies.setKeptName($0)] } ?? []
        if let link = lost.link {
            let way = LinkWay(link: link, returnTo: lost.returnTo, language: lost.language, cookies: kept)
            return .link(.tooMany(retryAfter: Int64(seconds)), way: way)
        }
        return .tooManyRequests(
            retryAfter: seconds, retry: SignInRetry(target: lost.returnTo, language: lost.language, cookies: kept))
    }

    /// The cookie with the name that Apple sent, and sends once, when the failure would lose it.
    private func keepingName(
        after failure: SignInFailure, _ request: ServerRequest, _ binding: BindingCookie
    ) async -> [String] {
        let name = await signIn.nameToKeep(of: failure, body: request.body, binding: binding)
        return name.map { [cookies.setKeptName($0)] } ?? []
    }

    /// The sign-in's own language: Apple's post knows nothing of `ui_locales`.
    private func locale(_ request: ServerRequest) -> PageLocale {
        responses.locale(begunIn: signIn.chosenLanguage(ofCallback: request.body), request: request)
    }

    /// A value that is not ours does not open; several are as good as none.
    private func keptName(_ request: ServerRequest) -> String? {
        if case .one(let value) = cookies.keptName(in: request.fields) { value } else { nil }
    }

    /// The page that posts the form again from our own origin, where the binding cookie is sent. It holds the known
    /// fields and nothing else of what came, and sets no cookie.
    private func repost(_ form: CallbackForm, _ request: ServerRequest) -> ServerResponse {
        let known: [(String, String?)] = [
            ("state", form.state), ("code", form.code), ("id_token", form.identityToken), ("user", form.rawUser),
            ("error", form.error), ("bramley_repost", "1"),
        ]
        let fields = known.compactMap { name, value in value.map { (name: name, value: $0) } }
        let nonce = Base64URL.encode(random.bytes(16))
        let locale = locale(request)
        let page = responses.pages.render(
            "repost", locale: locale, RepostPage.values(fields: fields, scriptNonce: nonce))
        return responses.page(
            page, locale: locale, policy: responses.policy.scripted(nonce: nonce), referrer: .sameOrigin)
    }
}

extension MediaType {
    /// `application/x-www-form-urlencoded`, once, whatever its parameters.
    static func isForm(_ fields: HTTPFields) -> Bool {
        essence(of: fields)?.isExactly("application/x-www-form-urlencoded") == true
    }
}
