package import HTTPTypes
package import Sockets

/// The protocol version of a request, as far as it matters.
package enum ProtocolVersion: Hashable, Sendable {
    case http10
    /// Also for a higher minor version (RFC 9110 §2.5).
    case http11
    case http2

    /// The spelling in messages and logs.
    package var text: String {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}

/// A complete request with its content: what an ordinary handler gets.
package struct ServerRequest: Sendable {
    /// Method, `:path` (the origin-form target as sent), authority and fields, in order, without merging duplicates.
    package var head: HTTPRequest
    /// The path of the target, still percent-encoded, without query.
    package var path: String
    /// The part after `?`, still percent-encoded; nil when there is none.
    package var query: String?
    /// The decoded content, at most `limits.body` bytes.
    package var body: [UInt8]
    /// Trailers, in order; never merged into `fields` (RFC 9110 §6.5.1), and without the names that `TrailerFields`
    /// excludes.
    package var trailers: HTTPFields
    package var version: ProtocolVersion
    /// The client: the peer of the socket, the address in its PROXY header, or what a trusted proxy said in
    /// `X-Forwarded-For`.
    package var client: IPAddress
    /// Whether the peer (of the socket, or from its PROXY header) is a trusted proxy, whose `X-Forwarded-*` may be
    /// trusted.
    package var isFromTrustedProxy: Bool
    /// Of the client, if it can be noticed.
    package var departure: Departure?

    package init(
        head: HTTPRequest, path: String, query: String?, body: [UInt8], client: IPAddress,
        isFromTrustedProxy: Bool, version: ProtocolVersion = .http11, trailers: HTTPFields = HTTPFields()
    ) {
        self.head = head
        self.path = path
        self.query = query
        self.body = body
        self.client = client
        self.isFromTrustedProxy = isFromTrustedProxy
        self.version = version
        self.trailers = trailers
    }

    package var method: HTTPRequest.Method { head.method }
    package var fields: HTTPFields { head.headerFields }
}
