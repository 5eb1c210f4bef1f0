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
    let documents: ClientDocuments
    let provider: AppleIdentityProvider
    let revocations: AppleRevocations
    let credentialChecks: CredentialChecks
    let signingKeys: SigningKeys
    let signIn: SignIn
    let webhookDispatcher: WebhookDispatcher
    let webhookSecrets: [WebhookSecretFile]
    let operatorReport: OperatorReport?
    let console: OperatorConsole?
    let visitorSettings: HTTPServerConfiguration
    let redirectSettings: HTTPServerConfiguration
    let assertions: AssertionIssuer?
    let application: WebApplication
    let admin: AdminApplication

    var group: EventLoopGroup { base.group }
    var database: Database { base.database }
    var draining: DrainingFlag { base.draining }
    var configuration: Configuration { base.configuration }
    var runtime: Runtime { base.runtime }

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
        let sender = try WebhookTransport(
            configuration, base.group, clock: runtime.clock, isEnding: { [draining = base.draining] in draining.isSet })
        documents = base.documents(sender)
        reload = OperatorReload(
            base, input, secrets: provider.secrets, certificate: base.certificateReload(acceptor), documents: documents)
        revocations = AppleRevocations(database: database, provider: provider, keyring: keyring, runtime: runtime)
        credentialChecks = CredentialChecks(
            database: database, provider: provider, keyring: keyring,
            rate: configuration.server.limits.credentialChecks, runtime: runtime)
        admission = base.admission()
        signIn = base.signIn(provider)
        signingKeys = SigningKeys(
            database: database, keyring: keyring, algorithms: configuration.web.assertionAudiences.algorithms,
            runtime: runtime)
        assertions = AssertionIssuer(configuration: configuration.web, keys: signingKeys, random: runtime.random)
        let openID = base.openID(signingKeys, documents)
        let notifications = Notifications(
            provider: provider, database: database, clock: runtime.clock, logger: runtime.logger)

        let (targets, secrets) = try configuration.webhooks.targets(logger: runtime.logger)
        webhookSecrets = secrets
        webhookDispatcher = WebhookDispatcher(
            database: database, sender: sender, targets: targets, logoutTokens: openID.logoutToken, runtime: runtime)
        operatorReport =
            configuration.web.operatorGroups.isEmpty ? nil : OperatorReport(base, counters: signIn.metrics)

        var services = WebApplication.Services(
            signIn: signIn, database: database, notifications: notifications, runtime: runtime)
        services.signingKeys = signingKeys
        services.openID = openID
        services.keyring = keyring
        services.webhooks = WebhookEndpoints(
            targets: targets, database: database, sender: sender, clock: runtime.clock, random: runtime.random)
        services.accessRules = reload.rules
        console = base.console(operatorReport, input)
        services.console = console
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

    /// Called once the previous server has left the service to this one: the database belongs to its sealing key.
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

// From a configuration to the parts of a server: the data directory is locked, and its database opened.
extension ServerParts {
    /// May take minutes. Until it returns, nothing has changed for a server that still runs; when it throws, nothing is
    /// left open. `isSuccessor`: that server still serves, so nothing it uses is changed.
    static func open(
        _ configuration: Configuration, readFrom input: ConfigurationInput,
        inherited: inout InheritedDescriptors, isSuccessor: Bool = false, runtime: Runtime,
        lostLogLines: @escaping @Sendable () -> Int = { 0 }
    ) throws -> ServerParts {
        // SQLite and Foundation create readable files and restrict them afterwards: prevent that window.
        Files.keepNewFilesPrivate()
        let directory = configuration.storage.directory
        // The lock comes first: a second server, which it refuses, must change neither the first one's schema nor its
        // webhook endpoints. It is almost always a mistake, and the two would silently share a port.
        try Store.prepareDirectory(directory)
        let path = directory + "/serve.lock"
        let lock =
            try inherited.consumeLock(Inheritance.lock, of: path)
            ?? FileLock.taking(path, orSay: "Another bramley serve is running on the data directory \(directory).")
        let isOnSQLite = configuration.storage.postgres == nil
        let database = Store.path(in: directory)
        if isOnSQLite, PendingRestore.isWaiting(for: database) {
            try PendingRestore.finish(directory, RestoreLock.exclusive(directory))
            runtime.logger.notice("interrupted restore completed", metadata: ["file": .string(database)])
        }
        let keyring = try SealingKeyFile.load(configuration.database, random: runtime.random)
        // A successor refuses a database that lacks a step. PostgreSQL has its own backups.
        if !isSuccessor, isOnSQLite {
            try backUpBeforeMigration(
                configuration.database.databaseOptions(for: .server).store, keyring: keyring, runtime: runtime)
        }
        let base = ServerBase(
            configuration: configuration, runtime: runtime, keyring: keyring,
            group: try EventLoopGroup(count: configuration.server.threads),
            database: try Database(
                options: configuration.database.databaseOptions(for: isSuccessor ? .successor : .server),
                keyring: keyring, runtime: runtime))
        return try ServerParts(base, lock: lock, input: input, lostLogLines: lostLogLines)
    }
}
