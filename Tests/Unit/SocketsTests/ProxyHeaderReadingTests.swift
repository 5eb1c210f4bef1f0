import Certificates
import Loops
import Sockets
import Synchronization
import Testing

/// Reading the PROXY header from a socket: its bytes and none of those behind it.
@Suite struct ProxyHeaderReadingTests {
    private static let header = Array("PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n".utf8)

    /// OpenSSL reads the descriptor itself: had one byte too many been taken, the handshake would fail.
    @Test func tlsBeginsAfterTheHeader_EvenInOneSegment() async throws {
        let folder = try TestCertificates.folder()
        let server = try TLSContext.server(
            certificate: try TestCertificates.pem("good"), privateKey: try TestCertificates.privateKey("good"))
        let client = try TLSContext.client(trusting: "\(folder)/ca.pem")
        let seen = Mutex<[String]>([])
        let answer = try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                do {
                    try await stream.readProxyHeader()
                    seen.withLock { $0 = ["\(stream.peer.ip):\(stream.peer.port)", "\(stream.socketPeer.ip)"] }
                    try await stream.startTLS(server, serverName: nil)
                } catch {
                    return stream.close()
                }
                await echo(stream)
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop), on: loop)
                // Nothing suspends between the two: the server's turn comes when both are in its socket.
                try await stream.write(Self.header)
                try await stream.startTLS(client, serverName: "apple.test")
                try await stream.write(Array("hello".utf8))
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = try await stream.read(into: &buffer, at: 0)
                return String(decoding: buffer[..<count], as: UTF8.self)
            })
        #expect(answer == "hello")
        #expect(seen.withLock { $0 } == ["203.0.113.7:56324", "127.0.0.1"])
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        var name: String
        var sent: [UInt8]
        var failure: ProxyHeaderFailure
        var testDescription: String { name }
    }

    static let failures = [
        Failure(name: "the end at once", sent: [], failure: .ended(afterBytes: false)),
        Failure(name: "the end half-way", sent: Array(header.dropLast()), failure: .ended(afterBytes: true)),
        Failure(name: "no header", sent: Array("GET / HTTP/1.1\r\n".utf8), failure: .header(.missing)),
    ]

    @Test(arguments: failures) func failure(_ test: Failure) async throws {
        let seen = Mutex<ProxyHeaderFailure?>(nil)
        try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                do throws(ProxyHeaderFailure) {
                    try await stream.readProxyHeader()
                } catch {
                    seen.withLock { $0 = error }
                }
                #expect(stream.peer == stream.socketPeer)
                stream.close()
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop), on: loop)
                try await stream.write(test.sent)
                stream.shutdownWrite()
                _ = await readAll(stream)
            })
        #expect(seen.withLock { $0 } == test.failure)
    }
}
