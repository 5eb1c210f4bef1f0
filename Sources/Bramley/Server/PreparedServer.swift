internal import Accounts
internal import Coding
internal import HTTP
internal import Logging
internal import ServiceLifecycle
internal import Sockets
internal import Storage
internal import Synchronization
internal import Web

/// A server with an open database and bound addresses: runs its parts, on every loop, until it is stopped.
final class PreparedServer: ServiceLifecycle.Service {
    private enum Door {
        static let visitors = 0
        static let admin = 1
        static let redirects = 2
    }

    let parts: ServerParts
    private let visitors: BoundSockets
    private let admin: BoundSockets
    /// Redirects visitors to https; nil when `server.redirectPort` is not set.
    private let redirects: BoundSockets?
    let notices: ServiceNotices
    /// A previous server, which is told that this one serves.
    private let predecessor: Mutex<ProcessConnection?>
    private let serving = Atomic(0)
    /// A successor was started and has not failed.
    let isHandingOver = Atomic(false)
    /// Why a loop could not serve: the first that failed.
    private let failure = Mutex<CommandFailure?>(nil)

    var address: SocketAddress { visitors.address }
    var adminAddress: SocketAddress { admin.address }
    /// Milliseconds for requests in flight after a stop.
    var drainTimeout: Int64 { Int64(parts.configuration.server.drainTimeout) * 1000 }
    var logger: Logger { parts.runtime.logger }

    /// - Parameter bound: sockets to use; missing ones are inherited or bound. When it throws, nothing is left open.
    init(
        _ parts: ServerParts, bound: Listeners = Listeners(), inherited: consuming InheritedDescriptors,
        predecessor: ProcessConnection? = nil, notices: ServiceNotices
    ) throws {
        self.parts = parts
        self.notices = notices
        self.predecessor = Mutex(predecessor)
        do {
            let configuration = parts.configuration
            let loops = parts.group.loops.count
            let left = try Listeners(consuming: &inherited, loops: loops, configuration, logger: parts.runtime.logger)
            admin =
                try bound.admin ?? left.admin
                ?? Listeners.bind(configuration.admin, "admin.host and admin.port", count: 1)
            redirects = try bound.redirects ?? left.redirects ?? Listeners.bindRedirects(configuration, count: loops)
            // Last: a visitor who reaches it finds the other addresses open.
            visitors =
                try bound.visitors ?? left.visitors
                ?? Listeners.bind(configuration.server.listener, "server.host and server.port", count: loops)
            // Not earlier: until here nothing has changed for a server that still runs.
            try parts.database.setWebhookEndpoints(configuration.webhooks.map(\.url), at: parts.runtime.clock.now())
        } catch {
            parts.database.close()
            throw error
        }
    }

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await parts.group.run { loop in await self.serve(on: loop) }
            if let failure = failure.withLock({ $0 }) { throw failure }
        } onGracefulShutdown: {
            self.stop(abortAfter: self.drainTimeout)
        }
    }

    func stop(abortAfter milliseconds: Int64) {
        logger.info("draining")
        notices.stopping()
        parts.draining.set()
        parts.group.beginDrain(abortAfter: milliseconds)
    }

    func close() { parts.database.close() }

    private func serve(on loop: EventLoop) async {
        // Stopped before it began.
        if parts.draining.isSet { return await loop.runRoot { $0.close() } }
        do {
            let visitorLoop = try parts.makeVisitorLoop(loop)
            let adminLoop = parts.makeAdminLoop(loop)
            let redirectLoop = parts.makeRedirectLoop(loop)
            try listen(visitors, on: loop, Door.visitors, visitorLoop)
            if let redirects { try listen(redirects, on: loop, Door.redirects, redirectLoop) }
            if loop.index == 0 {
                try listen(admin, on: loop, Door.admin, adminLoop)
                parts.startHousekeeping(on: loop)
            }
            // Not earlier: whoever reads it may send a signal at once.
            if serving.add(1, ordering: .acquiringAndReleasing).newValue == parts.group.loops.count { reportReady() }
            await loop.runRoot { stream in
                switch stream.service {
                case Door.admin: await adminLoop.serve(stream)
                case Door.redirects: await redirectLoop.serve(stream)
                default: await visitorLoop.serve(stream)
                }
            }
        } catch {
            failure.withLock { failure in
                if failure == nil { failure = CommandFailure("An event loop cannot serve: \(error).") }
            }
            parts.group.beginDrain(abortAfter: 0)
            await loop.runRoot { $0.close() }
        }
    }

    private func listen(_ sockets: BoundSockets, on loop: EventLoop, _ door: Int, _ http: HTTPLoop) throws {
        let isAdmin = door == Door.admin
        for _ in sockets.share(of: loop.index, among: isAdmin ? 1 : parts.group.loops.count) {
            _ = try Listener.start(
                sockets, on: loop, admission: isAdmin ? parts.adminAdmission : parts.admission, service: door,
                firstByteTimeout: http.firstByteTimeout)
        }
    }

    private func reportReady() {
        let configuration = parts.configuration
        var metadata: Logger.Metadata = [
            "address": "\(address.ip):\(address.port)", "admin": "\(adminAddress.ip):\(adminAddress.port)",
            "publicURL": .string(configuration.web.publicURL.absolute),
            "tls": .stringConvertible(configuration.server.tls != nil),
        ]
        if let redirects { metadata["redirects"] = "\(redirects.address.ip):\(redirects.address.port)" }
        logger.info("listening", metadata: metadata)
        notices.ready("Serving on \(address.ip):\(address.port)")
        guard let loop = parts.group.loops.first else { return }
        notices.watch(parts.group, on: loop)
        guard let predecessor = predecessor.withLock({ $0.take() }) else { return }
        loop.spawn { [self] in
            predecessor.signal()
            // A process that has ended cannot answer, and need not.
            while predecessor.listen() == false {
                guard await loop.sleep(until: loop.now.adding(milliseconds: 10)) else { break }
            }
            // The service belongs to this process.
            notices.speak()
            // Not earlier: until then the database belongs to the other server, which need not know this one's key.
            await parts.stampSealingKey()
        }
    }

    /// Calls `body` with the descriptors that a successor inherits, by name, which stay open during the call.
    func withInheritance<Result: Sendable>(
        _ body: ([(name: String, number: Int32)]) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let sockets: [(name: String, sockets: BoundSockets)] =
            [(Inheritance.visitors, visitors), (Inheritance.admin, admin)]
            + (redirects.map { [(Inheritance.redirects, $0)] } ?? [])
        var descriptors: [(name: String, number: Int32)] = []
        return try parts.lock.withLock { lock throws(SystemError) in
            if let number = lock?.descriptor { descriptors.append((Inheritance.lock, number)) }
            return try Self.withSockets(sockets[...], &descriptors, body)
        }
    }

    private static func withSockets<Result: Sendable>(
        _ rest: ArraySlice<(name: String, sockets: BoundSockets)>, _ found: inout [(name: String, number: Int32)],
        _ body: ([(name: String, number: Int32)]) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        guard let next = rest.first else { return try body(found) }
        return try next.sockets.withDescriptors { numbers throws(SystemError) in
            found += numbers.map { (next.name, $0) }
            return try withSockets(rest.dropFirst(), &found, body)
        }
    }

    /// Another process serves and has the sockets and the lock. Each connection gets one more answer.
    func retire() {
        parts.lock.withLock { $0.take()?.leaveToSuccessor() }
        parts.group.retire()
    }
}
