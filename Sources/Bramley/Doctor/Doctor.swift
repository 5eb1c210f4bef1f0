internal import Accounts
internal import AppleID
internal import Crypto
internal import HTTP
internal import Sockets

/// `bramley doctor`: examines everything once, next to a running server, and changes nothing.
struct Doctor: Sendable {
    let configuration: Configuration
    /// Nil if they cannot be opened. Without a sealing key, doctor cannot tell this server from another one.
    let database: Database?
    let keyring: SealingKeyring?
    let loop: EventLoop
    var transport: any HTTPTransport
    /// For publicURL after its certificate was reported: does not verify certificates.
    let unverified: any HTTPTransport
    let surroundings: Surroundings
    let clock = SystemClock()

    /// Lets this server tell that it is asked, and prove that it is this one.
    var pass: String? { keyring.map { InspectionPass.make(with: $0, at: clock.now()) } }

    /// In the order a person would check: this machine, Apple, the way visitors come.
    /// - Throws: only what prevents any request from this machine: no event loop, no trust store.
    static func examine(_ input: ConfigurationInput) async throws -> [Diagnosis] {
        let loaded: LoadedConfiguration
        do throws(ConfigurationFailure) {
            loaded = try ConfigurationLoader.load(input)
        } catch {
            return refusal(error.problems)
        }
        let configuration = loaded.configuration
        let apple: AppleConfiguration
        do throws(AppleConfigurationError) {
            apple = try configuration.appleID()
        } catch {
            return [.wrong(.configurationRefused, "\(error) \(nothingElse)", next: "Run bramley check.")]
        }
        let (opened, opening) = open(input)
        defer { opened?.database.close() }
        let warnings = diagnoses(of: loaded.warnings, isSimulated: configuration.apple.isSimulated)
        let surroundings = Surroundings(input.environment)
        return try await withNetwork(configuration.outboundProxy) { loop, transport, unverified in
            let doctor = Doctor(
                configuration: configuration, database: opened?.database, keyring: opened?.keyring, loop: loop,
                transport: transport, unverified: unverified, surroundings: surroundings)
            // Concurrently: each may wait for a server that does not answer.
            async let outside = doctor.site()
            async let notifications = doctor.notifications()
            async let openID = clients(opened?.database, configuration, at: doctor.clock.now())
            async let certificate = doctor.certificate()
            let (inside, keys) = await doctor.server()
            async let atApple = doctor.apple(
                AppleProbe(configuration: apple, transport: transport, clock: doctor.clock), keys)
            let machine = await [certificate, doctor.outboundProxy()].compactMap(\.self)
            let latest = await [notifications].compactMap(\.self)
            return await warnings + [opening] + doctor.store() + inside + machine + atApple + outside + latest + openID
        }
    }

    private static func open(_ input: ConfigurationInput) -> (OperatorDatabase?, Diagnosis) {
        do {
            let opened = try OperatorDatabase.open(input)
            let place = opened.configuration.storage.place
            return (opened, .good(.database, "\(place) and the sealed values in it can be opened."))
        } catch {
            if let storage = (try? ConfigurationLoader.loadDatabase(input))?.storage, !storage.mayHoldDatabase {
                return (
                    nil,
                    .wrong(
                        .databaseMissing, "There is no database in \(storage.directory).",
                        next: "Start bramley serve once, or correct storage.directory: a relative path starts at "
                            + "the folder of the configuration file.")
                )
            }
            return (nil, .wrong(.databaseUnusable, "\(error)", next: "Fix this as the user that runs the server."))
        }
    }

    private func outboundProxy() -> Diagnosis? {
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
        return try await withNetwork(.direct) { _, transport, _ in
            await transport.succeeds(url(of: admin, "/healthz"))
        }
    }

    private static func withNetwork<Value: Sendable>(
        _ outboundProxy: ProxySettings,
        _ body: @Sendable (EventLoop, _ verified: any HTTPTransport, _ unverified: any HTTPTransport) async -> Value
    ) async throws -> Value {
        do {
            return try await EventLoopGroup.withOneLoop { group in
                func transport(_ tls: @escaping @Sendable () throws(StreamError) -> TLSContext) -> StoppableTransport {
                    StoppableTransport(
                        transport: HTTPClient(
                            group: group, tls: try tls(), userAgent: AppleConfiguration.defaultUserAgent,
                            proxy: outboundProxy))
                }
                return await withTaskCancellationHandler {
                    await body(
                        group.loops[0], transport { () throws(StreamError) in try TLSContext.client() },
                        transport { () throws(StreamError) in try TLSContext.unverified() })
                } onCancel: {
                    group.abort()
                }
            }
        } catch {
            throw CommandFailure("This machine cannot open connections: \(error).")
        }
    }

    /// For an invalid configuration; the last error says that the examination ends there.
    static func refusal(_ problems: [ConfigurationProblem]) -> [Diagnosis] {
        var found = diagnoses(of: problems)
        if let last = found.lastIndex(where: { $0.state == .wrong }) { found[last].detail += " " + nothingElse }
        return found
    }

    static let nothingElse = "Nothing else was checked."

    /// - Parameter isSimulated: a simulated Apple sends notifications even to a server without an app.
    static func diagnoses(of problems: [ConfigurationProblem], isSimulated: Bool = false) -> [Diagnosis] {
        problems.map { problem in
            let isError = problem.severity == .error
            var isWrong = isError
            let finding: Finding
            switch problem.key {
            case let key where key.hasPrefix("apple.") && key.contains("rivateKey"):
                finding = isError ? .appleKeyUnusable : .configurationDoubtful
            case _ where isError: finding = .configurationRefused
            case "apple.bundleIDs": (finding, isWrong) = (.notificationsUnlisted, !isSimulated)
            case "apple.keyID", "apple.nextKeyID": finding = .appleKeyIDDoubtful
            case let key where key.hasPrefix("server.certificate") || key.hasPrefix("server.privateKey"):
                finding = .certificateDoubtful
            default: finding = .configurationDoubtful
            }
            let about = problem.key.isEmpty ? problem.source : problem.key
            return isWrong
                ? .wrong(finding, about: about, problem.fault, next: problem.remedy)
                : .unsure(finding, about: about, problem.fault, next: problem.remedy)
        }
    }
}

/// Sends nothing more once the examination is cancelled.
private struct StoppableTransport: HTTPTransport {
    let transport: any HTTPTransport

    func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
        guard !Task.isCancelled else { throw .closed }
        return try await transport.send(request)
    }
}
