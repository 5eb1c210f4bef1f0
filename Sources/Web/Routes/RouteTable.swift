import HTTP
import HTTPTypes
import RelyingParty

/// Method, pattern and handler of every dynamic route of this server.
struct RouteTable: Sendable {
    typealias Handler = @Sendable (ServerRequest, PathParameters) async throws(WebFailure) -> ServerResponse

    struct Entry: Sendable {
        var method: HTTPRequest.Method
        /// Below the base path; also the route's name in logs.
        var pattern: String
        var handle: @Sendable (ServerRequest, PathParameters) async throws(WebFailure) -> ServerResponse
        /// Whether pages of `api.allowedOrigins` may read the answer.
        var isCrossOrigin = false

        /// A route whose pattern has no parameters.
        init(
            method: HTTPRequest.Method, pattern: String,
            handle: @escaping @Sendable (ServerRequest) async throws(WebFailure) -> ServerResponse
        ) {
            self.init(method: method, pattern: pattern) { request, _ throws(WebFailure) in
                try await handle(request)
            }
        }

        init(
            method: HTTPRequest.Method, pattern: String,
            handle: @escaping @Sendable (ServerRequest, PathParameters) async throws(WebFailure) -> ServerResponse
        ) {
            self.method = method
            self.pattern = pattern
            self.handle = handle
        }

        /// The same, also for pages of `api.allowedOrigins`. Only for what changes nothing.
        var crossOrigin: Entry {
            var entry = self
            entry.isCrossOrigin = true
            return entry
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
            sessions: services.sessions, cookies: cookies, limits: configuration.sessions.limits, clock: clock)
        let stopwatch = Stopwatch()
        let signIns = RateGate(perMinute: limits.signInsPerMinute, stopwatch: stopwatch, traffic: traffic)
        let login = LoginRoutes(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader,
            signIn: services.signIn, targets: services.returnTargets, bounces: bounces, clock: clock, random: random)
        let upgrades = RateGate(perMinute: limits.upgradesPerMinute, stopwatch: stopwatch)
        let answers = SignInAnswers(
            configuration: configuration, responses: responses, cookies: cookies, bounces: bounces, clock: clock)
        let callback = CallbackRoute(
            configuration: configuration, responses: responses, cookies: cookies, signIn: services.signIn,
            answers: answers, random: random, gate: signIns)
        let notifications = NotificationRoute(
            configuration: configuration, responses: responses, notifications: services.notifications,
            failures: RateLimiter(RateGate.limit(perMinute: limits.failedNotificationsPerMinute)),
            stopwatch: stopwatch)
        let access = AccountAccess(configuration: configuration, responses: responses, reader: reader)
        let accountRoutes = Self.accountRoutes(
            configuration: configuration, responses: responses, cookies: cookies, access: access, bounces: bounces,
            services: services)
        let account = AccountRoutes(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader, access: access,
            targets: services.returnTargets, bounces: bounces, clock: clock, random: random)
        let session = SessionAPI(
            configuration: configuration, responses: responses, cookies: cookies, reader: reader, bounces: bounces,
            clock: clock)
        let issuer = AssertionIssuer(configuration: configuration, keys: services.signingKeys, random: random)
        let verify = VerifyRoute(
            configuration: configuration, rules: services.accessRules ?? CurrentAccessRules(configuration.accessRules),
            responses: responses, reader: reader, targets: services.returnTargets,
            assertions: VerifyAssertions(issuer: issuer, clock: clock))
        let assertions = AssertionRoutes(issuer: issuer, responses: responses, reader: reader, clock: clock)
        let assertionRoutes: [Entry] = [
            Entry(method: .get, pattern: "/api/v1/session/assertion", handle: assertions.assertion).crossOrigin,
            Entry(method: .get, pattern: "/.well-known/jwks.json", handle: assertions.keys),
        ]
        let oauth2Proxy = OAuth2ProxyRoutes(
            configuration: configuration, verify: verify, login: login, responses: responses, reader: reader,
            site: OAuth2ProxySite(configuration: configuration, targets: services.returnTargets))
        let proxyRoutes = [
            Entry(method: .get, pattern: "/auth/verify", handle: verify.get),
            Entry(method: .get, pattern: "/auth/forbidden", handle: verify.forbidden),
            Entry(method: .get, pattern: "/oauth2/auth", handle: oauth2Proxy.auth),
            Entry(method: .get, pattern: "/oauth2/sign_in", handle: signIns.limitingPageLoads(oauth2Proxy.signIn)),
            Entry(method: .get, pattern: "/oauth2/start", handle: oauth2Proxy.start),
            Entry(method: .get, pattern: "/oauth2/sign_out", handle: oauth2Proxy.signOut),
            Entry(method: .get, pattern: "/oauth2/userinfo", handle: oauth2Proxy.userInfo),
        ]
        let api = APIRoutes(
            configuration: configuration, responses: responses, services: services, reader: reader, session: session,
            signIns: signIns, upgrades: upgrades, stopwatch: stopwatch)
        let linkRoutes = services.signIn.linking.map { linking in
            Self.linkRoutes(
                linking, configuration: configuration, responses: responses, services: services, access: access,
                answers: answers, signIns: signIns, upgrades: upgrades)
        }
        routes =
            proxyRoutes + api.entries + assertionRoutes + accountRoutes + (linkRoutes ?? []) + [
                Entry(method: .get, pattern: "/", handle: account.root),
                Entry(method: .get, pattern: "/login", handle: signIns.limiting(login.page)),
                Entry(method: .get, pattern: "/login/attempt", handle: signIns.limiting(login.attempt)),
                Entry(method: .get, pattern: "/login/apple", handle: signIns.limiting(login.apple)),
                Entry(method: .post, pattern: "/apple/callback", handle: callback.post),
                Entry(method: .post, pattern: "/apple/notifications", handle: notifications.post),
                Entry(method: .get, pattern: "/account", handle: account.account),
                Entry(method: .get, pattern: "/logout", handle: account.logoutPage),
                Entry(method: .post, pattern: "/logout", handle: account.logout),
                Entry(method: .post, pattern: "/logout/switch", handle: account.switchAccount),
            ]
    }

    private static func linkRoutes(
        _ linking: Linking, configuration: WebConfiguration, responses: WebResponses,
        services: WebApplication.Services, access: AccountAccess, answers: SignInAnswers, signIns: RateGate,
        upgrades: RateGate
    ) -> [Entry] {
        let links = LinkRoutes(
            configuration: configuration, responses: responses, cookies: answers.cookies, reader: access.reader,
            linking: linking, answers: answers, random: services.random)
        let upgrade = UpgradeRoutes(
            configuration: configuration, responses: responses, cookies: answers.cookies, reader: access.reader,
            linking: linking, targets: services.returnTargets, gate: upgrades, random: services.random)
        let existing = ExistingAccountRoutes(
            configuration: configuration, responses: responses, cookies: answers.cookies, access: access,
            signIn: services.signIn, answers: answers)
        return [
            Entry(method: .get, pattern: "/link/{id}", handle: signIns.limiting(links.visited(links.page))),
            Entry(method: .post, pattern: "/link/{id}", handle: signIns.limiting(links.connect)),
            Entry(
                method: .get, pattern: "/link/{id}/attempt", handle: signIns.limiting(links.visited(links.attempt))),
            Entry(method: .get, pattern: "/link/{id}/apple", handle: signIns.limiting(links.visited(links.apple))),
            Entry(method: .post, pattern: "/login/existing", handle: signIns.limiting(existing.post)),
            Entry(method: .get, pattern: "/upgrade", handle: signIns.limiting(upgrade.page)),
            Entry(method: .post, pattern: "/upgrade", handle: upgrade.password),
            Entry(method: .post, pattern: "/upgrade/second-factor", handle: upgrade.secondFactor),
            Entry(method: .get, pattern: "/.well-known/change-password", handle: upgrade.changePassword),
        ]
    }

    private static func accountRoutes(
        configuration: WebConfiguration, responses: WebResponses, cookies: Cookies, access: AccountAccess,
        bounces: BounceMemory, services: WebApplication.Services
    ) -> [Entry] {
        let (users, clock) = (services.users, services.clock)
        let sessions = AccountSessionRoutes(
            configuration: configuration, responses: responses, cookies: cookies, access: access, users: users,
            bounces: bounces, clock: clock)
        let export = AccountExportRoute(
            responses: responses, access: access, users: users, audit: services.audit, clock: clock,
            gate: RateGate(perMinute: configuration.limits.exportsPerMinute, stopwatch: Stopwatch()))
        let deletion = AccountDeletionRoutes(
            configuration: configuration, responses: responses, cookies: cookies, access: access, users: users,
            bounces: bounces, clock: clock, random: services.random)
        return [
            Entry(method: .post, pattern: "/account/sessions/revoke", handle: sessions.revoke),
            Entry(method: .post, pattern: "/account/sessions/revoke-all", handle: sessions.revokeAll),
            Entry(method: .get, pattern: "/account/export", handle: export.get),
            Entry(method: .get, pattern: "/account/delete", handle: deletion.page),
            Entry(method: .post, pattern: "/account/delete", handle: deletion.post),
            Entry(method: .get, pattern: "/account/deleted", handle: deletion.deleted),
        ]
    }
}
