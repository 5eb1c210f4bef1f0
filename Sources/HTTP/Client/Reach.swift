internal import Sockets

/// Where a request may go. It depends on who named the address: an operator may let this server call internal
/// addresses, such as those of a service on the same host; whoever holds an API key may not, and would learn from them
/// what listens there (server-side request forgery).
package enum Reach: Hashable, Sendable {
    /// Named in the configuration or by an operator.
    case anywhere
    /// Only public addresses, whatever the name resolves to when the connection is made.
    case publicOnly
    /// Also this machine itself, for a server that serves only this machine.
    case publicOrLoopback

    func admits(_ address: IPAddress) -> Bool {
        switch self {
        case .anywhere: true
        case .publicOnly: address.isPublic
        case .publicOrLoopback: address.isPublic || address.isLoopback
        }
    }

    /// Whether requests to a host could be sent at all. A name that resolves may still be refused, by its addresses.
    /// - Parameter host: a name or an address, without brackets.
    package func admits(host: String) -> Bool {
        if self == .anywhere { return true }
        if let address = IPAddress(host) { return admits(address) }
        if self == .publicOrLoopback { return true }
        // RFC 6761 §6.3: this host, whatever a resolver says.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return name != "localhost" && !name.hasSuffix(".localhost")
    }
}
