package import HTTPTypes
package import Sockets

/// The version of the protocol a request came by, as far as it matters.
package enum ProtocolVersion: Hashable, Sendable {
    case http10
    /// A higher minor version too (RFC 9110 §2.5).
    case http11
    case http2

    /// As messages and logs spell it.
    package var text: String {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}

/// A whole request, its body read: what an ordinary handler gets.
package struct ServerRequest: Sendable {
    /// Method, `:path` (the origin-form target as sent), authority and fields, in order, duplicates kept apart.
    package var head: HTTPRequest
    /// The path of the target, still percent-encoded, without query.
    package var path: String
    /// What follows `?`, still percent-encoded; nil when there is none.
    package var query: String?
    /// The decoded content, at most `limits.body` bytes.
    package var body: [UInt8]
    /// What came behind the content, in order; never merged into `fields` (RFC 9110 §6.5.1), and without the names
    /// `TrailerFields` keeps out.
    package var trailers: HTTPFields
    package var version: ProtocolVersion
    /// The client: the peer of the socket, whom its PROXY header names, or what a trusted proxy said in
    /// `X-Forwarded-For`.
    package var client: IPAddress
    /// Whether the peer (of the socket, or the one its PROXY header names) is a trusted proxy, whose `X-Forwarded-*` may
    /// be believed.
    package var isFromTrustedProxy: Bool

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
