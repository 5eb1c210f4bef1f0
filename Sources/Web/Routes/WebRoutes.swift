import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// What the routes of the main listener share. The handlers of each feature are an extension of it, and `entries` lists
/// them all.
final class WebRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let services: WebApplication.Services
    let cookies: Cookies
    let reader: SignedInReader
    let targets: ReturnTargets
    let bounces = BounceMemory()
    let stopwatch: Stopwatch
    /// What begins or ends a sign-in costs Apple or a database write before anybody is known.
    let signIns: RateGate
    /// Each account export reads everything and writes an audit line.
    let exports: RateGate
    /// Charged, and checked, only for refusals: what Apple signed is accepted whoever else posts from its address, as
    /// all do behind a load balancer.
    let failedNotifications: RateLimiter
    /// Nil when `assertion.audience` is not configured.
    let issuer: AssertionIssuer?
    let verify: VerifyRoute
    let proxySite: OAuth2ProxySite
    private let assets: StaticFiles

    init(
        configuration: WebConfiguration, responses: WebResponses, services: WebApplication.Services,
        traffic: TrafficSources
    ) {
        let (limits, stopwatch) = (configuration.limits, Stopwatch())
        self.configuration = configuration
        self.responses = responses
        self.services = services
        self.stopwatch = stopwatch
        cookies = Cookies(configuration)
        reader = SignedInReader(
            database: services.database, cookies: cookies, limits: configuration.sessions.limits,
            clock: services.clock)
        targets = configuration.returnTargets
        signIns = RateGate(perMinute: limits.signInsPerMinute, stopwatch: stopwatch, traffic: traffic)
        exports = RateGate(perMinute: limits.exportsPerMinute, stopwatch: stopwatch)
        failedNotifications = RateLimiter(RateGate.limit(perMinute: limits.failedNotificationsPerMinute))
        issuer = AssertionIssuer(
            configuration: configuration, keys: services.signingKeys, random: services.random)
        verify = VerifyRoute(
            configuration: configuration,
            rules: services.accessRules ?? CurrentAccessRules(configuration.accessRules), responses: responses,
            reader: reader, targets: targets, issuer: issuer, clock: services.clock)
        proxySite = OAuth2ProxySite(configuration: configuration)
        let startedAt = services.clock.now().seconds
        assets = StaticFiles(
            assets: responses.pages.assets.files.map { path, bytes in
                StaticAsset(
                    path: path, bytes: bytes, lastModified: startedAt, contentHash: SHA256.hash(bytes).hexadecimal)
            })
    }

    var database: Database { services.database }
    var clock: any WallClock { services.clock }
    var random: any RandomSource { services.random }
    var signIn: SignIn { services.signIn }
    var keys: SigningKeys? { services.signingKeys }
    var provider: OpenIDProvider? { services.openID }
    var endpoints: WebhookEndpoints? { services.webhooks }

    /// `GET /assets/…`: the style sheet, scripts and icon, from memory.
    func asset(_ request: ServerRequest, _ parameters: PathParameters) throws(Failure) -> ServerResponse {
        let response = assets.respond(to: request, path: parameters["path"] ?? "", now: clock.now().seconds)
        guard response.status != .notFound else { throw Failure(.notFound) }
        return response
    }
}
