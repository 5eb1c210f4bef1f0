import Accounts
import Sockets
import Web

// Where visitors and operators are listened to.
extension ConfigurationBuilder {
    func checkServer(_ configuration: Configuration) {
        let server = configuration.server
        if let port = server.redirectPort {
            if values.areGood("publicURL"), !configuration.web.publicURL.isSecure {
                values.report(
                    "server.redirectPort", "redirects to https, and publicURL begins with http://.",
                    "Begin publicURL with https://, or remove the port.")
            } else if values.areGood("server.port"), server.listener.port == port {
                values.report(
                    "server.redirectPort", "is \(port), as server.port is.", "Write another port, such as 80.")
            }
        }
        if server.proxyProtocol, server.trustedProxies.isEmpty, values.areGood("server.trustedProxies") {
            values.report(
                "server.proxyProtocol",
                "is true, but no proxy is trusted to say who its clients are, so every connection would be closed.",
                "Name the proxy that sends the PROXY protocol in server.trustedProxies.")
        }
        checkPorts(server, configuration.admin)
    }

    /// Two listeners cannot share an address and port.
    private func checkPorts(_ server: Configuration.Server, _ admin: SocketAddress) {
        guard
            values.areGood("server.host", "server.port", "server.redirectPort", "admin.host", "admin.port")
        else { return }
        let name: String
        switch admin.port {
        case server.listener.port: name = "server.port"
        case server.redirectPort: name = "server.redirectPort"
        default: return
        }
        let everywhere: Set<IPAddress> = [.v4(0), .v6(0, 0)]
        let (host, other) = (server.listener.ip, admin.ip)
        guard host == other || everywhere.contains(host) || everywhere.contains(other) else { return }
        values.report("admin.port", "is \(admin.port), as \(name) is.", "Write another port.")
    }
}
