internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import HTTP
internal import Logging
internal import Sockets
internal import Storage
internal import Synchronization
internal import Web

/// The parts of a server, made once from its configuration, each after those it needs. `PreparedServer` runs them.
final class ServerParts: Sendable {
    let base: ServerBase
    /// Nil when a successor has it.
    let lock: Mutex<FileLock?>
    let admission: AdmissionControl
    let adminAdmission = AdmissionControl(maximum: 64, maximumPerAddress: 64)
    let reload: OperatorReload
    let provider: AppleIdentityProvider
    let revocations: AppleRevocations
    let credentialChecks: CredentialChecks
    let signingKeys: SigningKeys
    let signIn: SignIn
    let webhookDispatcher: WebhookDispatcher
    let webhookSecrets: [WebhookSecretFile]
    /// Nil without `operator.groups`.
    let operatorReport: OperatorReport?
    let visitorSettings: HTTPServerConfiguration
    private let redirectSettings: HTTPServerConfiguration
    private let assertions: AssertionIssuer?
    private let application: WebApplication
    private let admin: AdminApplication

    var group: EventLoopGroup { base.group }
    var database: Database { base.database }
    var draining: DrainingFlag { base.draining }
    var configuration: Configuration { base.configuration }
    var runtime: Runtime { base.runtime }

    /// - Parameters:
    ///   - lock: on the data directory.
    ///   - input: the sources of the configuration.
    ///   - lostLogLines: returns the number of log lines lost since the start.
    init(
        _ base: ServerBase, lock: consuming FileLock, input: ConfigurationInput,
        lostLogLines: @escaping @Sendable () -> Int
    ) throws {
        self.base = base
        self.lock = Mutex(lock)
        let (configuration, runtime, keyring, database) = (
            base.configuration, base.runtime, base.keyring, base.database
        )
        let pages = try Pages(configuration: configuration.web)
        provider = try base.provider()
        let acceptor = try base.acceptor()
        reload = OperatorReload(base, input, secrets: provider.secrets, certificate: base.certificateReload(acceptor))
        revocations = AppleRevocations(
            database: database, provider: provider, keyring: keyring, clock: runtime.clock, random: runtime.random,
            logger: runtime.logger)
        credentialChecks = CredentialChecks(
            database: database, provider: provider, scope: configuration.database.checkScope, keyring: keyring,
            rate: configuration.server.limits.credentialChecks, clock: runtime.clock, random: runtime.random,
            logger: runtime.logger)
        admission = base.admission()
        signIn = base.signIn(provider)
        signingKeys = SigningKeys(
            database: database, keyring: keyring, algorithms: configuration.web.assertionAudiences.algorithms,
            clock: runtime.clock, logger: runtime.logger)
        assertions = AssertionIssuer(configuration: configuration.web, keys: signingKeys, random: runtime.random)
        let openID = base.openID(signingKeys)
        let notifications = Notifications(
            provider: provider, database: database, clock: runtime.clock, logger: runtime.logger)

        let (targets, secrets) = try configuration.webhooks?.targets(logger: runtime.logger) ?? ([], [])
        let sender = try WebhookTransport(
            configuration, base.group, clock: runtime.clock, isEnding: { [draining = base.draining] in draining.isSet })
        webhookSecrets = secrets
        webhookDispatcher = WebhookDispatcher(
            database: database, sender: sender, targets: targets, logoutTokens: openID, runtime: runtime)
        operatorReport =
            configuration.web.operatorGroups.isEmpty ? nil : OperatorReport(base, counters: signIn.metrics)

        var services = WebApplication.Services(
            signIn: signIn, database: database, notifications: notifications, runtime: runtime)
        services.signingKeys = signingKeys
        services.openID = openID
        services.keyring = keyring
        services.webhooks = WebhookEndpoints(
            targets: targets, database: database, sender: sender, clock: runtime.clock, random: runtime.random)
        services.accessRules = reload.accessRules.current
        services.console = base.console(operatorReport, input)
        application = WebApplication(configuration: configuration.web, pages: pages, services: services)

        var http = configuration.http(refusalFields: WebApplication.refusalFields(configuration.web), tls: acceptor)
        http.largeHeadPage = application.largeHeadPage
        visitorSettings = http
        redirectSettings = configuration.http(refusalFields: RedirectHandler.fields, tls: nil, memory: http.memory)
        let readiness = Readiness(
            base: base, signingKeys: signingKeys, secrets: provider.secrets, certificate: reload.certificate,
            notifications: notifications)
        let metrics = MetricsPage(
            base: base, requests: application.metrics, admission: admission, acceptor: acceptor,
            certificate: reload.certificate, signIns: signIn.metrics, notifications: notifications.metrics,
            calls: provider.calls, counts: CountsCache(of: base), readiness: readiness, lostLogLines: lostLogLines,
            startedAt: runtime.clock.now())
        let pulse = LoopPulse(base.group)
        admin = AdminApplication(
            liveness: { [await pulse.examine()] }, readiness: readiness.examine,
            metrics: { await metrics.render() },
            proof: { InspectionPass.answer(to: $0, with: keyring, at: runtime.clock.now()) })
    }

    // MARK: What each loop serves

    /// Called on the loop it is for.
    func makeVisitorLoop(_ loop: EventLoop) throws -> HTTPLoop {
        let web = configuration.web
        let fastPath = try VerifyFastPath(
            configuration: web, directory: database, rules: reload.accessRules.current,
            issuer: assertions, memory: web.sessions.cacheMemory / group.loops.count)
        return HTTPLoop(
            loop: loop, configuration: visitorSettings, handler: application,
            immediate: VerifyResponder(
                fastPath, trustedProxies: visitorSettings.trustedProxies, on: loop,
                metrics: application.metrics.makeImmediate("/auth/verify"),
                log: AccessLog(web.accessLog, logger: runtime.logger)),
            wallClock: wallClock, logger: runtime.logger, metrics: application.metrics)
    }

    func makeRedirectLoop(_ loop: EventLoop) -> HTTPLoop {
        HTTPLoop(
            loop: loop, configuration: redirectSettings,
            handler: RedirectHandler(origin: configuration.web.publicURL.origin), wallClock: wallClock,
            logger: runtime.logger)
    }

    func makeAdminLoop(_ loop: EventLoop) -> HTTPLoop {
        HTTPLoop(
            loop: loop, configuration: HTTPServerConfiguration(memory: MemoryBudget(bytes: 1 << 20)), handler: admin,
            wallClock: wallClock, logger: runtime.logger)
    }

    private var wallClock: @Sendable () -> Int64 {
        { [clock = runtime.clock] in clock.now().milliseconds }
    }

    /// Called once the previous server has left the service to this one: the database now belongs to this one's sealing
    /// key.
    func stampSealingKey() async {
        do throws(StoreError) {
            try await database.store.stampSealingKey(at: runtime.clock.now())
        } catch {
            runtime.logger.error(
                "new sealing key not recorded in the database; restart this server",
                metadata: ["cause": "\(error)"])
        }
    }
}
