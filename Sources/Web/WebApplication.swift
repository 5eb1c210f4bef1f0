package import Accounts
import Coding
package import Crypto
package import HTTP
import HTTPTypes
import Logging
package import Storage

/// The site for visitors, proxies, apps and Apple: every route of the main listener.
package final class WebApplication: RequestHandler {
    /// The dependencies of the routes; the executable provides them.
    package struct Services: Sendable {
        package var signIn: SignIn
        package var database: Database
        package var notifications: Notifications
        package var signingKeys: SigningKeys?
        /// Nil: there is no OpenID provider.
        package var openID: OpenIDProvider?
        package var runtime: Runtime
        /// Lets `bramley doctor` ask how requests arrive; nil disables it.
        package var keyring: SealingKeyring?
        /// The webhook endpoints; nil shows none.
        package var webhooks: WebhookEndpoints?
        /// The access rules in force; nil uses the configuration's permanently.
        package var accessRules: CurrentAccessRules?
        /// The operator's page; nil where it does not exist.
        package var console: OperatorConsole?

        package init(signIn: SignIn, database: Database, notifications: Notifications, runtime: Runtime) {
            self.signIn = signIn
            self.database = database
            self.notifications = notifications
            self.runtime = runtime
        }

        var clock: any WallClock { runtime.clock }
        var random: any RandomSource { runtime.random }
        var logger: Logger { runtime.logger }
    }

    private let router: Router
    package let metrics: RequestMetrics
    private let policy: ContentSecurityPolicy
    private let publicURL: PublicURL
    private let inspection: Inspection?
    private let random: BufferedRandom
    private let accessLog: AccessLog
    private let frequentPatterns: Set<String>
    private let stopwatch = Stopwatch()
    /// For a request whose head is too large to be read: in the site's first language, since the visitor's is unknown.
    package let largeHeadPage: ServerResponse

    package init(configuration: WebConfiguration, pages: Pages, services: Services) {
        let policy = ContentSecurityPolicy(configuration)
        self.policy = policy
        publicURL = configuration.publicURL
        random = BufferedRandom(services.random)
        accessLog = AccessLog(configuration.accessLog, logger: services.logger)
        let responses = WebResponses(
            configuration: configuration, pages: pages, policy: policy, random: services.random,
            logger: services.logger)
        largeHeadPage = responses.largeHeadPage()
        var router = Router(basePath: configuration.publicURL.basePath) { request, failure in
            let reader = RouteEntry.Reader(ofUnroutedPath: request.path, configuration.publicURL)
            var response = responses.failure(Failure(routing: failure), route: "", reader: reader, request: request)
            response.fields.append(contentsOf: failure.fields)
            return response
        }
        let traffic = TrafficSources(clock: services.clock)
        inspection = services.keyring.map {
            Inspection(
                keyring: $0, cookies: Cookies(configuration), policy: policy, traffic: traffic, clock: services.clock)
        }
        let routes = WebRoutes(
            configuration: configuration, responses: responses, services: services, traffic: traffic
        ).entries()
        let crossOrigin = CrossOrigin(allowedOrigins: configuration.apiOrigins)
        for route in routes {
            router.add(route.method, route.pattern) { request, parameters in
                var response: ServerResponse
                do throws(Failure) {
                    response = try await route.handle(request, parameters)
                } catch {
                    response = responses.failure(error, route: route.pattern, reader: route.reader, request: request)
                }
                crossOrigin.add(to: &response.fields, for: request.fields, route.readers)
                return response
            }
        }
        var patterns: Set<String> = []
        for route in routes where route.readers != .own && patterns.insert(route.pattern).inserted {
            let methods = Router.allow(routes.filter { $0.pattern == route.pattern }.map(\.method))
            router.add(.options, route.pattern) { request, _ in
                var response = responses.empty(.noContent, fields: [.allow: methods])
                crossOrigin.addPreflight(to: &response.fields, for: request.fields, route.readers, methods: methods)
                return response
            }
        }
        frequentPatterns = Set(routes.filter(\.isFrequent).map(\.pattern))
        self.router = router
        metrics = RequestMetrics(router.routes)
    }

    package func respond(to request: ServerRequest) async -> ServerResponse {
        let start = stopwatch.milliseconds
        // A trusted proxy's id, otherwise a new one.
        let id = RequestID(named: request) ?? RequestID(UInt64(bigEndianBytes: random.bytes(8)))
        let (response, pattern) = await RequestID.$current.withValue(id) {
            let network = ClientDetail.network.text(of: request.client)
            return await AuditActor.$current.withValue(.visitor(network: network)) { await answer(request, id) }
        }
        accessLog.record(
            request, response, pattern: pattern, isFrequent: pattern.map(frequentPatterns.contains) ?? false, id: id,
            milliseconds: max(0, stopwatch.milliseconds - start))
        return response
    }

    private func answer(_ request: ServerRequest, _ id: RequestID) async -> (ServerResponse, pattern: String?) {
        if let answer = inspection?.answer(request) { return (answer, nil) }
        let path = MetadataPath.full(OAuth2ProxyPath.full(request.path, publicURL), publicURL)
        let match = router.match(request.method, path: path)
        let start = ContinuousClock.now
        var response = await router.respond(to: request, match)
        metrics.count(match.route, request.method, response.status, since: start)
        // Added to every response, whatever made it.
        SecurityHeaders.add(
            to: &response.fields, policy: policy.nothing, isSecure: policy.isSecure, referrer: .noReferrer)
        // Of a visitor who came to the proxy by plain http (RFC 6797 §7.2); the answers of verify go only to the proxy.
        if match.pattern != WebRoutes.verifyPattern, request.isFromTrustedProxy,
            request.fields[KnownField.xForwardedProto.name]?.lowercased() == "http"
        {
            response.fields[.strictTransportSecurity] = nil
        }
        // Verify's good answers are the same bytes on the fast path, which makes no ids.
        if match.pattern != WebRoutes.verifyPattern || response.status != .noContent {
            response.fields[RequestID.field] = id.text
        }
        return (response, match.pattern)
    }
}

extension ServerRequest {
    /// Answers on behalf of `actor`. Its reads may be dropped once the client has disconnected.
    func answered(
        for actor: AuditActor, _ handle: () async throws(Failure) -> ServerResponse
    ) async throws(Failure) -> ServerResponse {
        let client = departure.map { departure in
            let client = AwaitedClient()
            departure.onLeave { client.leave() }
            return client
        }
        let answer = await AuditActor.$current.withValue(actor) {
            await AwaitedClient.$current.withValue(client) { await Result(handle) }
        }
        return try answer.get()
    }
}
