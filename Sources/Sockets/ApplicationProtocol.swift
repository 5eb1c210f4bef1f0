/// What is spoken inside TLS, agreed on in the handshake (ALPN, RFC 7301).
package enum ApplicationProtocol: String, CaseIterable, Hashable, Sendable {
    case http2 = "h2"
    case http1 = "http/1.1"

    init?(name: some Collection<UInt8>) {
        guard let found = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name) }) else { return nil }
        self = found
    }
}
