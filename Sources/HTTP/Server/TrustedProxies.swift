package import HTTPTypes
package import Sockets

/// The proxies that may name the client. Empty by default: then the peer of the socket is the client.
package struct TrustedProxies: Hashable, Sendable {
    private let networks: [IPNetwork]

    package init(_ networks: [IPNetwork] = []) { self.networks = networks }

    /// Whether this peer may name the client.
    package func contains(_ peer: IPAddress) -> Bool { networks.contains { $0.contains(peer) } }

    /// The client's address: the peer, unless it is a trusted proxy; then the rightmost hop of `X-Forwarded-For` that
    /// is not a trusted proxy itself. The client may have made up the hops left of it. A hop that is not an address
    /// ends the search: the proxy that reported it is the last one known. `X-Real-IP` counts where `X-Forwarded-For` is
    /// not sent at all, as in the configurations that oauth2-proxy documents for nginx.
    package func clientAddress(peer: IPAddress, fields: HTTPFields) -> IPAddress {
        var client = peer.normalized
        guard contains(client) else { return client }
        let forwarded = fields[values: KnownField.xForwardedFor.name]
        let hops = (forwarded.isEmpty ? fields[values: KnownField.xRealIP.name] : forwarded).flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        for hop in hops.reversed() {
            guard let address = Self.address(hop) else { break }
            client = address
            guard contains(client) else { break }
        }
        return client
    }

    /// An address, perhaps with the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    private static func address(_ hop: Substring) -> IPAddress? {
        let text = hop.drop { $0 == " " || $0 == "\t" }
        let trimmed = String(text.prefix { $0 != " " && $0 != "\t" })
        guard text.dropFirst(trimmed.count).allSatisfy({ $0 == " " || $0 == "\t" }) else { return nil }
        if let address = IPAddress(trimmed) { return address }
        if trimmed.hasPrefix("[") {
            guard let close = trimmed.firstIndex(of: "]"), isPort(trimmed[trimmed.index(after: close)...]) else {
                return nil
            }
            let literal = String(trimmed[trimmed.index(after: trimmed.startIndex)..<close])
            return literal.contains(":") ? IPAddress(literal) : nil
        }
        guard let colon = trimmed.firstIndex(of: ":"), isPort(trimmed[colon...]) else { return nil }
        return IPAddress(String(trimmed[..<colon]))
    }

    /// Nothing, or a colon and one to five digits.
    private static func isPort(_ text: Substring) -> Bool {
        guard let colon = text.first else { return true }
        let digits = text.dropFirst().utf8
        return colon == ":" && (1...5).contains(digits.count)
            && digits.allSatisfy { $0 >= ASCII.zero && $0 <= ASCII.nine }
    }
}

/// How much of a client's address is written to logs.
package enum ClientDetail: String, Sendable, CaseIterable {
    /// The /24 of an IPv4 address, the /48 of an IPv6 address.
    case network
    case address
    case none

    package func text(of client: IPAddress) -> String? {
        switch self {
        case .network: IPNetwork(address: client, prefixLength: client.bitWidth == 32 ? 24 : 48)?.description
        case .address: client.description
        case .none: nil
        }
    }
}
