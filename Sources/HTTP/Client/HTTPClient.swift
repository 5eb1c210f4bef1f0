internal import Coding
internal import HTTPTypes
package import Sockets

/// An HTTP/1.1 client on the loops: verified TLS, deadlines, bounded responses, connection reuse. It follows no
/// redirects and keeps no cookies.
package final class HTTPClient: HTTPTransport {
    private let pools: [ConnectionPool]
    private let tls: ClientTLS
    private let network: ClientNetwork
    let userAgent: String
    private let proxy: ProxySettings

    /// - Parameters:
    ///   - tls: called for the first `https` connection, which fails if this throws.
    ///   - userAgent: sent with every request that names none; Apple refuses unusual ones.
    ///   - proxy: the proxy for `https`.
    ///   - network: replaced in tests.
    package init(
        group: EventLoopGroup, tls: @autoclosure @escaping @Sendable () throws(StreamError) -> TLSContext,
        userAgent: String, proxy: ProxySettings = .direct, network: ClientNetwork = ClientNetwork()
    ) {
        self.proxy = proxy
        self.network = network
        pools = group.loops.map { ConnectionPool(loop: $0) }
        self.tls = ClientTLS(tls)
        self.userAgent = userAgent
    }

    /// Runs `body` with a client on a loop of its own: for a process that serves nothing.
    /// - Throws: when no descriptors are left for a loop.
    package static func withOwnLoop<Value: Sendable>(
        userAgent: String, proxy: ProxySettings = .direct,
        _ body: @escaping @Sendable (EventLoop, any HTTPTransport) async -> Value
    ) async throws -> Value {
        try await EventLoopGroup.withOneLoop { group in
            let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: userAgent, proxy: proxy)
            return await body(group.loops[0], client)
        }
    }

    package func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
        if let pool = pools.first(where: { $0.loop.isOnLoop }) { return try await exchange(request, on: pool) }
        // Called off the loops (by a command or a test): borrow the first loop.
        let pool = pools[0]
        let result = await withTaskExecutorPreference(pool.loop) {
            await Result { () async throws(HTTPClientError) in try await exchange(request, on: pool) }
        }
        return try result.get()
    }

    private func exchange(
        _ request: ClientRequest, on pool: ConnectionPool
    ) async throws(HTTPClientError) -> ClientResponse {
        let url = request.url
        let origin = ConnectionPool.Origin(
            isSecure: url.isSecure, host: url.host, port: url.port, proxy: proxy.server(for: url), reach: request.reach)
        let stream = try await deliver(
            request, on: pool, origin, deadline: Deadline.now.adding(milliseconds: request.timeout))
        return try await receive(request, from: stream, pool, origin)
    }

    /// - Returns: the connection that took the request.
    private func deliver(
        _ request: ClientRequest, on pool: ConnectionPool, _ origin: ConnectionPool.Origin, deadline: Deadline
    ) async throws(HTTPClientError) -> SocketStream {
        let bytes = try serialize(request)
        while let kept = pool.acquire(origin) {
            kept.setDeadline(deadline)
            if await write(bytes, to: kept) == nil { return kept }
            // A live connection accepted not a single byte: the only case in which sending again is not a repetition.
            kept.close()
        }
        let stream = try await connect(
            request.url, within: request.reach, through: origin.proxy, on: pool.loop, deadline: deadline)
        if let error = await write(bytes, to: stream) {
            stream.close()
            throw Self.failure(error)
        }
        return stream
    }

    /// - Returns: why they could not be written completely; nil when they were.
    func write(_ bytes: [UInt8], to stream: SocketStream) async -> StreamError? {
        do {
            try await stream.write(bytes)
            return nil
        } catch {
            return error
        }
    }

    private func connect(
        _ url: ClientURL, within reach: Reach, through proxy: ProxyServer?, on loop: EventLoop, deadline: Deadline
    ) async throws(HTTPClientError) -> SocketStream {
        guard reach.admits(host: url.host) else { throw .inside }
        let stream: SocketStream
        if let proxy {
            try await examine(url, within: reach, on: loop, deadline: deadline)
            stream = try await openTunnel(to: url, through: proxy, on: loop, deadline: deadline)
        } else {
            stream = try await self.connect(to: url.host, port: url.port, within: reach, on: loop, deadline: deadline)
        }
        guard url.isSecure else { return stream }
        do {
            try await stream.startTLS(try tls.context(), serverName: url.host)
            return stream
        } catch {
            stream.close()
            switch error {
            case .deadline: throw .timeout
            case .tls(let text): throw .tls(text)
            default: throw .tls("\(error)")
            }
        }
    }

    /// Milliseconds in which a name that a proxy will resolve should resolve here.
    private static let lookUpBeforeProxy: Int64 = 2_000

    /// Behind a proxy, only the proxy resolves the name and decides what it connects to. So the name is checked here
    /// first: one with an internal address is not passed on.
    private func examine(
        _ url: ClientURL, within reach: Reach, on loop: EventLoop, deadline: Deadline
    ) async throws(HTTPClientError) {
        if reach == .anywhere { return }
        let soon = Deadline.now.adding(milliseconds: Self.lookUpBeforeProxy)
        let addresses = await network.resolve(url.host, url.port, loop, soon < deadline ? soon : deadline)
        // Loopback would be the proxy's own.
        guard addresses.allSatisfy({ Reach.publicOnly.admits($0.ip) }) else { throw .inside }
    }

    /// - Throws: `.unknownHost`, `.inside`, `.connect` or `.timeout`.
    func connect(
        to host: String, port: UInt16, within reach: Reach = .anywhere, on loop: EventLoop, deadline: Deadline
    ) async throws(HTTPClientError) -> SocketStream {
        let found = await network.resolve(host, port, loop, deadline)
        guard !found.isEmpty else { throw Deadline.now < deadline ? .unknownHost(host) : .timeout }
        // Connect to these: the name is not resolved again.
        let addresses = found.filter { reach.admits($0.ip) }
        guard !addresses.isEmpty else { throw .inside }
        do {
            let stream = try await network.connect(addresses, loop, deadline)
            stream.setDeadline(deadline)
            return stream
        } catch {
            if case .deadline = error { throw .timeout }
            throw .connect("\(error)")
        }
    }

    private func serialize(_ request: ClientRequest) throws(HTTPClientError) -> [UInt8] {
        var fields = request.fields
        if fields[.userAgent] == nil { fields[.userAgent] = userAgent }
        if fields[.accept] == nil { fields[.accept] = "*/*" }
        let hasContent = !request.body.isEmpty || request.method == .post || request.method == .put
        var bytes: [UInt8] = []
        try RequestSerializer.appendHead(
            method: request.method, target: request.url.target, host: request.url.hostField, fields: fields,
            contentLength: hasContent ? request.body.count : nil, into: &bytes)
        return bytes + request.body
    }

    // MARK: The response

    private func receive(
        _ request: ClientRequest, from stream: SocketStream, _ pool: ConnectionPool, _ origin: ConnectionPool.Origin
    ) async throws(HTTPClientError) -> ClientResponse {
        let (isCut, size) = (request.cutsLongBody, request.maximumBodySize)
        var reader = ResponseReader(
            stream, isHead: request.method == .head, limits: WireLimits { $0.body = isCut ? .max : size },
            cut: isCut ? size : nil)
        defer { reader.end() }
        do {
            let response = try await reader.read()
            if reader.mayReuse { pool.keep(stream, for: origin) } else { stream.close() }
            return response
        } catch {
            stream.close()
            throw error
        }
    }

    static func failure(_ error: StreamError) -> HTTPClientError {
        switch error {
        case .deadline: .timeout
        case .tls(let text): .tls(text)
        case .draining, .aborted, .broken: .closed
        }
    }
}

/// How names are resolved, and how connections are made.
package struct ClientNetwork: Sendable {
    package var resolve: @Sendable (String, UInt16, EventLoop, Deadline) async -> [SocketAddress]
    package var connect: @Sendable ([SocketAddress], EventLoop, Deadline) async throws(StreamError) -> SocketStream

    package init() {
        let resolver = Resolver()
        resolve = { await resolver.resolve($0, port: $1, on: $2, deadline: $3) }
        connect = { (addresses, loop, deadline) async throws(StreamError) in
            try await SocketStream.connect(to: addresses, on: loop, deadline: deadline)
        }
    }
}

/// Reads one response from a stream, within the request's limits.
struct ResponseReader {
    private let stream: SocketStream
    private let limits: WireLimits
    /// Where the content is cut off; nil refuses content longer than `limits.body`.
    private let cut: Int?
    private let isHead: Bool
    private var head = ResponseHead()
    private var input: InputBuffer
    /// Whether the connection is at a message boundary and may carry another request.
    private(set) var mayReuse = false
    private var wasCut = false

    /// - Parameter isHead: whether the request was a HEAD, whose response has no content.
    init(_ stream: SocketStream, isHead: Bool, limits: WireLimits, cut: Int? = nil) {
        self.stream = stream
        self.limits = limits
        self.cut = cut
        self.isHead = isHead
        input = InputBuffer(stream.loop.buffers.acquire())
    }

    /// To be called in any case: gives the buffer back.
    mutating func end() { stream.loop.buffers.release(input.release()) }

    /// Whether nothing has been received beyond what was read.
    var isAtEnd: Bool { input.isEmpty }

    mutating func read() async throws(HTTPClientError) -> ClientResponse {
        var response = try await readHead()
        response.body = try await readBody(head.framing)
        mayReuse = head.keepAlive && input.isEmpty && !wasCut
        return response
    }

    mutating func readHead() async throws(HTTPClientError) -> ClientResponse {
        var parser = ResponseParser(limits: limits, isHead: isHead)
        while true {
            let length = try await translating(
                try parser.parse(input.storage.span.extracting(input.range)), Self.failure)
            if let length {
                defer { input.consume(length) }
                head = parser.head
                return ClientResponse(
                    status: HTTPResponse.Status(code: head.status),
                    fields: head.makeFields(input.storage.span.extracting(input.range)))
            }
            guard try await fill() else { throw .closed }
        }
    }

    private mutating func readBody(_ framing: BodyFraming) async throws(HTTPClientError) -> [UInt8] {
        var decoder = BodyDecoder(framing: framing, limits: limits)
        var body: [UInt8] = []
        while true {
            try await translating(try input.decode(with: &decoder, into: &body), Self.failure)
            if decoder.isComplete { return body }
            if let cut, body.count > cut {
                wasCut = true
                return Array(body.prefix(cut))
            }
            if try await fill() { continue }
            guard (try? decoder.end()) != nil else { throw .closed }
            return body
        }
    }

    private mutating func fill() async throws(HTTPClientError) -> Bool {
        try await translating(try await input.fill(from: stream) > 0, HTTPClient.failure)
    }

    private static func failure(_ error: WireError) -> HTTPClientError {
        switch error.status {
        case 413, 414, 431: .tooLarge
        default: .malformed(error.reason)
        }
    }
}
