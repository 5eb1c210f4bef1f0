internal import Coding
internal import Logging
internal import Sockets

struct Listeners {
    var visitors: BoundSockets?
    var admin: BoundSockets?
    var redirects: BoundSockets?
}

extension Listeners {
    static func descriptors(_ environment: [String: String]) throws(CommandFailure) -> InheritedDescriptors {
        do throws(InheritedDescriptors.Refusal) {
            return try InheritedDescriptors(environment: environment)
        } catch {
            throw CommandFailure(error.description)
        }
    }

    /// Takes over what another process has left open. Missing ones must be bound by the caller.
    init(
        consuming inherited: inout InheritedDescriptors, loops: Int, _ configuration: Configuration, logger: Logger
    ) throws(CommandFailure) {
        do throws(InheritedDescriptors.Refusal) {
            visitors = try inherited.consumeSockets(Inheritance.visitors, count: loops)
            admin = try inherited.consumeSockets(Inheritance.admin, count: 1)
            redirects = try inherited.consumeSockets(Inheritance.redirects, count: loops)
        } catch {
            throw CommandFailure(error.description)
        }
        if let name = inherited.names.first {
            throw CommandFailure(
                """
                LISTEN_FDNAMES: \(name.quoted) is none of visitors, admin and redirects (FileDescriptorName= in \
                systemd).
                """)
        }
        let server = configuration.server
        Self.compare(visitors, server.listener, "server.host and server.port", logger)
        Self.compare(admin, configuration.admin, "admin.host and admin.port", logger)
        if let port = server.redirectPort {
            Self.compare(redirects, SocketAddress(ip: server.listener.ip, port: port), "server.redirectPort", logger)
        } else if redirects != nil {
            logger.warning("inherited socket closed: server.redirectPort is not set")
            redirects = nil
        }
    }

    private static func compare(_ sockets: BoundSockets?, _ wanted: SocketAddress, _ keys: String, _ logger: Logger) {
        guard let address = sockets?.address, address != wanted else { return }
        logger.warning(
            "inherited socket used instead of the configured address",
            metadata: [
                "keys": .string(keys), "socket": "\(address.ip):\(address.port)",
                "configuration": "\(wanted.ip):\(wanted.port)",
            ])
    }

    static func bindRedirects(_ configuration: Configuration, count: Int) throws(CommandFailure) -> BoundSockets? {
        let server = configuration.server
        guard let port = server.redirectPort else { return nil }
        return try bind(SocketAddress(ip: server.listener.ip, port: port), "server.redirectPort", count: count)
    }

    static func bind(_ address: SocketAddress, _ keys: String, count: Int) throws(CommandFailure) -> BoundSockets {
        try translating(try BoundSockets(address: address, count: count)) { (error: SystemError) in
            CommandFailure("\(keys): \(address.ip):\(address.port) cannot be listened on: \(error).")
        }
    }
}
