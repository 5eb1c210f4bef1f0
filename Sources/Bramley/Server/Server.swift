internal import Logging
internal import ServiceLifecycle
internal import Sockets
internal import Storage
internal import UnixSignals

/// `bramley serve`: opens the parts, runs them until a signal, and shuts down in order.
enum Server {
    /// Runs until SIGTERM or SIGINT. SIGHUP reloads the Apple keys, the access rules and the certificate. SIGUSR2 hands
    /// over to another process of the program.
    /// - Parameter lostLogLines: returns the number of log lines lost since the start.
    static func run(
        configuration: Configuration, readFrom input: ConfigurationInput, program: ProgramStart, runtime: Runtime,
        lostLogLines: @escaping @Sendable () -> Int
    ) async throws {
        let logger = runtime.logger
        // Before anything else: until they are caught, these signals end the process.
        let signals = await UnixSignalsSequence(trapping: .sighup, .sigusr2)
        var inherited = try Listeners.descriptors(program.environment)
        let predecessor = inherited.consumeConnection(Inheritance.predecessor)
        let isSuccessor = predecessor != nil
        let notices = ServiceNotices(environment: program.environment, isSilent: isSuccessor, logger: logger)
        let parts = try ServerParts.open(
            configuration, readFrom: input, inherited: &inherited, isSuccessor: isSuccessor, runtime: runtime,
            lostLogLines: lostLogLines)
        // Not earlier: what comes before may take minutes, and a signal may end it without harm.
        StopSignals.remember()
        let server = try PreparedServer(parts, inherited: inherited, predecessor: predecessor, notices: notices)
        defer { server.close() }
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: server, successTerminationBehavior: .gracefullyShutdownGroup),
                    // It ends by itself when a stop was requested before the group handled stops.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: SignalService(signals: signals) { signal in
                            guard signal == .sighup else { return server.handOver(to: program) }
                            notices.reloading()
                            parts.reload.reload()
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
