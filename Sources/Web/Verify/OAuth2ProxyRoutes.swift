import Coding
import HTTP
import HTTPTypes
import RelyingParty

/// The addresses of oauth2-proxy, for configurations that were written for it: `GET /oauth2/auth`, `/oauth2/sign_in`,
/// `/oauth2/start` and `/oauth2/sign_out`.
struct OAuth2ProxyRoutes: Sendable {
    let configuration: WebConfiguration
    let verify: VerifyRoute
    let responses: WebResponses
    let targets: ReturnTargets

    /// As `/auth/verify`, with 202 in place of 204. `allowed_groups`, `allowed_emails` and `allowed_email_domains`
    /// narrow it further, as there: dropping them in silence would open what was closed.
    func auth(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let query = Query(request)
        guard query.isWhole else { throw .badRequest("too many parameters") }
        try VerifyQuery.checkDemands(query)
        var demands: [AccessRules.Listed] = []
        if let groups = try list("allowed_groups", query) {
            demands.append(AccessRules.Listed(groups: groups))
        }
        if let addresses = try list("allowed_emails", query) {
            demands.append(AccessRules.Listed(addresses: addresses.map { $0.lowercased() }))
        }
        if let domains = try list("allowed_email_domains", query) {
            demands.append(AccessRules.Listed(domains: domains.map { $0.lowercased() }))
        }
        var response = try await verify.answer(request, demands: demands)
        if response.status == .noContent { response.status = .accepted }
        return response
    }

    /// To the login page, and back to `rd` afterwards.
    func signIn(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try go(to: "/login", request)
    }

    /// To the page with the button: a link on any site could sign people out otherwise.
    func signOut(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try go(to: "/logout", request)
    }

    private func list(_ name: String, _ query: Query) throws(WebFailure) -> [String]? {
        switch query.value(name) {
        case .absent, .one(""): return nil
        case .several: throw .badRequest("several \(name)")
        case .one(let text): return text.split(separator: ",").map(String.init)
        }
    }

    private func go(to path: String, _ request: ServerRequest) throws(WebFailure) -> ServerResponse {
        var location = configuration.publicURL.absolute + path
        if let text = try wish(request) {
            guard let target = targets.validate(text) else { throw .returnToRefused }
            location += "?return_to=" + PercentEncoding.encodeComponent(target.location)
        }
        return responses.redirect(to: location)
    }

    /// `rd`, else what a trusted proxy says in `X-Auth-Request-Redirect`. A path is one of the site that the proxy
    /// serves these addresses on.
    private func wish(_ request: ServerRequest) throws(WebFailure) -> String? {
        let text: String
        switch Query(request).value("rd") {
        case .several: throw .badRequest("several rd")
        case .one(let value) where !value.isEmpty: text = value
        default:
            guard request.isFromTrustedProxy, let value = request.fields[.authRequestRedirect], !value.isEmpty else {
                return nil
            }
            text = value
        }
        guard text.hasPrefix("/"), request.isFromTrustedProxy else { return text }
        let original = try? OriginalRequest(fields: request.fields, style: .forwarded, isFromTrustedProxy: true)
        guard let host = original?.host ?? request.head.authority else { return text }
        let ownScheme = String(configuration.publicURL.origin.prefix { $0 != ":" })
        return "\(original?.scheme ?? ownScheme)://\(host)\(text)"
    }
}
