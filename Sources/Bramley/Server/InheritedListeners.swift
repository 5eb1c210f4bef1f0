internal import Logging
internal import Sockets

/// Listening sockets that another process has left open for this one, by name.
struct InheritedListeners {
    struct Found {
        var visitors: BoundSockets?
        var admin: BoundSockets?
        var redirects: BoundSockets?
    }

    private let configuration: Configuration
    private let logger: Logger

    init(_ configuration: Configuration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// The inherited descriptors, for `serve`.
    static func descriptors(_ environment: [String: String]) throws(StartFailure) -> InheritedDescriptors {
        do throws(InheritedDescriptors.Refusal) {
            return try InheritedDescriptors(environment: environment)
        } catch {
            throw StartFailure(error.description)
        }
    }

    /// Takes over the sockets. Missing ones must be bound by the caller; an address that differs from the
    /// configuration's is used unchanged, and logged.
    func consume(from inherited: inout InheritedDescriptors, loops: Int) throws(StartFailure) -> Found {
        var found = Found()
        do throws(InheritedDescriptors.Refusal) {
            found.visitors = try inherited.consumeSockets(Inheritance.visitors, count: loops)
            found.admin = try inherited.consumeSockets(Inheritance.admin, count: 1)
            found.redirects = try inherited.consumeSockets(Inheritance.redirects, count: loops)
        } catch {
            throw StartFailure(error.description)
        }
        if let name = inherited.names.first {
            throw StartFailure(
                """
                LISTEN_FDNAMES: \(name.quoted) is none of visitors, admin and redirects (FileDescriptorName= in \
                systemd).
                """)
        }
        let server = configuration.server
        compare(found.visitors, server.listener.ip, server.listener.port, "server.host and server.port")
        compare(found.admin, configuration.admin.ip, configuration.admin.port, "admin.host and admin.port")
        if let port = server.redirectPort {
            compare(found.redirects, server.listener.ip, port, "server.redirectPort")
        } else if found.redirects != nil {
            logger.warning(
                "inherited socket closed: server.redirectPort is not set")
            found.redirects = nil
        }
        return found
    }

    private func compare(_ sockets: BoundSockets?, _ host: IPAddress, _ port: UInt16, _ keys: String) {
        guard let address = sockets?.address, address != SocketAddress(ip: host, port: port) else { return }
        logger.warning(
            "inherited socket used instead of the configured address",
            metadata: [
                "keys": .string(keys), "socket": "\(address.ip):\(address.port)", "configuration": "\(host):\(port)",
            ])
    }
}
