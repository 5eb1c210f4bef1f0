import HTTP
import HTTPTypes
import LogRecording
import Logging
import Loops
import Sockets

/// A server on 127.0.0.1 with its loops, for the time of `body`, which runs on the first loop.
/// - Parameters:
///   - arriving: called for each task that a connection gets.
///   - version: the client needs no TLS to choose HTTP/2.
func withServer<Value: Sendable>(
    configuration: HTTPServerConfiguration = HTTPServerConfiguration(), loops: Int = 1,
    handler: any RequestHandler = EchoHandler(), immediate: (@Sendable () -> any ImmediateResponder)? = nil,
    version: SpokenVersion = .http1, arriving: @escaping @Sendable () -> Void = {},
    admission: AdmissionControl = AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000),
    logger: Logger = .silent,
    _ body: @escaping @Sendable (Peer) async throws -> Value
) async throws -> Value {
    let sockets = try BoundSockets.local(count: loops)
    return try await onLoop(
        loops: loops,
        servingWith: { loop in
            let server = HTTPLoop(
                loop: loop, configuration: configuration, handler: handler, immediate: immediate?(),
                wallClock: { 1_767_225_600_000 }, logger: logger)
            _ = try? Listener.start(
                sockets, on: loop, admission: admission,
                firstByteTimeout: version == .http1 ? server.firstByteTimeout : nil)
            return { stream in
                arriving()
                switch version {
                case .http1: await server.serve(stream)
                case .http2: await server.serveHTTP2(stream)
                }
            }
        },
        { loop, group in try await body(Peer(address: sockets.address, loop: loop, group: group)) })
}

enum SpokenVersion: Sendable {
    case http1, http2
}

struct Peer: Sendable {
    let address: SocketAddress
    let loop: EventLoop
    let group: EventLoopGroup

    func connect(timeout: Int64 = 30_000) async throws -> SocketStream {
        let deadline = Deadline.now.adding(milliseconds: timeout)
        let stream = try await SocketStream.connect(to: [address], on: loop, deadline: deadline)
        stream.setDeadline(deadline)
        return stream
    }

    /// Connects and sends a text.
    func send(_ text: String) async throws -> SocketStream {
        let stream = try await connect()
        try await stream.write(Array(text.utf8))
        return stream
    }

    /// Sends the pieces one write each, half-closes by default, and reads to the end.
    func exchange(_ pieces: [String], halfClose: Bool = true) async throws -> String {
        let stream = try await connect()
        defer { stream.close() }
        for piece in pieces {
            guard (try? await stream.write(Array(piece.utf8))) != nil else { break }
            await Task.yield()
        }
        if halfClose { stream.shutdownWrite() }
        return await readAll(stream)
    }

    func readAll(_ stream: SocketStream) async -> String {
        String(decoding: await Loops.readAll(stream), as: UTF8.self)
    }
}

/// Tells what it was asked: `METHOD path?query body`; `/stream` in chunks, `/cut` a stream that breaks off, `/204`.
struct EchoHandler: RequestHandler {
    func respond(to request: ServerRequest) async -> ServerResponse {
        switch request.path {
        case "/stream":
            return ServerResponse(
                status: .ok,
                body: .stream { writer in
                    for part in ["one ", "two ", "three"] { try await writer.write(Array(part.utf8)) }
                })
        case "/cut":
            return ServerResponse(
                status: .ok,
                body: .stream { writer in
                    try await writer.write(Array("part".utf8))
                    throw StreamError.aborted
                })
        case "/204":
            return ServerResponse(status: .noContent, body: .bytes(Array("no content may follow".utf8)))
        case "/client":
            return ServerResponse(status: .ok, body: .bytes(Array("\(request.client)".utf8)))
        default:
            let text =
                "\(request.method.rawValue) \(request.head.path ?? "") \(String(decoding: request.body, as: UTF8.self))"
            return ServerResponse(status: .ok, fields: [.contentType: "text/plain"], body: .bytes(Array(text.utf8)))
        }
    }
}

/// What it answers with this text.
func echoed(_ text: String, keepAlive: Bool = true, extra: String = "") -> String {
    "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/plain\r\n"
        + "Content-Length: \(text.utf8.count)\r\n\(extra)\(keepAlive ? "" : "Connection: close\r\n")\r\n\(text)"
}

/// One whole response with a length, however few bytes each read brings.
func readResponse(from stream: SocketStream) async throws -> String {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = try await stream.read(into: &buffer, at: 0)
        guard count > 0 else { throw StreamError.aborted }
        all.append(contentsOf: buffer[..<count])
        let text = String(decoding: all, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let field = text[..<end.lowerBound].firstRange(of: "Content-Length: ")
        else { continue }
        let length = Int(text[field.upperBound..<end.lowerBound].prefix { $0.isNumber }) ?? 0
        if text[end.upperBound...].utf8.count >= length { return text }
    }
}
