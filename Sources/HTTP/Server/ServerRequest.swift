package import HTTPTypes
package import Sockets

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
    /// The client: the peer of the socket, whom its PROXY header names, or what a trusted proxy said in
    /// `X-Forwarded-For`.
    package var client: IPAddress
    /// Whether the peer (of the socket, or the one its PROXY header names) is a trusted proxy, whose `X-Forwarded-*` may be believed.
    package var isFromTrustedProxy: Bool

    package init(
        head: HTTPRequest, path: String, query: String?, body: [UInt8], client: IPAddress,
        isFromTrustedProxy: Bool
    ) {
        self.head = head
        self.path = path
        self.query = query
        self.body = body
        self.client = client
        self.isFromTrustedProxy = isFromTrustedProxy
    }

    package var method: HTTPRequest.Method { head.method }
    package var fields: HTTPFields { head.headerFields }
}
