import Accounts
import Coding
import HTTP
import HTTPTypes

/// The device authorization grant (RFC 8628): where a device begins, and the page on which a person enters its code.
extension WebRoutes {
    private static let devicePath = "/device"

    /// `POST /oidc/device_authorization` (§3.1, §3.2).
    func authorizeDevice(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let (asked, client) = try await client(of: request)
        let made = try await translating(
            await provider.beginDevice(asked, of: client, on: DeviceDescription.device(of: request))
        ) { (error: Failure) in error.of(client) }
        let address = configuration.publicURL.absolute
        return responses.json(fields: [.pragma: "no-cache"]) { writer in
            writer.member("device_code", made.code.reveal())
            writer.member("user_code", made.userCode.text)
            writer.member("verification_uri", address + Self.devicePath)
            writer.member("verification_uri_complete", address + Self.path(made.userCode))
            writer.member("expires_in", OpenIDProvider.deviceLifetime)
            writer.member("interval", OpenIDProvider.deviceInterval)
        }
    }

    /// A code in the address only fills the form: another site's link cannot use up anybody's tries (§3.3.1).
    func devicePage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let code = try Query(request).given("user_code").flatMap { DeviceUserCode(parsing: $0) }
        let locale = responses.locale(of: request)
        guard try await active(request) != nil else { return login(returningTo: Self.path(code), locale: locale) }
        return page("device", .device(code), locale)
    }

    /// An entered code, or the decision on it.
    func postDevice(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let form = try form(request, ["user_code", "decision", Self.ticketName])
        let text = form["user_code"] ?? ""
        let code = DeviceUserCode(parsing: text)
        let locale = responses.locale(of: request)
        let strings = responses.pages.strings(locale)
        guard let signedIn = try await active(request) else {
            return login(returningTo: Self.path(code), locale: locale)
        }
        let target = targets.validate(locale.link(configuration.publicURL.path(Self.path(code))))
        let answer = try await translating(
            await provider.decideDevice(
                text, allows: ["allow": true, "deny": false][form["decision"] ?? ""], ticket: form[Self.ticketName],
                signedIn, at: request.subscriber)
        ) { (error: Failure) in
            var failure = error
            failure.visit?.returnTo = target
            return failure
        }
        switch answer {
        case .unknown: return page("device", .device(nil, isWrong: true), locale)
        case .ask(let asked, let client, let services, let ticket):
            let values = PageValue.device(
                code: asked.userCode.text, on: asked.device, scopes: asked.scopes, services: services, of: client,
                for: signedIn.user,
                ticket: FormField(name: Self.ticketName, value: ticket), target: target?.location, strings: strings)
            return page("consent", values, locale)
        case .allowed: return responses.message(MessagePage(page: "device_allowed", strings, []), locale: locale)
        case .denied: return responses.message(MessagePage(page: "device_denied", strings, []), locale: locale)
        }
    }

    private static func path(_ code: DeviceUserCode?) -> String {
        devicePath + (code.map { "?user_code=\($0.text)" } ?? "")
    }

    private func page(_ template: String, _ values: PageValue, _ locale: PageLocale) -> ServerResponse {
        responses.page(
            responses.pages.render(template, locale: locale, values), locale: locale, policy: responses.policy.onward,
            referrer: .sameOrigin)
    }
}
