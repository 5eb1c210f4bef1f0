internal import AppleID
internal import Crypto
internal import HTTP
package import Logging
internal import RelyingParty
internal import ServiceLifecycle
internal import Sockets
internal import Storage
internal import UnixSignals
internal import Web

/// `bramley serve`: every part made, wired, run until a signal, and taken down in order.
package enum Server {
    /// Which listener a connection came through.
    enum Service {
        static let visitors = 0
        static let admin = 1
    }

    /// Runs until SIGTERM or SIGINT.
    /// - Throws: `StartFailure` with one line for the operator.
    package static func run(configuration: Configuration, logger: Logger) async throws {
        let random = SystemRandom()
        let keyring = try SealingKeyFile.load(configuration, random: random)
        let parts = try ServerParts(
            configuration: configuration, keyring: keyring, clock: SystemClock(), random: random, logger: logger)
        let lock = try lock(configuration.storage.directory)
        let visitors = try bind(configuration.server.listener, "server", count: parts.group.loops.count)
        let admin = try bind(configuration.admin, "admin", count: 1)
        let service = ServerService(
            parts: parts, visitors: visitors, admin: admin,
            drainTimeout: Int64(configuration.server.drainTimeout) * 1000, logger: logger)
        logger.info(
            "listening",
            metadata: [
                "address": "\(visitors.address.ip):\(visitors.address.port)",
                "admin": "\(admin.address.ip):\(admin.address.port)",
                "publicURL": .string(configuration.publicURL.text),
            ])
        defer { parts.database.close() }
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [ServiceGroupConfiguration.ServiceConfiguration(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        ).run()
        logger.info("stopped")
        _ = consume lock
    }

    /// One server at a time on one data directory: two would each hold caches of sessions and share a port in
    /// silence, and a second one is almost always a mistake.
    private static func lock(_ directory: String) throws(StartFailure) -> FileLock {
        do {
            return try FileLock(path: directory + "/serve.lock")
        } catch {
            if error.isHeldByAnother {
                throw StartFailure("Another bramley serve is running on the data directory \(directory).")
            }
            throw StartFailure("\(directory)/serve.lock cannot be locked: \(error).")
        }
    }

    private static func bind(
        _ listener: Configuration.Listener, _ key: String, count: Int
    ) throws(StartFailure) -> BoundSockets {
        do {
            return try BoundSockets(address: SocketAddress(ip: listener.host, port: listener.port), count: count)
        } catch {
            throw StartFailure(
                "\(key).host and \(key).port: \(listener.host):\(listener.port) cannot be listened on: \(error).")
        }
    }
}

/// The loops with both listeners, as swift-service-lifecycle runs and stops them.
struct ServerService: ServiceLifecycle.Service {
    let parts: ServerParts
    let visitors: BoundSockets
    let admin: BoundSockets
    /// Milliseconds.
    let drainTimeout: Int64
    let logger: Logger

    func run() async throws {
        let parts = parts
        let drainTimeout = drainTimeout
        let logger = logger
        try await withGracefulShutdownHandler {
            try await parts.group.run { loop in await serve(on: loop) }
        } onGracefulShutdown: {
            logger.info("draining")
            parts.draining.set()
            parts.group.beginDrain(abortAfter: drainTimeout)
        }
    }

    private func serve(on loop: EventLoop) async {
        do {
            let visitorLoop = try parts.makeVisitorLoop(loop)
            let adminLoop = parts.makeAdminLoop(loop)
            _ = try Listener.start(
                visitors, on: loop, admission: parts.admission, service: Server.Service.visitors)
            if loop.index == 0 {
                _ = try Listener.start(
                    admin, on: loop, admission: parts.adminAdmission, service: Server.Service.admin)
                parts.startJobs(on: loop)
            }
            await loop.runRoot { stream in
                if stream.service == Server.Service.admin {
                    await adminLoop.serve(stream)
                } else {
                    await visitorLoop.serve(stream)
                }
            }
        } catch {
            logger.critical("an event loop cannot serve", metadata: ["cause": "\(error)"])
            parts.group.beginDrain(abortAfter: 0)
            await loop.runRoot { $0.close() }
        }
    }
}
