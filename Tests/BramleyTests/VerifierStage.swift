import Bramley
import Coding
import Crypto
import HTTP
import RelyingParty
import Sockets
import Synchronization

/// A verifier over real sockets that says whatever a test wants, and the adapter that asks it.
enum VerifierStage {
    /// What it does with one connection, after it has read a whole request.
    enum Script: Sendable {
        case answer(String)
        /// The answer, and behind it another one that nobody asked for.
        case twice(String, String)
        /// Half a word, then the end.
        case close(String)
        case silence
        /// A byte every few milliseconds, without end.
        case drip(String)
    }

    struct Seen: Sendable {
        /// Whole requests, head and content.
        var requests: [String] = []
        var connections = 0
    }

    struct StillClock: WallClock {
        func now() -> Timestamp { Timestamp(milliseconds: 1_760_000_000_500) }
    }

    static let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

    static func json(_ text: String, type: String = "Content-Type: application/json\r\n") -> String {
        "HTTP/1.1 200 OK\r\n\(type)Content-Length: \(text.utf8.count)\r\n\r\n\(text)"
    }

    static func password(_ text: String) -> Password {
        var bytes = Array(text.utf8)
        return Password(consuming: &bytes)
    }

    /// - Parameters:
    ///   - script: by the number of the connection, from 0.
    ///   - listen: sees each piece that arrives, and may change it, before it is kept.
    static func run(
        timeout: Int64 = VerifierTransport.timeout, script: @escaping @Sendable (Int) -> Script,
        listen: (@Sendable (inout [UInt8], Int) -> Void)? = nil,
        _ body: @escaping @Sendable (VerifierTransport) async -> Void
    ) async throws -> Seen {
        let group = try EventLoopGroup(count: 1)
        let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "Bramley/test")
        let sockets = try BoundSockets(address: SocketAddress(ip: .v4(0x7F00_0001), port: 0), count: 1)
        let secrets = try WebhookSecrets(parsing: secret)
        let verifier = VerifierTransport(
            url: ClientURL(isSecure: false, host: "127.0.0.1", port: sockets.address.port, target: "/verifier"),
            transport: client, secrets: { secrets }, clock: StillClock(), random: SystemRandom(), timeout: timeout)
        let record = Record()
        try await group.run { loop in
            let admission = AdmissionControl(maximum: 100, maximumPerAddress: 100)
            _ = try? Listener.start(sockets, on: loop, admission: admission)
            async let root: Void = loop.runRoot { stream in
                let number = record.seen.withLock { seen in
                    seen.connections += 1
                    return seen.connections - 1
                }
                await play(script(number), on: stream, listen: listen) { request in
                    record.seen.withLock { $0.requests.append(request) }
                }
            }
            await body(verifier)
            group.beginDrain()
            group.abort()
            await root
        }
        return record.seen.withLock { $0 }
    }

    private final class Record: Sendable {
        let seen = Mutex(Seen())
    }

    private static func play(
        _ script: Script, on stream: SocketStream, listen: (@Sendable (inout [UInt8], Int) -> Void)?,
        keep: @Sendable (String) -> Void
    ) async {
        stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
        defer { stream.close() }
        guard let request = await request(from: stream, listen) else { return }
        keep(request)
        switch script {
        case .answer(let text), .close(let text):
            try? await stream.write(Array(text.utf8))
        case .twice(let first, let second):
            try? await stream.write(Array((first + second).utf8))
        case .silence:
            var buffer = [UInt8](repeating: 0, count: 16)
            _ = try? await stream.read(into: &buffer, at: 0)
        case .drip(let head):
            try? await stream.write(Array(head.utf8))
            while (try? await stream.write([0x20])) != nil {
                guard await stream.loop.sleep(until: Deadline.now.adding(milliseconds: 5)) else { return }
            }
        }
    }

    /// A whole request; nil when the client went away before.
    private static func request(
        from stream: SocketStream, _ listen: (@Sendable (inout [UInt8], Int) -> Void)?
    ) async -> String? {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            guard let count = try? await stream.read(into: &buffer, at: 0), count > 0 else { return nil }
            listen?(&buffer, count)
            all += buffer[..<count]
            let text = String(decoding: all, as: UTF8.self)
            guard let end = text.firstRange(of: "\r\n\r\n"),
                let length = text.firstMatch(of: /Content-Length: ([0-9]+)\r\n/), let wanted = Int(length.1)
            else { continue }
            if text[end.upperBound...].utf8.count >= wanted { return text }
        }
    }
}
