import FoundationEssentials
package import HTTP
import HTTPTypes
package import Logging
package import Sockets
import Synchronization

/// Simulates Apple's Sign in with Apple servers: pages, endpoints, and the control interface that makes them fail. A
/// function from request to response, so that tests need no socket. It shares no code with the server it tests: what
/// one signs, the other must accept.
package final class Simulator: RequestHandler {
    let configuration: SimulatorConfiguration
    /// The real time, in milliseconds since 1970.
    let clock: @Sendable () -> Int64
    let randomBytes: @Sendable (Int) -> [UInt8]
    /// Delivers notifications; with nil, none can be delivered.
    let transport: (any HTTPTransport)?
    let logger: Logger
    let world: Mutex<World>
    /// Hanging requests.
    let held = Mutex<Set<AsyncStream<Never>.Continuation>>([])
    /// Waits this many milliseconds; tests do not.
    let pause: @Sendable (Int64) async -> Void

    package init(
        configuration: SimulatorConfiguration, transport: (any HTTPTransport)? = nil,
        clock: @escaping @Sendable () -> Int64 = Simulator.systemTime,
        randomBytes: @escaping @Sendable (Int) -> [UInt8] = OpenSSLHash.randomBytes,
        keys: [RSASigningKey] = [], logger: Logger = Logger(label: "apple-simulator"),
        pause: @escaping @Sendable (Int64) async -> Void = { try? await Task.sleep(for: .milliseconds($0)) }
    ) {
        var keys = keys
        while keys.count < max(1, configuration.keyCount) { keys.append(RSASigningKey()) }
        let entries = keys.map { KeySet.Entry(kid: KeySet.makeKid(randomBytes(10)), key: $0) }
        self.configuration = configuration
        self.transport = transport
        self.clock = clock
        self.randomBytes = randomBytes
        self.logger = logger
        self.pause = pause
        world = Mutex(World(configuration: configuration, keys: KeySet(entries)))
    }

    package func respond(to request: ServerRequest) async -> ServerResponse {
        guard let endpoint = Endpoint(path: request.path) else { return await page(request) }
        let fault = world.withLock { world in
            world.counters.count(endpoint)
            return world.faults.consume(endpoint)
        }
        let response = await answer(request, endpoint: endpoint, fault: fault)
        world.withLock { $0.counters.count(endpoint, status: response.status.code) }
        logger.debug(
            "answered",
            metadata: ["endpoint": "\(endpoint.rawValue)", "status": .stringConvertible(response.status.code)])
        return response
    }

    package static func systemTime() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// The time of this simulated Apple, in milliseconds since 1970.
    var milliseconds: Int64 { clock() + world.withLock(\.clockOffset) }

    /// One operation on the world at one time.
    func change<Result: Sendable, Failure: Error>(
        _ body: (inout World, Moment) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let now = clock()
        return try world.withLock { world throws(Failure) in
            let issuer = world.behaviour.issuer ?? configuration.issuer
            let moment = Moment(
                milliseconds: now + world.clockOffset, randomBytes: randomBytes, issuer: issuer,
                audiences: [configuration.issuer, issuer])
            return try body(&world, moment)
        }
    }

    func record(_ text: String, endpoint: String) {
        change { world, moment in world.journal.record(text, endpoint: endpoint, at: moment) }
    }
}

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
    ///   - file: the only certificates that notifications trust, in PEM; nil trusts the system's.
    ///   - keys: made beforehand; missing ones are generated, up to `configuration.keyCount`.
    package init(
        configuration: SimulatorConfiguration, address: SocketAddress, threads: Int = 1,
        trusting file: String? = nil, clock: @escaping @Sendable () -> Int64 = Simulator.systemTime,
        keys: [RSASigningKey] = [], logger: Logger = Logger(label: "apple-simulator")
    ) throws {
        group = try EventLoopGroup(count: threads)
        let client = HTTPClient(group: group, tls: try TLSContext.client(trusting: file), userAgent: "apple-simulator")
        simulator = Simulator(configuration: configuration, transport: client, clock: clock, keys: keys, logger: logger)
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
        simulator.releaseHeld()
        group.beginDrain()
        group.abort()
    }
}
