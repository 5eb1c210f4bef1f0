package import HTTPTypes

/// The client side as its users see it, so that tests can stand in for the network.
package protocol HTTPTransport: Sendable {
    /// One exchange: sends `request`, reads the whole response. No redirect is followed, nothing is retried except a
    /// request that provably never left on a reused connection.
    func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse
}

package struct ClientRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: ClientURL
    package var fields: HTTPFields
    package var body: [UInt8]
    /// From the call to the last byte, in milliseconds.
    package var timeout: Int64
    /// The largest decoded content accepted, in bytes.
    package var maximumBodySize: Int

    package init(
        method: HTTPRequest.Method, url: ClientURL, fields: HTTPFields = HTTPFields(), body: [UInt8] = [],
        timeout: Int64 = 10_000, maximumBodySize: Int = 1_048_576
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.timeout = timeout
        self.maximumBodySize = maximumBodySize
    }
}

/// An absolute `http` or `https` URL, taken apart once.
package struct ClientURL: Hashable, Sendable {
    package var isSecure: Bool
    package var host: String
    package var port: UInt16
    /// Origin-form: path and query, at least `/`.
    package var target: String

    package init(isSecure: Bool, host: String, port: UInt16, target: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.target = target
    }
}

package struct ClientResponse: Sendable {
    package var status: HTTPResponse.Status
    package var fields: HTTPFields
    package var body: [UInt8]

    package init(status: HTTPResponse.Status, fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

package enum HTTPClientError: Error, Hashable, Sendable {
    /// The name does not resolve.
    case unknownHost(String)
    /// No address accepted the connection.
    case connect(String)
    /// The handshake failed: certificate, host name, protocol version.
    case tls(String)
    case timeout
    /// Closed before the response was whole.
    case closed
    /// Not HTTP/1.1 as RFC 9112 has it.
    case malformed(String)
    /// Head or content larger than the bound.
    case tooLarge
}
