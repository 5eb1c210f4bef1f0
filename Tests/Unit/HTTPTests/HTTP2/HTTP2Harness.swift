import HTTP
import HTTPTypes
import Sockets
import Testing

/// An HTTP/2 server on 127.0.0.1 for the time of `body`, which runs on its loop. The client needs no TLS to choose it.
func withHTTP2Server<Value: Sendable>(
    configuration: HTTPServerConfiguration = HTTPServerConfiguration(), handler: any RequestHandler = HTTP2Echo(),
    immediate: (@Sendable () -> any ImmediateResponder)? = nil,
    _ body: @escaping @Sendable (Peer) async throws -> Value
) async throws -> Value {
    try await withServer(
        configuration: configuration, handler: handler, immediate: immediate, version: .http2, body)
}

/// The same with a client that has said hello; it is closed behind `body`.
func withHTTP2Client<Value: Sendable>(
    configuration: HTTPServerConfiguration = HTTPServerConfiguration(), handler: any RequestHandler = HTTP2Echo(),
    immediate: (@Sendable () -> any ImmediateResponder)? = nil, settings: [(UInt16, UInt32)] = [(1, 0)],
    _ body: @escaping @Sendable (RawHTTP2, Peer) async throws -> Value
) async throws -> Value {
    try await withHTTP2Server(configuration: configuration, handler: handler, immediate: immediate) { peer in
        let client = try await RawHTTP2.open(peer, settings: settings)
        defer { client.close() }
        return try await body(client, peer)
    }
}

/// Answers with what it understood, a field a line.
struct HTTP2Echo: RequestHandler {
    func respond(to request: ServerRequest) async -> ServerResponse {
        switch request.path {
        case "/stream", "/cut", "/204": return await EchoHandler().respond(to: request)
        case "/large":
            return ServerResponse(status: .ok, body: .bytes([UInt8](repeating: 0x78, count: 200_000)))
        default:
            var lines = ["\(request.method.rawValue) \(request.head.path ?? "") \(request.head.authority ?? "")"]
            lines += request.fields.map { "\($0.name.canonicalName): \($0.value)" }
            lines.append("\(request.body.count) \(String(decoding: request.body.prefix(64), as: UTF8.self))")
            let text = lines.joined(separator: "\n")
            return ServerResponse(status: .ok, fields: [.contentType: "text/plain"], body: .bytes(Array(text.utf8)))
        }
    }
}

/// A client that sends exactly the given bytes.
final class RawHTTP2 {
    let stream: SocketStream
    private var input: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    /// Everything read so far.
    private(set) var frames: [ReadFrame] = []
    private(set) var hasEnded = false

    init(_ stream: SocketStream) {
        self.stream = stream
        stream.disableNagle()
    }

    /// Connects and says hello; its compression table is empty, so that every field can be read alone.
    static func open(_ peer: Peer, settings: [(UInt16, UInt32)] = [(1, 0)]) async throws -> RawHTTP2 {
        let client = RawHTTP2(try await peer.connect())
        try await client.send(H2.preface + H2.settings(settings))
        return client
    }

    func send(_ bytes: [UInt8]) async throws { try await stream.write(bytes) }

    /// Every byte in a write of its own.
    func drip(_ bytes: [UInt8]) async {
        for byte in bytes {
            guard (try? await stream.write([byte])) != nil else { return }
            await Task.yield()
        }
    }

    func close() { stream.close() }

    /// Reads on until a frame fits; nil when the connection ends, or is silent for too long, before one does.
    @discardableResult
    func next(where fits: (ReadFrame) -> Bool) async -> ReadFrame? {
        while true {
            while let frame = ReadFrame.take(from: &input) {
                frames.append(frame)
                if fits(frame) { return frame }
            }
            guard !hasEnded else { return nil }
            guard let count = try? await stream.read(into: &buffer, at: 0), count > 0 else {
                hasEnded = true
                continue
            }
            input.append(contentsOf: buffer[..<count])
        }
    }

    func next(_ kind: H2.Kind, stream: UInt32? = nil) async -> ReadFrame? {
        await next { $0.kind == kind.rawValue && (stream ?? $0.stream) == $0.stream }
    }

    func readToEnd() async { await next { _ in false } }

    /// Reads until a PING of ours comes back; false when the connection ends before.
    func settle() async -> Bool {
        let mark: [UInt8] = [0xff, 0xee, 0xdd, 0xcc, 1, 1, 1, 1]
        guard (try? await send(H2.ping(mark))) != nil else {
            await readToEnd()
            return false
        }
        return await next { $0.kind == H2.Kind.ping.rawValue && $0.payload == mark } != nil
    }

    /// Reads until streams have ended, by END_STREAM or RST_STREAM.
    func finish(_ streams: UInt32...) async {
        for stream in streams where !hasEnded(stream) {
            await next { [self] in $0.stream == stream && Self.ends($0) || hasEnded }
        }
    }

    private func hasEnded(_ stream: UInt32) -> Bool { frames.contains { $0.stream == stream && Self.ends($0) } }

    private static func ends(_ frame: ReadFrame) -> Bool {
        switch frame.kind {
        case H2.Kind.resetStream.rawValue: true
        case H2.Kind.data.rawValue, H2.Kind.headers.rawValue: frame.flags & H2.endStream != 0
        default: false
        }
    }

    // MARK: What was read

    var goAway: ReadFrame? { frames.last { $0.kind == H2.Kind.goAway.rawValue } }

    func resets(of stream: UInt32) -> [UInt32] {
        frames.filter { $0.kind == H2.Kind.resetStream.rawValue && $0.stream == stream }.map { $0.word(at: 0) }
    }

    func status(of stream: UInt32) -> Int? {
        frames.filter { $0.kind == H2.Kind.headers.rawValue && $0.stream == stream }
            .compactMap { H2.status(of: $0.payload) }.last
    }

    func content(of stream: UInt32) -> String {
        let parts = frames.filter { $0.kind == H2.Kind.data.rawValue && $0.stream == stream }
        return String(decoding: parts.flatMap(\.payload), as: UTF8.self)
    }
}
