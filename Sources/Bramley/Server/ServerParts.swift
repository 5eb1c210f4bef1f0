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

/// The parts of a running server, made once, each after those it needs.
final class ServerParts: Sendable {
    let group: EventLoopGroup
    let database: Database
    let admission: AdmissionControl
    let adminAdmission = AdmissionControl(maximum: 64, maximumPerAddress: 64)
    let draining = DrainingFlag()
    let reload: OperatorReload
    private let provider: AppleIdentityProvider
    private let revocations: AppleRevocations
    private let credentialChecks: CredentialChecks
    private let application: WebApplication
    private let admin: AdminApplication
    private let signingKeys: SigningKeys
    private let assertions: AssertionIssuer?
    private let webConfiguration: WebConfiguration
    private let signIn: SignIn
    private let httpConfiguration: HTTPServerConfiguration
    private let redirectConfiguration: HTTPServerConfiguration
    private let redirectHandler: RedirectHandler
    private let webhooks: Webhooks
    /// Nil without `operator.groups`.
    private let operatorReport: OperatorReport?
    private let clock: any WallClock
    private let logger: Logger
    /// `server.limits.connections`.
    private let connections: Int

    /// The parts for webhooks.
    private struct Webhooks: Sendable {
        var dispatcher: WebhookDispatcher
        var endpoints: WebhookEndpoints
        var secrets: [WebhookSecretFile]
    }

    init(
        configuration: Configuration, input: ConfigurationInput, keyring: SealingKeyring, clock: any WallClock,
        random: any RandomSource,
        webhookPolicy: WebhookPolicy, isSuccessor: Bool = false, logger: Logger,
        lostLogLines: @escaping @Sendable () -> Int = { 0 }
    ) throws {
        let webConfiguration = configuration.web
        self.webConfiguration = webConfiguration
        self.clock = clock
        self.logger = logger
        connections = configuration.server.limits.connections
        let pages = try Pages(configuration: webConfiguration)
        group = try EventLoopGroup(count: configuration.server.threads)
        database = try Database(
            options: configuration.database.databaseOptions(for: isSuccessor ? .successor : .server), keyring: keyring,
            clock: clock, random: random, logger: logger)
        provider = try Self.provider(configuration, group, database, clock, logger)
        let acceptor = try Self.acceptor(configuration)
        reload = OperatorReload(
            input: input,
            appleKeys: AppleKeyReload(
                teamID: configuration.apple.teamID, secrets: provider.secrets, logger: logger),
            accessRules: AccessRulesReload(configuration, logger: logger),
            certificate: Self.certificateReload(configuration, acceptor, clock, logger),
            snapshot: configuration.snapshot, logger: logger)
        revocations = AppleRevocations(
            queue: database, leases: database, revoker: provider, keyring: keyring, clock: clock, random: random,
            logger: logger)
        credentialChecks = CredentialChecks(
            store: database, checker: provider, scope: configuration.database.checkScope, keyring: keyring,
            rate: configuration.server.limits.credentialChecks, clock: clock, random: random, logger: logger)
        let trusted = TrustedProxies(configuration.server.trustedProxies)
        admission = AdmissionControl(
            maximum: configuration.server.limits.connections,
            maximumPerAddress: configuration.server.limits.connectionsPerAddress,
            exempt: { trusted.contains($0.normalized) })
        let targets = ReturnTargets(
            publicURL: configuration.web.publicURL.absolute,
            allowedOrigins: configuration.web.login.allowedReturnOrigins,
            defaultTarget: configuration.web.login.defaultReturnTo)
        let signInParts = SignInParts(
            provider: provider, database: database, keyring: keyring,
            configuration: SignInConfiguration(
                attemptLifetime: configuration.web.login.attemptLifetime,
                sessionLimits: configuration.web.sessions.limits, signUp: configuration.signUp,
                returnTargets: targets, nativeNonce: configuration.apple.nativeNonce,
                asksExisting: configuration.web.login.askExistingAccount),
            clock: clock, random: random, logger: logger)
        signIn = SignIn(signInParts, linking: Linking(signInParts))
        signingKeys = SigningKeys(
            database: database, keyring: keyring, algorithms: configuration.web.assertionAudiences.algorithms,
            clock: clock, logger: logger)
        let openID = OpenIDProvider(
            issuer: configuration.web.publicURL.absolute, audiences: configuration.web.assertionAudiences.map(\.name),
            database: database, keys: signingKeys, keyring: keyring, clock: database.store.sharedClock, random: random)
        webhooks = try Self.webhooks(
            configuration, policy: webhookPolicy, logoutTokens: openID, group, database, draining, clock, random,
            logger)
        assertions = AssertionIssuer(configuration: webConfiguration, keys: signingKeys, random: random)
        let notifications = Notifications(provider: provider, database: database, clock: clock, logger: logger)
        let operatorReport =
            configuration.web.operatorGroups.isEmpty
            ? nil
            : OperatorReport(
                database: database, counters: signIn.metrics, id: Hexadecimal.encode(random.bytes(16)), clock: clock,
                logger: logger)
        self.operatorReport = operatorReport
        let console = operatorReport.map { [database] in Self.console($0, configuration, input, database) }
        application = WebApplication(
            configuration: webConfiguration, pages: pages,
            services: WebApplication.Services(
                signIn: signIn, database: database, notifications: notifications, returnTargets: targets,
                signingKeys: signingKeys, openID: openID, clock: clock, random: random, logger: logger,
                keyring: keyring,
                webhooks: webhooks.endpoints, accessRules: reload.accessRules.current,
                console: console))
        var http = configuration.http(refusalFields: WebApplication.refusalFields(webConfiguration), tls: acceptor)
        http.largeHeadPage = application.largeHeadPage
        httpConfiguration = http
        redirectConfiguration = configuration.http(
            refusalFields: RedirectHandler.fields, tls: nil, memory: httpConfiguration.memory)
        redirectHandler = RedirectHandler(origin: configuration.web.publicURL.origin)
        let readiness = Readiness(
            database: database, draining: draining, signingKeys: signingKeys, secrets: provider.secrets,
            client: ClientID(configuration.apple.servicesID), certificate: reload.certificate,
            notifications: notifications, bundleIDs: configuration.apple.bundleIDs, clock: clock)
        let metrics = Self.metricsPage(
            configuration, requests: application.metrics, admission: admission, acceptor: acceptor,
            certificate: reload.certificate, signIn: signIn, notifications: notifications, provider: provider,
            database: database, readiness: readiness.examine, clock: clock, lostLogLines: lostLogLines)
        let pulse = LoopPulse(group)
        admin = AdminApplication(
            liveness: { [await pulse.examine()] }, readiness: readiness.examine,
            metrics: { await metrics.render() },
            proof: { InspectionPass.answer(to: $0, with: keyring, at: clock.now()) })
    }

    static func provider(
        _ configuration: Configuration, _ group: EventLoopGroup, _ database: Database, _ clock: any WallClock,
        _ logger: Logger
    ) throws -> AppleIdentityProvider {
        let transport = HTTPClient(
            group: group, tls: try TLSContext.client(), userAgent: AppleConfiguration.defaultUserAgent,
            proxy: configuration.outboundProxy)
        return AppleIdentityProvider(
            configuration: try configuration.appleID(), transport: transport,
            archive: KeySetStore(database: database, logger: logger), clock: clock,
            pause: { await group.sleep(milliseconds: $0) }, logger: logger)
    }

    private static func console(
        _ report: OperatorReport, _ configuration: Configuration, _ input: ConfigurationInput, _ database: Database
    ) -> OperatorConsole {
        OperatorConsole(
            version: BramleyVersion.current,
            database: configuration.storage.postgres == nil ? configuration.storage.directory : "PostgreSQL",
            examine: {
                do {
                    return try await Doctor.examine(input).map { diagnosis in
                        OperatorConsole.Finding(
                            check: diagnosis.subject, isGood: diagnosis.state == .good, detail: diagnosis.detail,
                            nextStep: diagnosis.nextStep)
                    }
                } catch {
                    return [.init(check: "doctor", isGood: false, detail: "\(error)", nextStep: nil)]
                }
            }, report: { () async throws(StoreError) in try await report.report() })
    }

    private static func webhooks(
        _ configuration: Configuration, policy: WebhookPolicy, logoutTokens: any LogoutTokenSource,
        _ group: EventLoopGroup, _ database: Database, _ draining: DrainingFlag, _ clock: any WallClock,
        _ random: any RandomSource, _ logger: Logger
    ) throws -> Webhooks {
        let (targets, secrets) = try configuration.webhooks?.targets(logger: logger) ?? ([], [])
        let sender = try WebhookTransport(configuration, group, clock: clock, isEnding: { draining.isSet })
        let dispatcher = WebhookDispatcher(
            database: database, sender: sender, targets: targets, logoutTokens: logoutTokens, policy: policy,
            clock: clock, random: random, logger: logger)
        let endpoints = WebhookEndpoints(
            targets: targets, database: database, sender: sender, clock: clock, random: random)
        return Webhooks(dispatcher: dispatcher, endpoints: endpoints, secrets: secrets)
    }

    // MARK: What each loop serves

    /// Records what has already happened: a line that cannot be written is no reason to undo it.
    private static func record(
        _ kind: AuditEntry.Kind, _ object: String, _ database: Database, _ clock: any WallClock, _ logger: Logger
    ) async {
        do throws(StoreError) {
            try await database.record(kind, user: nil, object: object, at: clock.now())
        } catch {
            logger.error(
                "audit log write failed",
                metadata: ["type": "\(kind.rawValue)", "object": "\(object)", "cause": "\(error.text)"])
        }
    }

    /// Called on the loop it is for.
    func makeVisitorLoop(_ loop: EventLoop) throws -> HTTPLoop {
        let fastPath = try VerifyFastPath(
            configuration: webConfiguration, directory: database, rules: reload.accessRules.current,
            issuer: assertions, memory: webConfiguration.sessions.cacheMemory / group.loops.count)
        return HTTPLoop(
            loop: loop, configuration: httpConfiguration, handler: application,
            immediate: VerifyResponder(
                fastPath, trustedProxies: httpConfiguration.trustedProxies, on: loop,
                metrics: application.metrics.makeImmediate("/auth/verify"),
                log: AccessLog(webConfiguration.accessLog, logger: logger)),
            wallClock: { [clock] in clock.now().milliseconds }, logger: logger, metrics: application.metrics)
    }

    func makeRedirectLoop(_ loop: EventLoop) -> HTTPLoop {
        HTTPLoop(
            loop: loop, configuration: redirectConfiguration, handler: redirectHandler,
            wallClock: { [clock] in clock.now().milliseconds }, logger: logger)
    }

    func makeAdminLoop(_ loop: EventLoop) -> HTTPLoop {
        HTTPLoop(
            loop: loop, configuration: HTTPServerConfiguration(memory: MemoryBudget(bytes: 1 << 20)), handler: admin,
            wallClock: { [clock] in clock.now().milliseconds }, logger: logger)
    }

    /// Called once the previous server has left the service to this one: the database now belongs to this one's sealing
    /// key.
    func stampSealingKey() async {
        do throws(StoreError) {
            try await database.store.stampSealingKey(at: clock.now())
        } catch {
            logger.error(
                "new sealing key not recorded in the database; restart this server",
                metadata: ["cause": "\(error)"])
        }
    }

    // MARK: Jobs

    /// How often other processes' writes are checked, in milliseconds.
    private static let tickInterval: Int64 = 250
    /// How often the files of signing secrets, and of the certificate, are checked, in milliseconds.
    private static let secretInterval: Int64 = 1_000

    /// The work besides requests, all on one loop. Ends when the loop drains.
    func startJobs(on loop: EventLoop) {
        loop.spawn { [database, clock] in
            repeat {
                database.store.tick(at: clock.now())
            } while await loop.sleep(until: loop.now.adding(milliseconds: Self.tickInterval))
        }
        MaintenanceJob(database: database, clock: clock, logger: logger).start(on: loop)
        SigningKeyJobs(keys: signingKeys, logger: logger).start(on: loop)
        loop.spawn { [webhooks] in
            await webhooks.dispatcher.run {
                await loop.sleep(until: loop.now.adding(milliseconds: Self.tickInterval))
            }
        }
        let secrets = webhooks.secrets
        let certificate = reload.certificate
        let tickets = httpConfiguration.tls?.ticketKeys
        if !secrets.isEmpty || certificate != nil {
            loop.spawn { [database, clock, logger] in
                while await loop.sleep(until: loop.now.adding(milliseconds: Self.secretInterval)) {
                    for file in secrets where file.check() {
                        await Self.record(.webhookSecretChanged, file.key, database, clock, logger)
                    }
                    certificate?.check()
                    // Handshakes also drop them; without any, the oldest would stay in memory.
                    tickets?.dropExpired()
                }
            }
        }
        KeyChangeJob(
            database: database, secrets: provider.secrets, certificate: certificate, accessRules: reload.accessRules,
            clock: clock, logger: logger
        ).start(on: loop)
        QueueJob(queue: revocations, draining: draining).start(on: loop)
        loop.spawn { [credentialChecks, draining] in
            await credentialChecks.run {
                await loop.sleep(until: loop.now.adding(milliseconds: Self.tickInterval)) && !draining.isSet
            }
        }
        operatorReport?.start(on: loop)
        StoreReportJob(database: database, clock: clock, logger: logger).start(on: loop)
        let room = DescriptorRoom(wanted: connections, logger: logger)
        room.prepare()
        loop.spawn { [admission, adminAdmission, httpConfiguration, signIn, logger, room, loops = group.loops] in
            var report = AdmissionReport(logger: logger)
            var room = room
            var memory = MemoryReturn()
            repeat {
                room.check(at: admission, beside: adminAdmission.total)
                report.check(at: admission.tally, now: loop.now)
                signIn.dropExpiredAnswers()
                memory.check(at: httpConfiguration.memory, connections: admission.total, loops: loops)
            } while await loop.sleep(until: loop.now.adding(milliseconds: Self.secretInterval))
        }
        // So that the first sign-in does not wait for Apple's keys, and one while Apple is down has some. Apple may
        // become reachable after this server starts: it is asked until it answers.
        loop.spawn { [provider] in await provider.keys.prepare() }
    }
}

/// Set when the server begins to stop: no longer ready, though work in flight continues.
final class DrainingFlag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}

/// The synchronous answer to `/auth/verify`, for the HTTP server.
private final class VerifyResponder: ImmediateResponder {
    private let fastPath: VerifyFastPath
    private let trustedProxies: TrustedProxies
    private let loop: EventLoop
    private let metrics: ImmediateMetrics
    /// Nil when such frequent answers are not logged.
    private let log: AccessLog?

    init(
        _ fastPath: VerifyFastPath, trustedProxies: TrustedProxies, on loop: EventLoop, metrics: ImmediateMetrics,
        log: AccessLog
    ) {
        self.fastPath = fastPath
        self.trustedProxies = trustedProxies
        self.loop = loop
        self.metrics = metrics
        self.log = log.hasFrequentLines ? log : nil
    }

    func respond(
        to head: borrowing RequestHead, in bytes: Span<UInt8>, peer: IPAddress, now: Int64, date: [UInt8],
        into output: inout [UInt8]
    ) -> Bool {
        let isAnswered = fastPath.answer(
            head: head, bytes: bytes, peerIsTrusted: trustedProxies.contains(peer.normalized),
            now: Timestamp(milliseconds: now), date: date, into: &output)
        guard isAnswered else { return false }
        metrics.count(since: loop.now)
        if let log { log.recordFastAnswer(client: log.clients.text(of: peer.normalized)) }
        return true
    }
}
