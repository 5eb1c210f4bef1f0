import Accounts
import Coding
import HTTP
import HTTPTypes

/// Every dynamic route of this server, with all its properties: how it is found and answered, who may ask, how often
/// and with how much content, who reads its failures, how it is logged.
struct RouteTable: Sendable {
    typealias Handler = @Sendable (ServerRequest, PathParameters) async throws(WebFailure) -> ServerResponse
    /// For a route whose pattern has no parameters.
    typealias PlainHandler = @Sendable (ServerRequest) async throws(WebFailure) -> ServerResponse

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
            ) { request, _ throws(WebFailure) in try await handle(request) }
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
                gate.requiring(scope) { request, parameters, key throws(WebFailure) in
                    try BodyLimit.require(BodyLimit.api, of: request)
                    return try await handle(request, parameters, key)
                })
        }

        private static func bounding(_ limit: Int?, _ handle: @escaping Handler) -> Handler {
            guard let limit else { return handle }
            return { request, parameters throws(WebFailure) in
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

        static func require(_ limit: Int, of request: ServerRequest) throws(WebFailure) {
            guard request.body.count <= limit else { throw WebFailure(.contentTooLarge) }
        }
    }

    let routes: [Entry]

    init(
        configuration: WebConfiguration, pages: Pages, responses: WebResponses, services: WebApplication.Services,
        traffic: TrafficSources
    ) {
        let cookies = Cookies(configuration)
        let (clock, random) = (services.clock, services.random)
        let bounces = BounceMemory()
        let limits = configuration.limits
        let reader = SignedInReader(
            database: services.database, cookies: cookies, limits: configuration.sessions.limits, clock: clock)
        let stopwatch = Stopwatch()
        let signIns = RateGate(perMinute: limits.signInsPerMinute, stopwatch: stopwatch, traffic: traffic)
        let login = LoginRoutes(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader,
            signIn: services.signIn, targets: configuration.returnTargets, bounces: bounces, clock: clock,
            random: random)
        let answers = SignInAnswers(
            configuration: configuration, responses: responses, cookies: cookies, bounces: bounces, clock: clock)
        let callback = CallbackRoute(
            configuration: configuration, responses: responses, cookies: cookies, signIn: services.signIn,
            answers: answers, random: random, gate: signIns)
        let notifications = NotificationRoute(
            responses: responses, notifications: services.notifications,
            failures: RateLimiter(RateGate.limit(perMinute: limits.failedNotificationsPerMinute)),
            stopwatch: stopwatch)
        let access = AccountAccess(configuration: configuration, responses: responses, reader: reader)
        let accountRoutes = Self.accountRoutes(
            configuration: configuration, responses: responses, cookies: cookies, access: access, bounces: bounces,
            services: services)
        let account = AccountRoutes(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader, access: access,
            targets: configuration.returnTargets, bounces: bounces, clock: clock, random: random)
        let session = SessionAPI(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader, bounces: bounces,
            clock: clock)
        let issuer = AssertionIssuer(configuration: configuration, keys: services.signingKeys, random: random)
        let verify = VerifyRoute(
            configuration: configuration, rules: services.accessRules ?? CurrentAccessRules(configuration.accessRules),
            responses: responses, reader: reader, targets: configuration.returnTargets,
            assertions: VerifyAssertions(issuer: issuer, clock: clock))
        let assertions = AssertionRoutes(
            issuer: issuer, keys: services.signingKeys, responses: responses, reader: reader, clock: clock)
        let assertionRoutes: [Entry] = [
            Entry(.get, "/api/v1/session/assertion", readers: .allowed, assertions.assertion),
            Entry(.get, "/.well-known/jwks.json", readers: .everyone, assertions.keys),
        ]
        let oauth2Proxy = OAuth2ProxyRoutes(
            configuration: configuration, verify: verify, login: login, responses: responses, reader: reader,
            site: OAuth2ProxySite(configuration: configuration, targets: configuration.returnTargets))
        let proxyRoutes = [
            Entry(.get, "/auth/verify", reader: .proxy, isFrequent: true, verify.get),
            Entry(.get, "/auth/forbidden", reader: .proxy, verify.forbidden),
            Entry(.get, "/oauth2/auth", reader: .proxy, isFrequent: true, oauth2Proxy.auth),
            Entry(
                .get, "/oauth2/sign_in",
                signIns.limitingPageLoads { request, _ throws(WebFailure) in try await oauth2Proxy.signIn(request) }),
            Entry(.get, "/oauth2/start", oauth2Proxy.start),
            Entry(.get, "/oauth2/sign_out", oauth2Proxy.signOut),
            Entry(.get, "/oauth2/userinfo", reader: .program, oauth2Proxy.userInfo),
        ]
        let api = APIRoutes(
            configuration: configuration, responses: responses, services: services, reader: reader, session: session,
            signIns: signIns, stopwatch: stopwatch)
        let assets = AssetRoute(pages: pages, clock: clock)
        let linkRoutes = services.signIn.linking.map { linking in
            Self.linkRoutes(
                linking, configuration: configuration, responses: responses, services: services, access: access,
                answers: answers, signIns: signIns)
        }
        let openIDRoutes = services.openID.map { provider in
            Self.openIDRoutes(
                provider, configuration: configuration, responses: responses, login: login,
                targets: configuration.returnTargets, signIns: signIns, stopwatch: stopwatch, clock: clock)
        }
        let operatorRoutes = services.console.map { console in
            OperatorRoutes(
                console: console, configuration: configuration, responses: responses, access: access,
                services: services
            ).entries
        }
        routes =
            proxyRoutes + api.entries + assertionRoutes + accountRoutes + (linkRoutes ?? []) + (openIDRoutes ?? [])
            + (operatorRoutes ?? []) + [
                Entry(.get, "/", account.root),
                Entry(.get, "/login", limit: signIns, login.page),
                Entry(.get, "/login/attempt", limit: signIns, reader: .program, login.attempt),
                Entry(.get, "/login/apple", limit: signIns, login.apple),
                Entry(.get, "/.well-known/change-password", account.changePassword),
                // It checks its limit itself: a refused callback does not lose the name that Apple sends only once.
                Entry(.post, "/apple/callback", body: limits.callbackBody, callback.post),
                Entry(
                    .post, "/apple/notifications", body: limits.notificationBody, reader: .program, notifications.post),
                Entry(.get, "/account", account.account),
                Entry(.get, "/logout", account.logoutPage),
                Entry(.post, "/logout", body: BodyLimit.form, account.logout),
                Entry(.post, "/logout/switch", body: BodyLimit.form, account.switchAccount),
                Entry(.get, "/assets/{path...}", isFrequent: true, assets.get),
            ]
    }

    private static func linkRoutes(
        _ linking: Linking, configuration: WebConfiguration, responses: WebResponses,
        services: WebApplication.Services, access: AccountAccess, answers: SignInAnswers, signIns: RateGate
    ) -> [Entry] {
        let links = LinkRoutes(
            configuration: configuration, responses: responses, cookies: answers.cookies, reader: access.reader,
            linking: linking, answers: answers, random: services.random)
        let existing = ExistingAccountRoutes(
            configuration: configuration, responses: responses, cookies: answers.cookies, access: access,
            signIn: services.signIn, answers: answers)
        return [
            Entry(.get, "/link/{id}", limit: signIns, links.visited(links.page)),
            Entry(.post, "/link/{id}", limit: signIns, links.connect),
            Entry(.get, "/link/{id}/attempt", limit: signIns, reader: .program, links.visited(links.attempt)),
            Entry(.get, "/link/{id}/apple", limit: signIns, links.visited(links.apple)),
            Entry(.post, "/login/existing", limit: signIns, body: BodyLimit.form, existing.post),
        ]
    }

    private static func openIDRoutes(
        _ provider: OpenIDProvider, configuration: WebConfiguration, responses: WebResponses, login: LoginRoutes,
        targets: ReturnTargets, signIns: RateGate, stopwatch: Stopwatch, clock: any WallClock
    ) -> [Entry] {
        let endSession = EndSessionRoute(
            configuration: configuration, responses: responses, cookies: login.cookies, reader: login.reader,
            provider: provider, bounces: login.bounces, clock: clock)
        let authorize = AuthorizeRoute(
            configuration: configuration, responses: responses, reader: login.reader, login: login, provider: provider,
            targets: targets, limit: signIns)
        let routes = ProviderRoutes(
            responses: responses, provider: provider,
            failures: RateLimiter(RateGate.limit(perMinute: configuration.limits.refusedKeysPerMinute)),
            stopwatch: stopwatch)
        // What programs call is open to pages of every origin: it takes no cookie.
        return [
            Entry(.get, "/oidc/authorize", authorize.get),
            Entry(.post, "/oidc/authorize", body: AuthorizeRoute.limit, authorize.post),
            Entry(.get, "/oidc/logout", limit: signIns, endSession.get),
            Entry(.post, "/oidc/logout", limit: signIns, body: AuthorizeRoute.limit, endSession.post),
            Entry(.post, "/oidc/token", body: BodyLimit.api, reader: .client, readers: .everyone, routes.token),
            Entry(.get, "/oidc/userinfo", reader: .client, readers: .everyone, routes.userInfo),
            Entry(.post, "/oidc/userinfo", body: BodyLimit.api, reader: .client, readers: .everyone, routes.userInfo),
            Entry(.post, "/oidc/revoke", body: BodyLimit.api, reader: .client, readers: .everyone, routes.revoke),
            Entry(.get, "/.well-known/openid-configuration", readers: .everyone, routes.metadata),
            Entry(.get, "/.well-known/oauth-authorization-server", readers: .everyone, routes.metadata),
        ]
    }

    private static func accountRoutes(
        configuration: WebConfiguration, responses: WebResponses, cookies: Cookies, access: AccountAccess,
        bounces: BounceMemory, services: WebApplication.Services
    ) -> [Entry] {
        let (database, clock) = (services.database, services.clock)
        let sessions = AccountSessionRoutes(
            configuration: configuration, responses: responses, cookies: cookies, access: access, database: database,
            bounces: bounces, clock: clock)
        let export = AccountExportRoute(
            responses: responses, access: access, database: database, clock: clock,
            gate: RateGate(perMinute: configuration.limits.exportsPerMinute, stopwatch: Stopwatch()))
        let deletion = AccountDeletionRoutes(
            configuration: configuration, responses: responses, cookies: cookies, access: access, database: database,
            bounces: bounces, clock: clock, random: services.random)
        return [
            Entry(.post, "/account/sessions/revoke", body: BodyLimit.form, sessions.revoke),
            Entry(.post, "/account/sessions/revoke-all", body: BodyLimit.form, sessions.revokeAll),
            Entry(.get, "/account/export", export.get),
            Entry(.get, "/account/delete", deletion.page),
            Entry(.post, "/account/delete", body: BodyLimit.form, deletion.post),
            Entry(.get, "/account/deleted", deletion.deleted),
        ]
    }
}
