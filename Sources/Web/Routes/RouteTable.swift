import Accounts
import Coding
import HTTP
import HTTPTypes

/// A dynamic route with all its properties: how it is found and answered, who may ask, how often and with how much
/// content, who reads its failures, how it is logged.
enum RouteTable {
    typealias Handler = @Sendable (ServerRequest, PathParameters) async throws(Failure) -> ServerResponse
    /// For a route whose pattern has no parameters.
    typealias PlainHandler = @Sendable (ServerRequest) async throws(Failure) -> ServerResponse

    /// Who reads a route's failures.
    enum Reader: Sendable {
        /// A page.
        case visitor
        /// A problem document (RFC 9457).
        case program
        /// The errors of OAuth (RFC 6749 §5.2).
        case client
        /// A proxy, which may pass them on to a visitor of another site: a page that needs no other file, or for a
        /// program a problem document or plain text.
        case proxy

        /// The default of a pattern.
        init(ofPattern pattern: String) {
            self = ["/api/", "/.well-known/"].contains(where: pattern.hasPrefix) ? .program : .visitor
        }

        /// For paths without a route. Clients look for `/.well-known/` at the root of the host first.
        init(ofUnroutedPath path: String, _ url: PublicURL) {
            let below = path.hasPrefix("/.well-known/") ? path : url.pathBelow(path) ?? ""
            self.init(ofPattern: below)
        }
    }

    struct Entry: Sendable {
        let method: HTTPRequest.Method
        /// Below the base path; also the route's name in logs and metrics.
        let pattern: String
        let reader: Reader
        /// Whether its good answers are `debug` in the access log: they are many and tell little.
        let isFrequent: Bool
        /// Whose pages may read the answer.
        let readers: CrossOrigin.Readers
        let handle: Handler

        /// - Parameters:
        ///   - limit: the limit per address; nil where the handler checks its own, or where a request costs nothing.
        ///   - body: bytes of content, beyond which the answer is 413; nil where content is not read.
        ///   - reader: nil decides by the pattern.
        init(
            _ method: HTTPRequest.Method, _ pattern: String, limit: RateGate? = nil, body: Int? = nil,
            reader: Reader? = nil, isFrequent: Bool = false, readers: CrossOrigin.Readers = .own,
            _ handle: @escaping Handler
        ) {
            let handle = Self.bounding(body, handle)
            self.method = method
            self.pattern = pattern
            self.reader = reader ?? Reader(ofPattern: pattern)
            self.isFrequent = isFrequent
            self.readers = readers
            self.handle = limit?.limiting(handle) ?? handle
        }

        init(
            _ method: HTTPRequest.Method, _ pattern: String, limit: RateGate? = nil, body: Int? = nil,
            reader: Reader? = nil, isFrequent: Bool = false, readers: CrossOrigin.Readers = .own,
            _ handle: @escaping PlainHandler
        ) {
            self.init(
                method, pattern, limit: limit, body: body, reader: reader, isFrequent: isFrequent,
                readers: readers
            ) { request, _ throws(Failure) in try await handle(request) }
        }

        /// A route for applications whose API key has `scope`.
        init(
            _ method: HTTPRequest.Method, _ pattern: String, scope: APIScope, _ gate: BackendGate,
            _ handle: @escaping Handler
        ) {
            self.init(method, pattern, gate.requiring(scope, Self.bounding(BodyLimit.api, handle)))
        }

        /// The same; the handler receives the key.
        init(
            _ method: HTTPRequest.Method, _ pattern: String, scope: APIScope, _ gate: BackendGate,
            _ handle: @escaping BackendGate.KeyHandler
        ) {
            self.init(
                method, pattern,
                gate.requiring(scope) { request, parameters, key throws(Failure) in
                    try BodyLimit.require(BodyLimit.api, of: request)
                    return try await handle(request, parameters, key)
                })
        }

        private static func bounding(_ limit: Int?, _ handle: @escaping Handler) -> Handler {
            guard let limit else { return handle }
            return { request, parameters throws(Failure) in
                try BodyLimit.require(limit, of: request)
                return try await handle(request, parameters)
            }
        }
    }

    /// Limits on content, in bytes.
    enum BodyLimit {
        /// A form of ours.
        static let form = 4_096
        static let api = 16_384

        /// Apple's answer from an app; less when the server accepts less.
        static func native(_ configuration: WebConfiguration) -> Int { min(65_536, configuration.limits.callbackBody) }

        static func require(_ limit: Int, of request: ServerRequest) throws(Failure) {
            guard request.body.count <= limit else { throw Failure(.contentTooLarge) }
        }
    }
}

extension WebRoutes {
    /// Every route; those of the API, of applications' backends and of operators have pages of their own.
    func entries() -> [RouteTable.Entry] {
        typealias Entry = RouteTable.Entry
        typealias BodyLimit = RouteTable.BodyLimit
        let limits = configuration.limits
        return proxyEntries() + apiEntries() + linkEntries() + openIDEntries() + operatorEntries() + [
            Entry(.get, "/", root),
            Entry(.get, "/login", limit: signIns, loginPage),
            Entry(.get, "/login/attempt", limit: signIns, reader: .program, loginAttempt),
            Entry(.get, "/login/apple", limit: signIns, loginApple),
            Entry(.get, "/.well-known/change-password", changePassword),
            // It checks its limit itself: a refused callback does not lose the name that Apple sends only once.
            Entry(.post, "/apple/callback", body: limits.callbackBody, callback),
            Entry(.post, "/apple/notifications", body: limits.notificationBody, reader: .program, notification),
            Entry(.get, "/account", accountPage),
            Entry(.post, "/account/sessions/revoke", body: BodyLimit.form, revokeSession),
            Entry(.post, "/account/sessions/revoke-all", body: BodyLimit.form, revokeOtherSessions),
            Entry(.get, "/account/export", export),
            Entry(.get, "/account/delete", deletionPage),
            Entry(.post, "/account/delete", body: BodyLimit.form, postDeletion),
            Entry(.get, "/account/deleted", deletedPage),
            Entry(.get, "/logout", logoutPage),
            Entry(.post, "/logout", body: BodyLimit.form, logout),
            Entry(.post, "/logout/switch", body: BodyLimit.form, switchAccount),
            Entry(.get, "/assets/{path...}", isFrequent: true, asset),
        ]
    }

    private func proxyEntries() -> [RouteTable.Entry] {
        typealias Entry = RouteTable.Entry
        return [
            Entry(.get, "/auth/verify", reader: .proxy, isFrequent: true, verify.get),
            Entry(.get, "/auth/forbidden", reader: .proxy, verify.forbidden),
            Entry(.get, "/oauth2/auth", reader: .proxy, isFrequent: true, proxyAuth),
            Entry(
                .get, "/oauth2/sign_in",
                signIns.limitingPageLoads { request, _ throws(Failure) in try await self.proxySignIn(request) }),
            Entry(.get, "/oauth2/start", proxyStart),
            Entry(.get, "/oauth2/sign_out", proxySignOut),
            Entry(.get, "/oauth2/userinfo", reader: .program, proxyUserInfo),
        ]
    }

    private func linkEntries() -> [RouteTable.Entry] {
        typealias Entry = RouteTable.Entry
        return [
            Entry(.get, "/link/{id}", limit: signIns, visited(linkPage)),
            Entry(.post, "/link/{id}", limit: signIns, connectLink),
            Entry(.get, "/link/{id}/attempt", limit: signIns, reader: .program, visited(linkAttempt)),
            Entry(.get, "/link/{id}/apple", limit: signIns, visited(linkApple)),
            Entry(.post, "/login/existing", limit: signIns, body: RouteTable.BodyLimit.form, existingAccount),
        ]
    }

    private func openIDEntries() -> [RouteTable.Entry] {
        typealias Entry = RouteTable.Entry
        typealias BodyLimit = RouteTable.BodyLimit
        guard let provider else { return [] }
        let endSession = EndSessionRoute(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader, provider: provider,
            bounces: bounces, clock: clock)
        let authorize = AuthorizeRoute(
            configuration: configuration, responses: responses, reader: reader, login: self, provider: provider,
            targets: targets, limit: signIns)
        let programs = ProviderRoutes(
            responses: responses, provider: provider,
            failures: RateLimiter(RateGate.limit(perMinute: configuration.limits.refusedKeysPerMinute)),
            stopwatch: stopwatch)
        // What programs call is open to pages of every origin: it takes no cookie.
        return [
            Entry(.get, "/oidc/authorize", authorize.get),
            Entry(.post, "/oidc/authorize", body: AuthorizeRoute.limit, authorize.post),
            Entry(.get, "/oidc/logout", limit: signIns, endSession.get),
            Entry(.post, "/oidc/logout", limit: signIns, body: AuthorizeRoute.limit, endSession.post),
            Entry(.post, "/oidc/token", body: BodyLimit.api, reader: .client, readers: .everyone, programs.token),
            Entry(.get, "/oidc/userinfo", reader: .client, readers: .everyone, programs.userInfo),
            Entry(.post, "/oidc/userinfo", body: BodyLimit.api, reader: .client, readers: .everyone, programs.userInfo),
            Entry(.post, "/oidc/revoke", body: BodyLimit.api, reader: .client, readers: .everyone, programs.revoke),
            Entry(.get, "/.well-known/openid-configuration", readers: .everyone, programs.metadata),
            Entry(.get, "/.well-known/oauth-authorization-server", readers: .everyone, programs.metadata),
        ]
    }
}
