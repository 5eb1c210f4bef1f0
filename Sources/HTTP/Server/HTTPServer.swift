internal import Coding
package import HTTPTypes
package import Logging
package import Sockets

/// How long each phase of a connection may take, in milliseconds.
package struct ServerTimeouts: Hashable, Sendable {
    /// From the accept to the end of the TLS handshake.
    package var handshake: Int64 = 10_000
    /// From the first byte of a request (or the accept) to the end of its head.
    package var header: Int64 = 10_000
    /// From the head to the last byte of the content.
    package var body: Int64 = 20_000
    /// For the peer to take each batch of output.
    package var write: Int64 = 20_000
    /// Between two requests.
    package var idle: Int64 = 60_000
    /// A connection idle for this long releases its buffers and its task.
    package var parkAfter: Int64 = 1000
    /// After our side has closed, input is read and discarded until none arrives for this long, …
    package var linger: Int64 = 2000
    /// … and for this long in total.
    package var lingerTotal: Int64 = 10_000

    package init(_ change: (inout ServerTimeouts) -> Void = { _ in }) { change(&self) }
}

package struct HTTPServerConfiguration: Sendable {
    package var limits = WireLimits()
    package var timeouts = ServerTimeouts()
    package var trustedProxies = TrustedProxies()
    /// Maximum number of connections in one loop that keep their task while they wait for the next request. Beyond it,
    /// a connection with nothing left to answer is parked at once, not after `parkAfter`.
    package var waitingTasks = 256
    /// Whether every connection must begin with a header of the PROXY protocol (version 1 or 2) and come from one of
    /// `trustedProxies`; others are closed.
    package var proxyProtocol = false
    /// Fields of the responses that the server sends by itself, without a handler: 400, 408, 414, …
    package var refusalFields = HTTPFields()
    /// Instead of a text for 414 and 431, since their visitor has too long an address or too many cookies; nil: a text.
    package var largeHeadPage: ServerResponse?
    /// What every connection begins with; nil for plain HTTP.
    package var tls: TLSAcceptor?
    /// Shared by all loops with this configuration.
    package var memory = MemoryBudget()

    package init() {}

    package init(_ change: (inout HTTPServerConfiguration) throws -> Void) rethrows { try change(&self) }

    func refusal(_ status: HTTPResponse.Status) -> ServerResponse {
        if var page = largeHeadPage, status == .uriTooLong || status == .requestHeaderFieldsTooLarge {
            page.status = status
            return page
        }
        var fields = refusalFields
        fields[.contentType] = "text/plain; charset=utf-8"
        if status == .serviceUnavailable { fields[.retryAfter] = "30" }
        return ServerResponse(
            status: status, fields: fields, body: .bytes(Array("\(status.code) \(status.reasonPhrase)\n".utf8)))
    }
}

/// Answers requests at once, on the loop, from bytes: for what must not cost a String.
///
/// One per loop and owned by it; never called from another thread.
package protocol ImmediateResponder: AnyObject {
    /// Appends a complete response and returns true, or appends nothing and returns false; then the ordinary handler is
    /// called. Called only for requests without content on a connection that stays open.
    ///
    /// - Parameters:
    ///   - head: ranges in `bytes`; do not keep it.
    ///   - peer: the peer of the socket, or the one its PROXY header names; `X-Forwarded-For` has not been read.
    ///   - now: milliseconds since 1970.
    ///   - date: the value of `Date`.
    func respond(
        to head: borrowing RequestHead, in bytes: Span<UInt8>, peer: IPAddress, now: Int64, date: [UInt8],
        into output: inout [UInt8]
    ) -> Bool
}

/// The HTTP/1.1 side of one loop: its connections share a date, a responder and a configuration.
///
/// Proof for `@unchecked Sendable`: touched only on `loop`'s thread; it travels only with tasks that prefer that loop.
package final class HTTPLoop: @unchecked Sendable {
    package let loop: EventLoop
    let configuration: HTTPServerConfiguration
    let handler: any RequestHandler
    let immediate: (any ImmediateResponder)?
    let logger: Logger
    let metrics: RequestMetrics?
    private let wallClock: @Sendable () -> Int64
    let http2: HTTP2Workspace
    private var date: [UInt8] = []
    private var dateSecond = Int64.min
    /// Connections that keep a task while they wait for their next request.
    var waitingTasks = 0
    /// For warnings about connections without their PROXY header.
    let proxyWarnings = LogThrottle(interval: 60_000)

    /// - Parameters:
    ///   - wallClock: milliseconds since 1970.
    ///   - metrics: counts what no handler sees: invalid requests, and HTTP/2.
    package init(
        loop: EventLoop, configuration: HTTPServerConfiguration, handler: any RequestHandler,
        immediate: (any ImmediateResponder)? = nil, wallClock: @escaping @Sendable () -> Int64, logger: Logger,
        metrics: RequestMetrics? = nil
    ) {
        self.metrics = metrics
        self.loop = loop
        self.configuration = configuration
        self.handler = handler
        self.immediate = immediate
        self.wallClock = wallClock
        self.logger = logger
        let http2 = HTTP2Workspace(limits: configuration.limits)
        self.http2 = http2
        loop.buffers.whenEmptied { http2.removeAll() }
    }

    /// How long a new connection may take to send its first byte, in milliseconds.
    package var firstByteTimeout: Int64 {
        configuration.tls == nil ? configuration.timeouts.header : configuration.timeouts.handshake
    }

    package func serve(_ stream: SocketStream) async {
        if configuration.proxyProtocol && !stream.isIntroduced, await !introduce(stream) { return }
        if let acceptor = configuration.tls, !stream.isSecure, await !secure(stream, with: acceptor) { return }
        if stream.applicationProtocol == .http2 { return await serveHTTP2(stream) }
        let connection = ServerConnection(stream, on: self)
        await connection.run()
    }

    /// Speaks HTTP/2 on a connection whose client has chosen it, until it ends.
    package func serveHTTP2(_ stream: SocketStream) async {
        guard let connection = HTTP2Connection(stream, on: self) else { return stream.close() }
        metrics?.http2Began()
        await connection.run()
        metrics?.http2Finished()
    }

    func linger(_ stream: SocketStream) async {
        let timeouts = configuration.timeouts
        await stream.lingeringClose(
            silence: timeouts.linger, until: loop.now.adding(milliseconds: timeouts.lingerTotal),
            outputDeadline: loop.now.adding(milliseconds: timeouts.write))
    }

    /// The request, without its content, whose head is `head`, parsed from `storage`.
    /// - Parameter version: nil for the version in the head.
    func makeRequest(
        _ head: borrowing RequestHead, in storage: [UInt8], _ range: Range<Int>? = nil, from stream: SocketStream,
        version: ProtocolVersion? = nil
    ) -> ServerRequest {
        let bytes = storage.span.extracting(range ?? storage.indices)
        let request = head.makeRequest(bytes, scheme: stream.isSecure ? "https" : "http")
        let peer = stream.peer.ip.normalized
        var query: String?
        if let range = head.query { query = range.string(in: bytes) }
        // A client that a proxy does not name is not the proxy: nothing it says about a client is trusted.
        let proxies = stream.isAnonymous ? TrustedProxies() : configuration.trustedProxies
        var made = ServerRequest(
            head: request, path: head.path.isEmpty ? "/" : head.path.string(in: bytes), query: query, body: [],
            client: proxies.clientAddress(peer: peer, fields: request.headerFields),
            isFromTrustedProxy: proxies.contains(peer))
        made.version = version ?? (head.minorVersion == 0 ? .http10 : .http11)
        return made
    }

    /// Counts what a connection keeps, for its address; a proxy's connection carries many.
    func makeAccount(of stream: SocketStream) -> MemoryAccount {
        MemoryAccount(configuration.memory, address: isFromTrustedProxy(stream) ? nil : stream.peer.ip.normalized)
    }

    func isFromTrustedProxy(_ stream: SocketStream) -> Bool {
        configuration.trustedProxies.contains(stream.peer.ip.normalized)
    }

    /// Milliseconds since 1970, and the value of `Date` for that second.
    func currentTime() -> (milliseconds: Int64, date: [UInt8]) {
        let now = wallClock()
        let second = now / 1000
        if second != dateSecond {
            dateSecond = second
            date = Array(HTTPDate.format(second).utf8)
        }
        return (now, date)
    }
}
