import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// What the routes of the main listener share. Each feature's handlers extend it, and `entries` lists them all.
final class WebRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let services: WebApplication.Services
    let cookies: Cookies
    let reader: SignedInReader
    let targets: ReturnTargets
    let bounces = BounceMemory()
    /// What begins or ends a sign-in costs Apple or a database write before anybody is known.
    let signIns: RateGate
    /// Devices' requests, the only ones that store something before anybody is known: a tenth of `signIns`, so that no
    /// address fills the table.
    let devices: RateGate
    /// Each account export reads everything and writes an audit line.
    let exports: RateGate
    /// Charged, and checked, only for refusals: what Apple signed is accepted even when others at its address fail.
    let failedNotifications: RateGate
    /// Charged, and checked, only for the provider's clients that fail to prove themselves, as for refused API keys.
    let failedClients: RateGate
    /// Nil when `assertion.audience` is not configured.
    let issuer: AssertionIssuer?
    /// Of `/auth/verify`.
    let rules: CurrentAccessRules
    let proxySite: OAuth2ProxySite
    private let assets: StaticFiles

    init(
        configuration: WebConfiguration, responses: WebResponses, services: WebApplication.Services,
        traffic: TrafficSources
    ) {
        let limits = configuration.limits
        self.configuration = configuration
        self.responses = responses
        self.services = services
        cookies = Cookies(configuration)
        reader = SignedInReader(
            database: services.database, cookies: cookies, limits: configuration.sessionLimits, clock: services.clock)
        targets = configuration.returnTargets
        signIns = RateGate(perMinute: limits.signInsPerMinute, traffic: traffic)
        devices = RateGate(perMinute: max(1, limits.signInsPerMinute / 10), traffic: traffic)
        exports = RateGate(perMinute: limits.exportsPerMinute)
        failedNotifications = RateGate(perMinute: limits.failedNotificationsPerMinute)
        failedClients = RateGate(perMinute: limits.refusedKeysPerMinute)
        issuer = AssertionIssuer(configuration: configuration, keys: services.signingKeys, random: services.random)
        rules = services.accessRules ?? CurrentAccessRules(configuration.accessRules)
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
    var endpoints: WebhookEndpoints? { services.webhooks }
    /// For its routes, which exist only with it.
    var provider: OpenIDProvider {
        get throws(Failure) {
            guard let provider = services.openID else { throw Failure(.notFound) }
            return provider
        }
    }

    /// `GET /assets/…`: the style sheet, scripts and icon, from memory.
    func asset(_ request: ServerRequest, _ parameters: PathParameters) throws(Failure) -> ServerResponse {
        let path = parameters["path"] ?? ""
        var response = assets.respond(to: request, path: path, now: clock.now().seconds)
        guard response.status != .notFound else { throw Failure(.notFound) }
        if path.hasSuffix(".svg") { response.fields[.contentSecurityPolicy] = ContentSecurityPolicy.picture }
        return response
    }
}
