import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `/upgrade` and below: a person proves the password of their account, then signs in with Apple, which replaces the
/// password.
///
/// No cookie is set between the steps: each page passes on the upgrade's id and token in hidden fields.
struct UpgradeRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let reader: SignedInReader
    let linking: Linking
    let targets: ReturnTargets
    /// For passwords and second factors of one address.
    let gate: RateGate
    let random: any RandomSource

    /// One request, with what all its pages need.
    private struct Visit {
        var request: ServerRequest
        var locale: PageLocale
        var wish: ReturnWish

        var way: LinkWay { LinkWay(returnTo: wish.target, language: locale.chosen) }
    }

    func page(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try linking.requireUpgrades()
        let wish = try ReturnWish(Query(request), among: targets)
        return form(Visit(request: request, locale: responses.locale(of: request), wish: wish))
    }

    /// W3C "A Well-Known URL for Changing Passwords".
    func changePassword(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard configuration.linking.changePassword, linking.offersUpgrades else { throw .routing(.notFound) }
        return responses.redirect(to: responses.locale(of: request).link(configuration.publicURL.path("/upgrade")))
    }

    /// The password.
    func password(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try requireForm(request)
        let body = try PasswordBody(form: request.body)
        let fields = Query(body.rest)
        let visit = Visit(
            request: request, locale: responses.locale(of: request), wish: try ReturnWish(fields, among: targets))
        guard case .one(let username) = fields.value("username"), !username.isEmpty, let password = body.password else {
            return form(visit, username: fields.value("username").text, notice: "upgrade.empty", .unprocessableContent)
        }
        do throws(WebFailure) {
            try gate.pass(request)
        } catch {
            return form(visit, username: username, refusedBy: error)
        }
        do throws(LinkFailure) {
            switch try await linking.startUpgrade(username: username, password: password) {
            case .failure: return form(visit, username: username, notice: "upgrade.failed", .unprocessableContent)
            case .success(let start): return try await apple(visit, start.id, start.token)
            case .twoFactorAuthRequired(let start, let methods):
                return code(visit, start.id, start.token, methods: methods)
            }
        } catch {
            switch error {
            // An invalid name or password is as wrong as any other.
            case .invalid: return form(visit, username: username, notice: "upgrade.failed", .unprocessableContent)
            case .tooMany, .verifierUnavailable:
                return form(visit, username: username, refusedBy: WebFailure(visitor: error, way: visit.way))
            default: throw WebFailure(visitor: error, way: visit.way)
            }
        }
    }

    /// The second factor.
    func secondFactor(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try requireForm(request)
        let fields = Query(request.body)
        let visit = Visit(
            request: request, locale: responses.locale(of: request), wish: try ReturnWish(fields, among: targets))
        guard let id = UpgradeID(parsing: fields.value("id").text ?? ""),
            let token = UpgradeToken(parsing: fields.value("token").text ?? "")
        else { throw .link(.unknown, way: visit.way) }
        do throws(LinkFailure) {
            do throws(WebFailure) {
                try gate.pass(request)
            } catch {
                return try await code(again: visit, id, token, refusedBy: error)
            }
            let code = (fields.value("code").text ?? "").filter { !$0.isWhitespace }
            if code.isEmpty { return try await self.code(again: visit, id, token, notice: "upgrade.codeEmpty") }
            let answer: UpgradeAnswer
            do throws(LinkFailure) {
                answer = try await linking.secondFactor(id, token: token, code: code)
            } catch .invalid {
                answer = .failure
            } catch .verifierUnavailable(let text) {
                let failure = WebFailure(visitor: .verifierUnavailable(text), way: visit.way)
                return try await self.code(again: visit, id, token, refusedBy: failure)
            }
            switch answer {
            case .failure: return try await self.code(again: visit, id, token, notice: "upgrade.codeFailed")
            case .success: return try await apple(visit, id, token)
            case .twoFactorAuthRequired(_, let methods): return self.code(visit, id, token, methods: methods)
            }
        } catch {
            throw WebFailure(visitor: error, way: visit.way)
        }
    }

    // MARK: Pages

    /// - Parameter notice: the key of the text that says what is wrong.
    private func form(
        _ visit: Visit, username: String? = nil, notice: String? = nil, _ status: HTTPResponse.Status = .ok,
        fields: HTTPFields = HTTPFields(), values: [String: String] = [:]
    ) -> ServerResponse {
        let strings = responses.pages.strings(visit.locale)
        let page = responses.pages.render(
            "upgrade", locale: visit.locale,
            UpgradePage.values(
                username: username, returnTo: visit.wish.text, notNow: visit.wish.target.location,
                notice: notice.map { strings?.text($0, values) ?? $0 }))
        return responses.page(page, locale: visit.locale, status: status, referrer: .sameOrigin, fields: fields)
    }

    private func form(_ visit: Visit, username: String, refusedBy failure: WebFailure) -> ServerResponse {
        responses.log(failure, route: "/upgrade")
        return form(
            visit, username: username, notice: Self.notice(of: failure), failure.status, fields: failure.fields,
            values: ["wait": wait(failure, visit.locale)])
    }

    private func code(
        _ visit: Visit, _ id: UpgradeID, _ token: UpgradeToken, methods: [String], notice: String? = nil,
        _ status: HTTPResponse.Status = .ok, fields: HTTPFields = HTTPFields()
    ) -> ServerResponse {
        let strings = responses.pages.strings(visit.locale)
        let query = visit.wish.text.map { "?return_to=" + PercentEncoding.encodeComponent($0) } ?? ""
        let page = responses.pages.render(
            "upgrade_code", locale: visit.locale,
            UpgradePage.codeValues(
                id: id, token: token, methods: methods, returnTo: visit.wish.text,
                again: visit.locale.link(configuration.publicURL.path("/upgrade" + query)), notice: notice,
                strings: strings))
        return responses.page(page, locale: visit.locale, status: status, referrer: .sameOrigin, fields: fields)
    }

    /// The page of the second factor once more.
    private func code(
        again visit: Visit, _ id: UpgradeID, _ token: UpgradeToken, notice: String
    ) async throws(LinkFailure) -> ServerResponse {
        let link = try await linking.upgrade(id, token: token)
        return code(
            visit, id, token, methods: link.methods, notice: responses.pages.strings(visit.locale)?[notice],
            .unprocessableContent)
    }

    private func code(
        again visit: Visit, _ id: UpgradeID, _ token: UpgradeToken, refusedBy failure: WebFailure
    ) async throws(LinkFailure) -> ServerResponse {
        let link = try await linking.upgrade(id, token: token)
        responses.log(failure, route: "/upgrade/second-factor")
        let text = responses.pages.strings(visit.locale)?.text(
            Self.notice(of: failure), ["wait": wait(failure, visit.locale)])
        return code(
            visit, id, token, methods: link.methods, notice: text, failure.status, fields: failure.fields)
    }

    /// Apple's button. The link without scripts leads to Apple at once: our secrets must not be in an address.
    private func apple(
        _ visit: Visit, _ id: UpgradeID, _ token: UpgradeToken
    ) async throws(LinkFailure) -> ServerResponse {
        let request = visit.request
        let binding = cookies.browserBinding(in: request.fields) ?? BrowserBinding.make(random: random)
        let signedIn = (try? await reader.signedIn(reader.credential(in: request.fields))) ?? nil
        let attempt = try await linking.beginUpgrade(
            id, token: token, binding: binding, returnTo: visit.wish.target, replacing: signedIn?.session.id,
            language: visit.locale.chosen)
        let url = linking.authorizeURL(for: attempt).split(separator: "?", maxSplits: 1)
        let button = ConnectPage.Button(
            state: attempt.state, nonce: attempt.nonce, address: String(url[0]),
            query: url.count == 2 ? String(url[1]) : "", renewal: nil,
            scriptNonce: Base64URL.encode(random.bytes(16)))
        return responses.connectPage(
            ConnectPage.Content(kind: .proven), button: button, locale: visit.locale,
            cookies: [cookies.setLinkBinding(binding.cookieValue)])
    }

    // MARK: What is wrong

    private static func notice(of failure: WebFailure) -> String {
        if case .tooManyRequests = failure { "upgrade.tooMany" } else { "upgrade.unavailable" }
    }

    /// The waiting time, in words.
    private func wait(_ failure: WebFailure, _ locale: PageLocale) -> String {
        guard case .tooManyRequests(let seconds, _) = failure else { return "" }
        let whole = seconds > 60 ? (Int64(seconds) + 59) / 60 * 60 : Int64(seconds)
        return MessagePage.duration(whole, responses.pages.strings(locale))
    }

    private func requireForm(_ request: ServerRequest) throws(WebFailure) {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw .crossSite }
        try linking.requireUpgrades()
        guard MediaType.isForm(request.fields) else { throw .unsupportedMediaType }
    }
}

extension Linking {
    /// Without a verifier there are no upgrades.
    func requireUpgrades() throws(WebFailure) {
        guard offersUpgrades else { throw .link(.notConfigured, way: nil) }
    }
}

extension Query.Value {
    /// The only value; nil for none or several.
    var text: String? { if case .one(let text) = self { text } else { nil } }
}
