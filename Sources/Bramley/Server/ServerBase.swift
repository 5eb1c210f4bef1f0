internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import HTTP
internal import HTTPTypes
package import Logging
internal import Sockets
package import Storage
internal import Synchronization
internal import Web

/// What every part of a server needs, and how to make the simple parts.
struct ServerBase: Sendable {
    let configuration: Configuration
    let runtime: Runtime
    let keyring: SealingKeyring
    let group: EventLoopGroup
    let database: Database
    let draining = DrainingFlag()

    /// Apple, whose keys are stored in the database.
    func provider() throws -> AppleIdentityProvider {
        let transport = HTTPClient(
            group: group, tls: try TLSContext.client(), userAgent: AppleConfiguration.defaultUserAgent,
            proxy: configuration.outboundProxy)
        return AppleIdentityProvider(
            configuration: try configuration.appleID(), transport: transport,
            archive: database, runtime: runtime, pause: { [group] in await group.sleep(milliseconds: $0) })
    }

    /// The TLS of visitors' connections. Nil: they are plain.
    func acceptor() throws -> TLSAcceptor? {
        guard let tls = configuration.server.tls else { return nil }
        return try translating(
            try TLSAcceptor(certificate: tls.certificate, privateKey: Array(tls.privateKey.reveal().utf8))
        ) { (error: TLSConfigurationError) in
            CommandFailure("server.certificateFile and server.privateKeyFile: \(error).")
        }
    }

    func certificateReload(_ acceptor: TLSAcceptor?) -> CertificateReload? {
        guard let acceptor, let tls = configuration.server.tls else { return nil }
        return CertificateReload(
            tls, host: configuration.web.publicURL.host, isDirect: configuration.server.trustedProxies.isEmpty,
            runtime: runtime
        ) { try acceptor.replace(certificate: $0, privateKey: $1) }
    }

    /// For visitors; trusted proxies may use all connections.
    func admission() -> AdmissionControl {
        let limits = configuration.server.limits
        let trusted = TrustedProxies(configuration.server.trustedProxies)
        return AdmissionControl(
            maximum: limits.connections, maximumPerAddress: limits.connectionsPerAddress,
            exempt: { trusted.contains($0.normalized) })
    }

    func signIn(_ provider: AppleIdentityProvider) -> SignIn {
        SignIn(
            provider: provider, database: database, keyring: keyring, configuration: configuration.web.signIn,
            returnTargets: configuration.web.returnTargets, runtime: runtime)
    }

    /// Fetched from public addresses only; from this machine, too, where it is the whole site.
    func documents(_ transport: WebhookTransport) -> ClientDocuments {
        let isLocal = configuration.web.publicURL.host == "localhost" && configuration.server.listener.ip.isLoopback
        return ClientDocuments(hosts: configuration.clientDocuments, clock: runtime.clock) {
            await transport.document(at: $0, within: isLocal ? .publicOrLoopback : .publicOnly)
        }
    }

    func openID(_ keys: SigningKeys, _ documents: ClientDocuments) -> OpenIDProvider {
        var shared = runtime
        shared.clock = database.store
        return OpenIDProvider(
            issuer: configuration.web.publicURL.absolute, audiences: configuration.web.assertionAudiences.map(\.name),
            database: database, keys: keys, keyring: keyring, documents: documents, runtime: shared)
    }

    func console(_ report: OperatorReport?, _ input: ConfigurationInput) -> OperatorConsole? {
        report.map { report in
            OperatorConsole(
                version: Build.version,
                database: configuration.storage.postgres == nil ? configuration.storage.directory : "PostgreSQL",
                settings: configuration.settings,
                examine: {
                    do {
                        // Opening the database blocks: not on a loop.
                        let found = try await withTaskExecutorPreference(globalConcurrentExecutor) {
                            try await Doctor.examine(input)
                        }
                        return found.map { diagnosis in
                            (
                                check: diagnosis.subject, tone: diagnosis.state.tone,
                                detail: diagnosis.detail, nextStep: diagnosis.nextStep
                            )
                        }
                    } catch {
                        return [(check: "doctor", tone: .wrong, detail: "\(error)", nextStep: nil)]
                    }
                }, report: { () async throws(Failure) in try await report.report() })
        }
    }
}

extension Diagnosis.State {
    fileprivate var tone: OperatorTone {
        switch self {
        case .good: .good
        case .unsure: .unsure
        case .wrong: .wrong
        }
    }
}

/// Set when the server begins to stop: no longer ready, though work in flight continues.
final class DrainingFlag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}

// The configuration as settings of the modules.
extension Configuration {
    func appleID() throws(AppleConfigurationError) -> AppleConfiguration {
        try AppleConfiguration(apple, redirectURI: web.publicURL.callbackURL)
    }

    /// - Parameter memory: what peers make us keep is counted once for all ports.
    func http(refusalFields: HTTPFields, tls: TLSAcceptor?, memory: MemoryBudget? = nil) -> HTTPServerConfiguration {
        HTTPServerConfiguration {
            $0.limits = server.limits.wire
            $0.timeouts = server.limits.timeouts
            $0.trustedProxies = TrustedProxies(server.trustedProxies)
            $0.proxyProtocol = server.proxyProtocol
            $0.refusalFields = refusalFields
            $0.tls = tls
            $0.memory = memory ?? MemoryBudget(bytes: max(MemoryBudget.standard, 8 * server.limits.wire.body))
        }
    }
}

extension Runtime {
    /// The machine's own clock and randomness.
    package init(logger: Logger) { self.init(clock: SystemClock(), random: SystemRandom(), logger: logger) }

    /// For a command, which says what happens by itself.
    static var command: Runtime { Runtime(logger: Logger(label: "bramley") { _ in SwiftLogNoOpLogHandler() }) }
}
