package import Accounts
package import Coding
package import Crypto
package import Logging
package import Sockets
internal import Storage
internal import Synchronization

/// A server with an open database and bound addresses, not yet answering.
///
/// `Server.run` makes one for the machine's own clock and stops it on a signal; other users provide sockets, clock or
/// randomness, and run and stop it.
package final class PreparedServer: Sendable {
    /// The address for visitors, and that of the admin listener.
    package let address: SocketAddress
    package let adminAddress: SocketAddress
    /// The address that redirects visitors to https; nil when `server.redirectPort` is not set.
    package let redirectAddress: SocketAddress?
    let service: ServerService
    private let parts: ServerParts
    /// Nil when a successor has it.
    private let lock: Mutex<FileLock?>
    /// What a successor inherits, by name.
    private let sockets: [(name: String, sockets: BoundSockets)]

    /// - Parameters:
    ///   - input: the sources of `configuration`, from which Apple's keys are read again.
    ///   - visitors: already bound, one per loop; nil binds `server.host` and `server.port`.
    ///   - admin: already bound, one; nil binds `admin.host` and `admin.port`.
    ///   - redirects: already bound, one per loop; nil binds `server.redirectPort`, if set.
    ///   - inherited: sockets left by the service manager or the previous server, instead of the three; and that
    ///     server's lock.
    ///   - isSuccessor: whether that server still serves: nothing it uses is changed.
    ///   - notices: for the service manager.
    ///   - lostLogLines: returns the number of log lines lost since the start.
    ///   - willBind: called before the first socket is bound.
    /// - Throws: `StartFailure` or an error with one line for the operator. Then nothing is left open.
    package convenience init(
        configuration: Configuration, readFrom input: ConfigurationInput, visitors: BoundSockets? = nil,
        admin: BoundSockets? = nil, redirects: BoundSockets? = nil,
        clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom(),
        webhookPolicy: WebhookPolicy = .standard, logger: Logger
    ) throws {
        try self.init(
            configuration: configuration, readFrom: input, visitors: visitors, admin: admin, redirects: redirects,
            inherited: InheritedDescriptors(), isSuccessor: false,
            notices: ServiceNotices(environment: [:], logger: logger), clock: clock, random: random,
            webhookPolicy: webhookPolicy, logger: logger)
    }

    init(
        configuration: Configuration, readFrom input: ConfigurationInput, visitors: BoundSockets? = nil,
        admin: BoundSockets? = nil, redirects: BoundSockets? = nil, inherited: consuming InheritedDescriptors,
        isSuccessor: Bool, notices: ServiceNotices, clock: any WallClock = SystemClock(),
        random: any RandomSource = SystemRandom(), webhookPolicy: WebhookPolicy = .standard, logger: Logger,
        lostLogLines: @escaping @Sendable () -> Int = { 0 }, willBind: () -> Void = {}
    ) throws {
        // SQLite and Foundation create readable files and restrict them afterwards: prevent that window.
        Files.keepNewFilesPrivate()
        // The lock comes first: a second server, which it refuses, must change neither the first one's schema nor its
        // webhook endpoints.
        try Store.prepareDirectory(configuration.storage.directory)
        let lockPath = configuration.storage.directory + "/serve.lock"
        if let left = inherited.consumeLock(Inheritance.lock, of: lockPath) {
            lock = Mutex(left)
        } else {
            lock = Mutex(try Self.lock(lockPath, of: configuration.storage.directory))
        }
        if configuration.storage.postgres == nil { try Self.finishRestore(configuration.storage.directory, logger) }
        let keyring = try SealingKeyFile.load(configuration.database, random: random)
        // A successor changes no schema: it refuses a database that lacks a step, and needs no backup. PostgreSQL has its
        // own.
        if !isSuccessor, configuration.storage.postgres == nil {
            try MigrationBackup.makeIfNeeded(
                configuration.database.databaseOptions(for: .server).store, keyring: keyring, clock: clock,
                logger: logger)
        }
        parts = try ServerParts(
            configuration: configuration, input: input, keyring: keyring, clock: clock, random: random,
            webhookPolicy: webhookPolicy, isSuccessor: isSuccessor, logger: logger, lostLogLines: lostLogLines)
        do {
            willBind()
            let loops = parts.group.loops.count
            let listeners = InheritedListeners(configuration, logger: logger)
            let left = try listeners.consume(from: &inherited, loops: loops)
            let visitors =
                try visitors ?? left.visitors ?? Self.bind(configuration.server.listener, "server", count: loops)
            let admin = try admin ?? left.admin ?? Self.bind(configuration.admin, "admin", count: 1)
            let redirects = try redirects ?? left.redirects ?? Self.bindRedirects(configuration.server, count: loops)
            address = visitors.address
            adminAddress = admin.address
            redirectAddress = redirects?.address
            service = ServerService(
                parts: parts, visitors: visitors, admin: admin, redirects: redirects,
                drainTimeout: Int64(configuration.server.drainTimeout) * 1000, notices: notices, logger: logger)
            sockets =
                [(Inheritance.visitors, visitors), (Inheritance.admin, admin)]
                + (redirects.map { [(Inheritance.redirects, $0)] } ?? [])
            // Last: until here nothing has changed for a server that still runs.
            try parts.database.setWebhookEndpoints(configuration.webhooks?.urls ?? [], at: clock.now())
        } catch {
            parts.database.close()
            throw error
        }
    }

    /// Serves until `stop`, and returns when every connection has ended.
    /// - Throws: `StartFailure` when an event loop could not serve.
    package func run() async throws {
        try await service.serve()
    }

    /// Reloads the Apple keys and the certificate, as for SIGHUP.
    package func reloadKeys() {
        parts.reload.reload()
    }

    /// Stops accepting; work in flight may take this long.
    package func stop(abortAfter milliseconds: Int64) {
        service.beginDrain(abortAfter: milliseconds)
    }

    /// Checkpoints and closes the database. Call it after `run` has returned.
    package func close() {
        parts.database.close()
    }

    // MARK: Hand-over

    /// Milliseconds.
    var drainTimeout: Int64 { service.drainTimeout }
    /// Where jobs run.
    var firstLoop: EventLoop? { parts.group.loops.first }
    /// Connections of visitors.
    var connectionCount: Int { parts.admission.total }

    /// Calls `body` with the descriptors that a successor inherits, which stay open during the call.
    func withInheritance<Result: Sendable>(
        _ body: ([(name: String, number: Int32)]) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        var descriptors: [(name: String, number: Int32)] = []
        return try lock.withLock { lock throws(SystemError) in
            if let number = lock?.descriptor { descriptors.append((Inheritance.lock, number)) }
            return try withSockets(sockets[...], &descriptors, body)
        }
    }

    private func withSockets<Result: Sendable>(
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
        lock.withLock { $0.take()?.leaveToSuccessor() }
        parts.group.retire()
    }

    /// One server at a time on one data directory: two would each cache sessions and silently share a port, and a
    /// second one is almost always a mistake.
    private static func lock(_ path: String, of directory: String) throws(StartFailure) -> FileLock {
        do {
            return try FileLock(path: path)
        } catch {
            if error.isHeldByAnother {
                throw StartFailure("Another bramley serve is running on the data directory \(directory).")
            }
            throw StartFailure("\(path) cannot be locked: \(error).")
        }
    }

    private static func finishRestore(_ directory: String, _ logger: Logger) throws(StartFailure) {
        let path = Store.path(in: directory)
        guard PendingRestore.isWaiting(for: path) else { return }
        do {
            try RestoreLock.finishPending(directory, RestoreLock.exclusive(directory))
        } catch {
            throw StartFailure(error.description)
        }
        logger.notice("interrupted restore completed", metadata: ["file": .string(path)])
    }

    private static func bindRedirects(
        _ server: Configuration.Server, count: Int
    ) throws(StartFailure) -> BoundSockets? {
        guard let port = server.redirectPort else { return nil }
        do {
            return try BoundSockets(address: SocketAddress(ip: server.listener.ip, port: port), count: count)
        } catch {
            throw StartFailure(
                "server.redirectPort: \(server.listener.ip):\(port) cannot be listened on: \(error).")
        }
    }

    private static func bind(
        _ listener: SocketAddress, _ key: String, count: Int
    ) throws(StartFailure) -> BoundSockets {
        do {
            return try BoundSockets(address: listener, count: count)
        } catch {
            throw StartFailure(
                "\(key).host and \(key).port: \(listener.ip):\(listener.port) cannot be listened on: \(error).")
        }
    }
}
