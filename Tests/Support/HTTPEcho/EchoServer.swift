internal import Coding
package import HTTP
package import Logging
package import Sockets
internal import Synchronization
internal import UnixSignals

/// The server on a socket, with `EchoHandler`.
package struct EchoServer: Sendable {
    private let group: EventLoopGroup
    private let sockets: BoundSockets
    private let configuration: HTTPServerConfiguration
    private let admission: AdmissionControl
    private let logger: Logger

    /// Binds at once, so that `address` is known; answers once `run` is called.
    /// - Parameters:
    ///   - address: with port 0, the system chooses a free port.
    ///   - threads: event loops; 0 makes one per core.
    package init(
        configuration: HTTPServerConfiguration, address: SocketAddress, threads: Int = 1,
        admission: AdmissionControl = AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000), logger: Logger
    ) throws(SystemError) {
        group = try EventLoopGroup(count: threads)
        sockets = try BoundSockets(address: address, count: group.loops.count)
        self.configuration = configuration
        self.admission = admission
        self.logger = logger
    }

    package var address: SocketAddress { sockets.address }

    /// Serves until SIGTERM or SIGINT, then until the requests in flight are answered.
    /// - Parameter drainTimeout: open connections are closed after this many milliseconds.
    func runUntilSignalled(drainTimeout: Int64) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                for await _ in signals {
                    group.beginDrain(abortAfter: drainTimeout)
                    return
                }
            }
            try await serve()
            tasks.cancelAll()
        }
    }

    /// Serves until the group drains.
    /// - Throws: when a loop could not listen, which also stops the others.
    private func serve() async throws {
        let failure = Mutex<SystemError?>(nil)
        try await group.run { loop in
            let server = HTTPLoop(
                loop: loop, configuration: configuration, handler: EchoHandler(),
                wallClock: { SystemClock().now().milliseconds }, logger: logger)
            do throws(SystemError) {
                _ = try Listener.start(sockets, on: loop, admission: admission)
            } catch {
                failure.withLock { $0 = error }
                group.beginDrain(abortAfter: 0)
            }
            await loop.runRoot { await server.serve($0) }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
