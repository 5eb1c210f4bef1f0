import Certificates
import HTTP
import HTTPEcho
import LogRecording
import Loops
import Sockets

/// http-echo's server on 127.0.0.1, for the time of `body`, which runs on the same loop.
/// - Parameter tls: what the client believes where `configuration` has a certificate.
func withEcho<Value: Sendable>(
    configuration: HTTPServerConfiguration = HTTPServerConfiguration(), tls: TLSContext? = nil,
    _ body: @escaping @Sendable (EchoPeer) async throws -> Value
) async throws -> Value {
    let sockets = try BoundSockets.local()
    let admission = AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000)
    return try await onLoop(
        servingWith: { loop in
            let server = HTTPLoop(
                loop: loop, configuration: configuration, handler: EchoHandler(), wallClock: { 1_767_225_600_000 },
                logger: .silent)
            _ = try? Listener.start(sockets, on: loop, admission: admission)
            return { await server.serve($0) }
        },
        { loop, _ in try await body(EchoPeer(address: sockets.address, loop: loop, tls: tls)) })
}

/// The same over TLS.
func withSecureEcho<Value: Sendable>(_ body: @escaping @Sendable (EchoPeer) async throws -> Value) async throws -> Value
{
    let acceptor = try TLSAcceptor(
        certificate: TestCertificates.pem("good"), privateKey: TestCertificates.privateKey("good"),
        protocols: [.http1])
    let trust = try TLSContext.client(trusting: TestCertificates.folder() + "/ca.pem")
    return try await withEcho(configuration: HTTPServerConfiguration { $0.tls = acceptor }, tls: trust, body)
}

/// The client of the server under test.
struct EchoPeer: Sendable {
    let address: SocketAddress
    let loop: EventLoop
    let tls: TLSContext?

    func connect() async throws -> SocketStream {
        let deadline = Deadline.now.adding(milliseconds: 20_000)
        let stream = try await SocketStream.connect(to: [address], on: loop, deadline: deadline)
        stream.disableNagle()
        stream.setDeadline(deadline)
        if let tls { try await stream.startTLS(tls, serverName: "apple.test") }
        return stream
    }

    /// Sends the pieces, each as a read of the server's own, and returns all that comes until the server ends the
    /// connection.
    /// - Throws: when it ends otherwise: by a reset, or not in time.
    func exchange(_ pieces: [[UInt8]], halfClose: Bool = false) async throws -> [UInt8] {
        let stream = try await connect()
        defer { stream.close() }
        for (index, piece) in pieces.enumerated() {
            if index > 0 { await letTheServerRead() }
            // The server may have refused what came before, and be gone.
            guard (try? await stream.write(piece)) != nil else { break }
        }
        if halfClose { stream.shutdownWrite() }
        return try await readAll(stream)
    }

    /// Server and client share a loop, which asks epoll between two turns: the first turn shows the server that bytes
    /// are there, the second has it read them.
    private func letTheServerRead() async {
        for _ in 0..<3 { await Task.yield() }
    }

    func readAll(_ stream: SocketStream) async throws -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = try await stream.read(into: &buffer, at: 0)
            guard count > 0 else { return all }
            all.append(contentsOf: buffer[..<count])
        }
    }
}
