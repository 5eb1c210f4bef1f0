import Accounts
import Coding
import HTTP
import HTTPTypes

/// The addresses of oauth2-proxy, for configurations written for it.
extension WebRoutes {
    /// Like `/auth/verify`, with 202 instead of 204. `allowed_groups`, `allowed_emails` and `allowed_email_domains`
    /// restrict it further, as in oauth2-proxy: silently ignoring them would open what was closed.
    func proxyAuth(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let query = Query(request)
        guard query.isWhole else { throw .badRequest("too many parameters") }
        try VerifyQuery.checkDemands(query)
        var demands: [AccessRules.Listed] = []
        if let groups = try list("allowed_groups", query) { demands.append(AccessRules.Listed(groups: groups)) }
        if let addresses = try list("allowed_emails", query) {
            demands.append(AccessRules.Listed(addresses: addresses.map { $0.lowercased() }))
        }
        if let domains = try list("allowed_email_domains", query) {
            demands.append(AccessRules.Listed(domains: domains.map { $0.lowercased() }))
        }
        let original = try proxySite.complete(original(request), of: request, isJudged: rules.current != nil)
        var response = try await answer(request, original, demands: demands)
        if response.status == .noContent { response.status = .accepted }
        return response
    }

    /// The login page itself, not a redirect: nginx shows it with a status of its own (`error_page 401 =403
    /// /oauth2/sign_in`), with which no browser follows a `Location`.
    func proxySignIn(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        // Only page loads count: nginx shows a script this answer instead of each of its 401s.
        if Navigation.holds(request.fields) { try signIns.record(request) }
        let target = try proxySite.target(of: request)
        if proxySite.isOurs(request) {
            return try await loginPage(
                request, RequestedReturn(text: target?.location, target: target ?? proxySite.targets.defaultTarget))
        }
        let locale = responses.locale(of: request)
        let page = MessagePage(
            signInReturningTo: target, locale: locale, strings: responses.pages.strings(locale),
            configuration: configuration)
        return responses.standalone(page, locale: locale, status: .ok)
    }

    /// Redirects to the login page, and back to `rd` afterwards.
    func proxyStart(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try go(to: "/login", request)
    }

    /// Redirects to the page with the button: otherwise a link on any site could sign people out.
    func proxySignOut(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try go(to: "/logout", request)
    }

    /// Who is signed in, in oauth2-proxy's terms.
    func proxyUserInfo(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let person = try await reader.active(reader.credential(in: request.fields)).user
        let described = VerifiedUser(person)
        return responses.json { writer in
            writer.member("user", described.user)
            writer.member("email", described.email)
            writer.member("preferredUsername", described.preferredUsername)
            writer.member("groups", .texts(person.memberships))
        }
    }

    private func list(_ name: String, _ query: Query) throws(Failure) -> [String]? {
        try query.given(name)?.split(separator: ",").map(String.init)
    }

    private func go(to path: String, _ request: ServerRequest) throws(Failure) -> ServerResponse {
        var location = configuration.publicURL.absolute + path
        if let target = try proxySite.target(of: request) {
            location += "?return_to=" + PercentEncoding.encodeComponent(target.location)
        }
        return responses.redirect(to: location)
    }
}

enum OAuth2ProxyPath {
    private static let prefix = "/oauth2"
    private static let names = ["auth", "sign_in", "start", "sign_out", "userinfo", "callback"]

    /// The path of a route. With a publicURL that ends in `/oauth2`, `/oauth2/auth` also means `/oauth2/oauth2/auth`,
    /// so that one `location /oauth2/` covers these addresses and all of Bramley's own.
    static func full(_ path: String, _ publicURL: PublicURL) -> String {
        guard publicURL.basePath.hasSuffix(prefix), names.contains(where: { path == publicURL.path("/\($0)") }) else {
            return path
        }
        return publicURL.path(prefix + path.dropFirst(publicURL.basePath.utf8.count))
    }

    /// Whether a return target leads to one of them: nobody wants to go there, and some cause a loop.
    static func holds(_ target: ReturnTarget, _ publicURL: PublicURL) -> Bool {
        let origin = PublicURL.origin(of: target.location) ?? ""
        let path = target.location.dropFirst(origin.utf8.count).prefix { $0 != "?" && $0 != "#" }
        return names.contains { name in
            let address = "\(prefix)/\(name)"
            return path == address || path == publicURL.path(address) || full(String(path), publicURL) != path
        }
    }
}
