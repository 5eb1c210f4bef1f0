internal import HTTP
package import Logging
internal import ServiceLifecycle
internal import Sockets
internal import Synchronization
internal import UnixSignals
internal import Web

/// `bramley serve`: makes every part, connects them, runs until a signal, and shuts down in order.
package enum Server {
    /// Which listener a connection came through.
    enum Service {
        static let visitors = 0
        static let admin = 1
        static let redirects = 2
    }

    /// Runs until SIGTERM or SIGINT. SIGHUP reloads the Apple keys, the access rules and the certificate. SIGUSR2 hands
    /// over to another process of the program.
    /// - Parameters:
    ///   - input: the sources of `configuration`.
    ///   - program: what a successor is started from.
    ///   - lostLogLines: returns the number of log lines lost since the start.
    /// - Throws: `StartFailure` with one line for the operator, also when a loop could not serve and everything was
    ///   shut down.
    package static func run(
        configuration: Configuration, readFrom input: ConfigurationInput, program: ProgramStart, logger: Logger,
        lostLogLines: @escaping @Sendable () -> Int
    ) async throws {
        // Before anything else: until they are caught, these signals end the process.
        let signals = await UnixSignalsSequence(trapping: .sighup, .sigusr2)
        var inherited = try InheritedListeners.descriptors(program.environment)
        let predecessor = inherited.consumeConnection(Inheritance.predecessor)
        let isSuccessor = predecessor != nil
        let notices = ServiceNotices(environment: program.environment, isSilent: isSuccessor, logger: logger)
        let prepared = try PreparedServer(
            configuration: configuration, readFrom: input, inherited: inherited, isSuccessor: isSuccessor,
            notices: notices, logger: logger, lostLogLines: lostLogLines,
            // Not earlier: what comes before may take minutes, and a signal may end it without harm.
            willBind: StopSignals.remember)
        prepared.service.accession.withLock { $0 = predecessor.map { Accession(predecessor: $0) } }
        let handOver = HandOver(prepared, program: program, notices: notices, logger: logger)
        let (address, admin) = (prepared.address, prepared.adminAddress)
        var metadata: Logger.Metadata = [
            "address": "\(address.ip):\(address.port)",
            "admin": "\(admin.ip):\(admin.port)",
            "publicURL": .string(configuration.web.publicURL.absolute),
            "tls": "\(configuration.server.tls != nil)",
        ]
        if let redirects = prepared.redirectAddress { metadata["redirects"] = "\(redirects.ip):\(redirects.port)" }
        prepared.service.announcement.withLock { $0 = metadata }
        defer { prepared.close() }
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: prepared.service, successTerminationBehavior: .gracefullyShutdownGroup),
                    // It ends by itself when a stop was requested before the group handled stops.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: SignalService(signals: signals) { signal in
                            guard signal == .sighup else { return handOver.begin() }
                            notices.reloading()
                            prepared.reloadKeys()
                            notices.reloaded()
                        }, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        ).run()
        logger.info("stopped")
    }
}

/// Acts on signals, once for each, until the group ends.
struct SignalService: ServiceLifecycle.Service {
    let signals: UnixSignalsSequence
    let act: @Sendable (UnixSignal) -> Void

    func run() async throws {
        guard !StopSignals.wereSeen else { return }
        for await signal in signals.cancelOnGracefulShutdown() { act(signal) }
    }
}

/// The loops with all listeners, for swift-service-lifecycle to run and stop.
final class ServerService: ServiceLifecycle.Service {
    let parts: ServerParts
    let visitors: BoundSockets
    let admin: BoundSockets
    let redirects: BoundSockets?
    /// Milliseconds.
    let drainTimeout: Int64
    let notices: ServiceNotices
    let logger: Logger
    /// Tells a previous server that this one serves.
    let accession = Mutex<Accession?>(nil)
    /// Logged about the listeners once they accept. Not earlier: its reader may send a signal at once.
    let announcement = Mutex<Logger.Metadata>([:])
    /// The number of loops with all their listeners.
    private let serving = Atomic(0)
    /// Why a loop could not serve: the first that failed.
    private let failure = Mutex<StartFailure?>(nil)

    init(
        parts: ServerParts, visitors: BoundSockets, admin: BoundSockets, redirects: BoundSockets?, drainTimeout: Int64,
        notices: ServiceNotices, logger: Logger
    ) {
        self.parts = parts
        self.visitors = visitors
        self.admin = admin
        self.redirects = redirects
        self.drainTimeout = drainTimeout
        self.notices = notices
        self.logger = logger
    }

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await serve()
        } onGracefulShutdown: {
            self.beginDrain(abortAfter: self.drainTimeout)
        }
    }

    /// Serves on every loop, and returns when every connection has ended.
    /// - Throws: `StartFailure` when a loop could not serve, which also stops the others.
    func serve() async throws {
        try await parts.group.run { loop in await self.serve(on: loop) }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    func beginDrain(abortAfter milliseconds: Int64) {
        logger.info("draining")
        notices.stopping()
        parts.draining.set()
        parts.group.beginDrain(abortAfter: milliseconds)
    }

    /// Every listener accepts.
    private func reportReady() {
        logger.info("listening", metadata: announcement.withLock { $0 })
        notices.ready("Serving on \(visitors.address.ip):\(visitors.address.port)")
        guard let loop = parts.group.loops.first else { return }
        Watchdog(parts.group, notices).start(on: loop)
        loop.spawn { [self] in
            guard let accession = accession.withLock({ $0.take() }) else { return }
            await accession.apply(notices, on: loop)
            // Not earlier: until then the database belongs to the other server, which need not know this one's key.
            await parts.stampSealingKey()
        }
    }

    private func serve(on loop: EventLoop) async {
        // Stopped before it began.
        if parts.draining.isSet { return await loop.runRoot { $0.close() } }
        do {
            let visitorLoop = try parts.makeVisitorLoop(loop)
            let adminLoop = parts.makeAdminLoop(loop)
            let redirectLoop = parts.makeRedirectLoop(loop)
            let loops = parts.group.loops.count
            for _ in visitors.share(of: loop.index, among: loops) {
                _ = try Listener.start(
                    visitors, on: loop, admission: parts.admission, service: Server.Service.visitors,
                    firstByteTimeout: visitorLoop.firstByteTimeout)
            }
            for _ in redirects?.share(of: loop.index, among: loops) ?? 0..<0 {
                guard let redirects else { break }
                _ = try Listener.start(
                    redirects, on: loop, admission: parts.admission, service: Server.Service.redirects,
                    firstByteTimeout: redirectLoop.firstByteTimeout)
            }
            if loop.index == 0 {
                for _ in admin.share(of: 0, among: 1) {
                    _ = try Listener.start(
                        admin, on: loop, admission: parts.adminAdmission, service: Server.Service.admin,
                        firstByteTimeout: adminLoop.firstByteTimeout)
                }
                parts.startJobs(on: loop)
            }
            if serving.add(1, ordering: .acquiringAndReleasing).newValue == loops { reportReady() }
            await loop.runRoot { stream in
                switch stream.service {
                case Server.Service.admin: await adminLoop.serve(stream)
                case Server.Service.redirects: await redirectLoop.serve(stream)
                default: await visitorLoop.serve(stream)
                }
            }
        } catch {
            failure.withLock { failure in
                if failure == nil { failure = StartFailure("An event loop cannot serve: \(error).") }
            }
            parts.group.beginDrain(abortAfter: 0)
            await loop.runRoot { $0.close() }
        }
    }
}
