package import Crypto
package import Logging
package import RelyingParty
package import Sockets
internal import Storage

/// A server with its database open and its addresses bound, not yet answering.
///
/// `Server.run` makes one for the machine's own clock and stops it on a signal; whoever else makes one brings the
/// sockets, the clock or the randomness, and runs and stops it.
package final class PreparedServer: Sendable {
    /// Where visitors connect, and where the operator does.
    package let address: SocketAddress
    package let adminAddress: SocketAddress
    /// Where visitors are sent to https; nil when `server.redirectPort` is not given.
    package let redirectAddress: SocketAddress?
    let service: ServerService
    private let parts: ServerParts
    private let lock: FileLock

    /// - Parameters:
    ///   - input: what `configuration` was read from, and Apple's keys are read from again.
    ///   - visitors: bound already, one for each loop; nil binds `server.host` and `server.port`.
    ///   - admin: bound already, one; nil binds `admin.host` and `admin.port`.
    ///   - redirects: bound already, one for each loop; nil binds `server.redirectPort`, if there is one.
    /// - Throws: `StartFailure` or an error with one line for the operator. Nothing is left open then.
    package init(
        configuration: Configuration, readFrom input: ConfigurationInput, visitors: BoundSockets? = nil,
        admin: BoundSockets? = nil, redirects: BoundSockets? = nil,
        clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom(),
        webhookPolicy: WebhookPolicy = .standard, logger: Logger
    ) throws {
        // SQLite and Foundation make files readable and close them to others afterwards: not a moment too late here.
        Files.keepNewFilesPrivate()
        // The lock comes first: a second server, refused by it, must change neither the schema of the database the first
        // one serves nor where that one sends.
        try Database.prepareDirectory(configuration.storage.directory)
        lock = try Self.lock(configuration.storage.directory)
        let keyring = try SealingKeyFile.load(configuration, random: random)
        try MigrationBackup.makeIfNeeded(
            configuration.databaseOptions(for: .server), keyring: keyring, clock: clock, logger: logger)
        parts = try ServerParts(
            configuration: configuration, input: input, keyring: keyring, clock: clock, random: random,
            webhookPolicy: webhookPolicy, logger: logger)
        do {
            try parts.database.setWebhookEndpoints(configuration.webhooks?.urls ?? [], at: clock.now())
            let visitors =
                try visitors ?? Self.bind(configuration.server.listener, "server", count: parts.group.loops.count)
            let admin = try admin ?? Self.bind(configuration.admin, "admin", count: 1)
            let redirects = try redirects ?? Self.bindRedirects(configuration.server, count: parts.group.loops.count)
            address = visitors.address
            adminAddress = admin.address
            redirectAddress = redirects?.address
            service = ServerService(
                parts: parts, visitors: visitors, admin: admin, redirects: redirects,
                drainTimeout: Int64(configuration.server.drainTimeout) * 1000, logger: logger)
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

    /// Reads the keys Apple knows us by and the certificate again, as SIGHUP asks for.
    package func reloadKeys() {
        parts.reload.reload()
    }

    /// Stops accepting; what is in flight may take that long.
    package func stop(abortAfter milliseconds: Int64) {
        service.beginDrain(abortAfter: milliseconds)
    }

    /// Checkpoints and closes the database. After `run` has returned.
    package func close() {
        parts.database.close()
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

    private static func bindRedirects(
        _ server: Configuration.Server, count: Int
    ) throws(StartFailure) -> BoundSockets? {
        guard let port = server.redirectPort else { return nil }
        do {
            return try BoundSockets(address: SocketAddress(ip: server.listener.host, port: port), count: count)
        } catch {
            throw StartFailure(
                "server.redirectPort: \(server.listener.host):\(port) cannot be listened on: \(error).")
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
