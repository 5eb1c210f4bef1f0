package import HTTP
package import Logging
package import Sockets

/// A simulator on a socket, with a client that delivers its notifications.
package struct SimulatorServer: Sendable {
    private let simulator: Simulator
    private let group: EventLoopGroup
    private let sockets: BoundSockets
    private let logger: Logger

    /// Binds at once, so that `address` is known; answers once `run` is called.
    ///
    /// - Parameters:
    ///   - address: with port 0, the system chooses a free port.
    ///   - threads: event loops; 0 makes one per core.
    ///   - keys: made beforehand; missing ones are generated, up to `configuration.keyCount`.
    package init(
        configuration: SimulatorConfiguration, address: SocketAddress, threads: Int = 1,
        clock: @escaping @Sendable () -> Int64 = Simulator.systemTime, keys: [RSASigningKey] = [],
        logger: Logger = Logger(label: "apple-simulator")
    ) throws {
        group = try EventLoopGroup(count: threads)
        let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "apple-simulator")
        simulator = Simulator(
            configuration: configuration, transport: client, clock: clock, keys: keys, logger: logger)
        self.logger = logger
        // Last: making keys takes a while, and earlier clients would wait in vain.
        sockets = try BoundSockets(address: address, count: group.loops.count)
    }

    package var address: SocketAddress { sockets.address }
    package var handler: any RequestHandler { simulator }

    /// Serves until `stop`.
    package func run() async throws {
        let admission = AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000)
        try await group.run { loop in
            let server = HTTPLoop(
                loop: loop, configuration: HTTPServerConfiguration(), handler: simulator,
                // Its own time, so that `Date` and the tokens agree however far the control interface moves it.
                wallClock: { [simulator] in simulator.milliseconds }, logger: logger)
            do {
                _ = try Listener.start(sockets, on: loop, admission: admission)
            } catch {
                logger.error("cannot listen", metadata: ["error": "\(error)"])
            }
            await loop.runRoot { await server.serve($0) }
        }
    }

    /// Ends `run`, including hanging requests.
    package func stop() {
        simulator.gate.open()
        group.beginDrain()
        group.abort()
    }
}
