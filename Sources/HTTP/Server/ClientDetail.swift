package import Sockets

/// How much of a client's address is written to logs.
package enum ClientDetail: String, Sendable, CaseIterable {
    /// The /24 of an IPv4 address, the /48 of an IPv6 address.
    case network
    case address
    case none

    package func text(of client: IPAddress) -> String? {
        switch self {
        case .network:
            if case .v4 = client { return IPNetwork(address: client, prefixLength: 24)?.description }
            return IPNetwork(address: client, prefixLength: 48)?.description
        case .address: return client.description
        case .none: return nil
        }
    }
}
