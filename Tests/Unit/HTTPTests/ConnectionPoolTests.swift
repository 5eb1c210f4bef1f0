import Loops
import Sockets
import Testing

@testable import HTTP

@Suite struct ConnectionPoolTests {
    private final class Held {
        weak var stream: SocketStream?
    }

    @Test("a connection that has ended leaves nothing behind, though its host is never asked again")
    func ended() async throws {
        try await onLoop { loop, _ in
            let (server, pool, held) = (try listen(on: loop), ConnectionPool(loop: loop), Held())
            func connect(_ host: String) async throws -> SocketStream {
                let stream = try await SocketStream.connect(
                    to: [server], on: loop, deadline: Deadline.now.adding(milliseconds: 120_000))
                pool.keep(
                    stream,
                    for: ConnectionPool.Origin(isSecure: true, host: host, port: 443, proxy: nil, reach: .publicOnly))
                return stream
            }
            func end() async throws {
                let stream = try await connect("a.example")
                held.stream = stream
                stream.close()
            }
            try await end()
            #expect(held.stream != nil)
            let other = try await connect("b.example")
            #expect(held.stream == nil && !other.hasEnded)
        }
    }
}
