import Glibc
import HTTP
import HTTPTypes
import Sockets

extension FuzzTarget {
    /// Addresses of the network, networks, and the hops a proxy reports: as the C library reads them, one spelling each.
    static let address = FuzzTarget(name: "address", maximumLength: 128) { input throws(Finding) in
        let text = String(decoding: input, as: UTF8.self)
        let address = IPAddress(text)
        try hold(address == asTheLibrary(input), "\(shown(input)): \(String(describing: address))")
        if let address {
            try hold(IPAddress(address.description) == address, "\(shown(input)) is \(address)")
            try hold(address.normalized == address, "\(address) is not normal")
        }
        if let network = IPNetwork(text) {
            try hold(network.contains(network.address), "\(network) without its own address")
            try hold(IPNetwork(network.description) == network, "\(shown(input)) is \(network)")
        }
        return try checkHops(text) ?? address == nil ? nil : input
    }

    /// Nil for what inet_pton(3) refuses, and for zones, which it does not read either.
    private static func asTheLibrary(_ text: [UInt8]) -> IPAddress? {
        guard !text.contains(0), text.count <= 45 else { return nil }
        let string = text.map { CChar(bitPattern: $0) } + [0]
        var four: UInt32 = 0
        // Both take the text to its zero, which is there, and write into a place of the size they expect.
        if unsafe inet_pton(AF_INET, string, &four) == 1 { return .v4(UInt32(bigEndian: four)) }
        var six = [UInt64](repeating: 0, count: 2)
        guard unsafe inet_pton(AF_INET6, string, &six) == 1 else { return nil }
        return IPAddress.v6(UInt64(bigEndian: six[0]), UInt64(bigEndian: six[1])).normalized
    }

    /// - Returns: a client that a proxy named.
    private static func checkHops(_ text: String) throws(Finding) -> IPAddress? {
        guard let peer = IPAddress("10.0.0.1"), let trusted = IPNetwork("10.0.0.0/8") else {
            throw Finding("10.0.0.1 is no address")
        }
        var fields = HTTPFields()
        if let name = HTTPField.Name("x-forwarded-for") {
            for line in text.split(separator: "\n") { fields.append(HTTPField(name: name, value: String(line))) }
        }
        let stranger = TrustedProxies().clientAddress(peer: peer, fields: fields)
        try hold(stranger == peer, "an untrusted peer's word was taken")
        let client = TrustedProxies([trusted]).clientAddress(peer: peer, fields: fields)
        try hold(client.normalized == client, "\(client) is not normal")
        return client == peer ? nil : client
    }
}
