internal import Coding
package import HTTPTypes
import Sockets

/// The client's interface, so that tests can replace the network.
package protocol HTTPTransport: Sendable {
    /// One exchange: sends `request` and reads the whole response. Follows no redirect, and retries nothing but a
    /// request that provably never left on a reused connection.
    func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse
}

extension HTTPTransport {
    /// Whether `GET url` answers 200 within two seconds: a container's health check.
    package func succeeds(_ url: ClientURL) async -> Bool {
        let request = ClientRequest(method: .get, url: url, timeout: 2_000)
        return (try? await send(request))?.status == .ok
    }
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
    /// Cuts off longer content, and the connection, without an error: for callers that only need the status.
    package var cutsLongBody = false
    package var reach = Reach.anywhere

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

/// An absolute `http` or `https` URL, split into its parts.
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

    /// Parses `https://host[:port][/path][?query]`; nil for another scheme, user information, a fragment, a bad port.
    package init?(_ text: String) {
        guard let url = AbsoluteURL(text), !url.authority.contains("@"), !url.rest.contains("#"),
            let (name, portText) = url.hostAndPort
        else { return nil }
        isSecure = url.isSecure
        target = url.rest.isEmpty ? "/" : url.rest.hasPrefix("?") ? "/" + url.rest : String(url.rest)
        let isLiteral = name.hasPrefix("[")
        host = (isLiteral ? name.dropFirst().dropLast() : name).lowercased()
        // RFC 3986 §3.2.2: only an address may be in brackets, and without a colon `hostField` would write none.
        guard !isLiteral || host.contains(":") && IPAddress(host) != nil else { return nil }
        guard let portText else {
            port = url.defaultPort
            return
        }
        guard let number = UInt16(portText), number > 0, portText.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else {
            return nil
        }
        port = number
    }

    /// The value of `Host`: the port unless it is the scheme's default, an IPv6 address in brackets.
    package var hostField: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
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

package enum HTTPClientError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownHost(String)
    /// The host has no address that the request's `reach` admits.
    case inside
    case connect(String)
    case tls(String)
    case timeout
    case closed
    case malformed(String)
    /// Head or content larger than the limit.
    case tooLarge
    /// The proxy opened no tunnel; the request was not sent.
    case proxy(TunnelFailure)

    /// What went wrong, for the operator, as the end of a sentence.
    package var description: String {
        switch self {
        case .unknownHost(let name): "the name \(name) does not resolve"
        case .inside: "the host has no public address, but was registered through the API"
        case .connect(let cause): "no connection: \(cause)"
        case .tls(let cause): "TLS failed: \(cause)"
        case .timeout: "no complete answer in time"
        case .closed: "the connection was closed before the answer was complete"
        case .malformed(let cause): "not an HTTP answer: \(cause)"
        case .tooLarge: "the answer is too long"
        case .proxy(let failure): "\(failure)"
        }
    }
}

/// Why a proxy opened no tunnel (CONNECT, RFC 9110 §9.3.6).
package enum TunnelFailure: Hashable, Sendable, CustomStringConvertible {
    case unknownHost(String)
    case connect(String)
    /// It answered with this status: 407 when it wants credentials, 502 or 504 when it did not reach the server.
    case refused(Int)
    case timeout
    case closed
    case malformed(String)
    case tooLarge
    /// Bytes after its answer, before we sent any to the server: they cannot be from the server, which waits for ours.
    case earlyBytes

    package var description: String {
        switch self {
        case .unknownHost(let name): "the proxy's name \(name) does not resolve"
        case .connect(let cause): "no connection to the proxy: \(cause)"
        case .refused(407): "the proxy does not accept the credentials of HTTPS_PROXY (status 407)"
        case .refused(let status): "the proxy refused to connect: status \(status)"
        case .timeout: "the proxy did not answer in time"
        case .closed: "the proxy closed the connection without an answer"
        case .malformed(let cause): "the proxy does not speak HTTP: \(cause)"
        case .tooLarge: "the proxy's answer is too long"
        case .earlyBytes: "the proxy sent more than its answer"
        }
    }
}
