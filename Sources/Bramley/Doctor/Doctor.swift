internal import Accounts
internal import AppleID
internal import Crypto
internal import HTTP
internal import Sockets
internal import Storage
internal import Web

/// `bramley doctor`: examines everything once, next to a running server, and changes nothing.
enum Doctor {
    /// In the order a person would check: this machine, Apple, the way visitors come.
    /// - Throws: only what prevents any request from this machine: no event loop, no trust store.
    static func examine(_ input: ConfigurationInput) async throws -> [Diagnosis] {
        let loaded: LoadedConfiguration
        do throws(ConfigurationFailure) {
            loaded = try ConfigurationLoader.load(input)
        } catch {
            return ConfigurationExamination.refusal(error.problems)
        }
        let configuration = loaded.configuration
        let apple: AppleConfiguration
        do throws(AppleConfigurationError) {
            apple = try configuration.appleID()
        } catch {
            return [
                .wrong(
                    .configurationRefused, "\(error) \(ConfigurationExamination.nothingElse)",
                    next: "Run bramley check.")
            ]
        }
        let clock = SystemClock()
        let place = DoctorPlace.open(input)
        defer { place.database?.close() }
        let warnings = ConfigurationExamination.diagnoses(
            of: loaded.warnings, isSimulated: configuration.apple.isSimulated)
        let outboundProxy = Self.outboundProxy(configuration).map { [$0] } ?? []
        return try await withNetwork(configuration.outboundProxy) { loop, transport in
            let appleExamination = AppleExamination(
                probe: AppleProbe(configuration: apple, transport: transport, clock: clock),
                configuration: configuration)
            let site = SiteExamination(
                configuration: configuration, transport: transport, loop: loop,
                pass: place.keyring.map { InspectionPass.make(with: $0, at: clock.now()) })
            let server = ServerExamination(
                configuration: configuration, transport: transport, keyring: place.keyring, clock: clock)
            // Concurrently: each may have to wait for somebody who does not answer.
            async let atApple = appleExamination.run()
            async let outside = site.run()
            async let inside = server.run()
            async let told = NotificationExamination.run(place.database, configuration: configuration, at: clock.now())
            async let clients = ClientExamination.run(place.database, configuration, at: clock.now())
            async let stored = StoreExamination.run(place.database)
            async let certificate = CertificateExamination(
                configuration: configuration, loop: loop, clock: clock
            ).run()
            return await warnings + [place.diagnosis] + stored + inside + certificate + outboundProxy + atApple
                + outside + told + clients
        }
    }

    /// Nil without an outbound proxy.
    private static func outboundProxy(_ configuration: Configuration) -> Diagnosis? {
        guard let proxy = configuration.outboundProxy.server else { return nil }
        let endpoint = configuration.apple.endpoint
        let isUsed = ClientURL(endpoint).flatMap { configuration.outboundProxy.server(for: $0) } != nil
        return .good(
            .outboundProxy,
            "The environment names the proxy \(proxy) (HTTPS_PROXY): "
                + (isUsed ? "Apple is reached through it." : "Apple, at \(endpoint), is reached without it."))
    }

    /// Whether the server on this machine answers: each event loop of it, within two seconds.
    static func isAlive(_ input: ConfigurationInput) async throws -> Bool {
        let admin = try ConfigurationLoader.loadAdmin(input)
        return try await withNetwork(.direct) { _, transport in
            await transport.succeeds(ServerExamination.url(of: admin, "/healthz"))
        }
    }

    private static func withNetwork<Value: Sendable>(
        _ outboundProxy: ProxySettings, _ body: @escaping @Sendable (EventLoop, any HTTPTransport) async -> Value
    ) async throws -> Value {
        do {
            return try await HTTPClient.alone(
                userAgent: AppleConfiguration.defaultUserAgent, proxy: outboundProxy, body)
        } catch {
            throw CommandFailure("This machine cannot open connections: \(error).")
        }
    }
}

/// The database and the sealing key, as far as available.
struct DoctorPlace {
    var database: Database?
    var keyring: SealingKeyring?
    var diagnosis: Diagnosis

    static func open(_ input: ConfigurationInput) -> DoctorPlace {
        do {
            let opened = try OperatorDatabase.open(input)
            return DoctorPlace(
                database: opened.database, keyring: opened.keyring,
                diagnosis: .good(
                    .database, "\(opened.configuration.storage.place) opens, and so do the sealed values in it."))
        } catch {
            if let storage = (try? ConfigurationLoader.loadDatabase(input))?.storage, !storage.mayHoldDatabase {
                let directory = storage.directory
                return DoctorPlace(
                    diagnosis: .wrong(
                        .databaseMissing, "There is no database in \(directory).",
                        next: "Start bramley serve once, or correct storage.directory: a relative path starts at "
                            + "the folder of the configuration file."))
            }
            return DoctorPlace(
                diagnosis: .wrong(
                    .databaseUnusable, "\(error)", next: "Fix that as the user who runs the server."))
        }
    }
}
