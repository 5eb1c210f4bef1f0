import HTTP
import HTTPTypes
import Sockets
import Synchronization
import Testing

/// What is queued while a write waits for the socket, or by the write itself, is sent without another word of the peer.
struct HTTP2OutputTests {
    /// Answers with 60,000 bytes: one batch, which is not cut for its size. And counts.
    private final class Counting: RequestHandler {
        private let counter = Mutex(0)
        var count: Int { counter.withLock { $0 } }

        func respond(to request: ServerRequest) async -> ServerResponse {
            counter.withLock { $0 += 1 }
            if request.path == "/stream" { return await HTTP2Echo().respond(to: request) }
            return ServerResponse(status: .ok, body: .bytes([UInt8](repeating: 0x78, count: 60_000)))
        }
    }

    /// No deadline comes up meanwhile, which would have the server look again.
    /// And what waits, some megabytes, is less than one address may have.
    private static let patient = HTTPServerConfiguration {
        $0.timeouts.header = 60_000
        $0.timeouts.body = 60_000
        $0.memory = MemoryBudget(bytes: 1 << 28)
    }

    /// Whom nothing but the socket keeps from being sent all answers at once.
    private static func clientWithWideWindows(_ peer: Peer) async throws -> RawHTTP2 {
        let client = RawHTTP2(try await peer.connect(timeout: 15_000))
        try await client.send(H2.preface + H2.settings([(1, 0), (4, 0x7fff_ffff)]) + H2.windowUpdate(0, 0x7000_0000))
        return client
    }

    /// A client that does not read fills the kernel's buffers with some of its answers. The others wait behind the write
    /// that is stuck, and that one must take them along.
    @Test func answersQueuedBehindAFullSocketAreSent() async throws {
        let handler = Counting()
        try await withHTTP2Server(configuration: Self.patient, handler: handler) { peer in
            let client = try await Self.clientWithWideWindows(peer)
            defer { client.close() }
            let streams = (0..<120 as Range<UInt32>).map { $0 * 2 + 1 }
            for (index, stream) in streams.enumerated() {
                try await client.send(H2.get(stream))
                // One at a time: together they would be a batch that is cut, whose writer comes again anyway.
                while handler.count <= index { await Task.yield() }
            }
            for stream in streams { await client.finish(stream) }
            #expect(client.content(of: streams[119]).utf8.count == 60_000, "\(client.frames.count) frames")
        }
    }

    /// Who has closed its own side opens no more windows, but a part of an answer that waits for the socket waits for none.
    @Test func streamedAnswerBehindAFullSocketIsWholeAlsoForAClientThatHasClosedItsSide() async throws {
        let handler = Counting()
        try await withHTTP2Server(configuration: Self.patient, handler: handler) { peer in
            let client = try await Self.clientWithWideWindows(peer)
            defer { client.close() }
            for index in 0..<120 as Range<UInt32> { try await client.send(H2.get(index * 2 + 1)) }
            try await client.send(H2.get(241, "/stream"))
            client.stream.shutdownWrite()
            while handler.count < 121 { await Task.yield() }
            // Turns of the loop in which the server sees the end.
            for _ in 0..<20 { await Task.yield() }
            await client.readToEnd()
            #expect(client.content(of: 241) == "one two three")
            #expect(client.content(of: 239).utf8.count == 60_000)
        }
    }

    /// A reset that was sent closes its stream, and what it held of the connection's window comes back: nine of them are
    /// more than half of it, and the client may be waiting for just that.
    @Test func windowOfResetRequestsIsReturnedAtOnce() async throws {
        try await withHTTP2Server(configuration: Self.patient) { peer in
            let client = RawHTTP2(try await peer.connect(timeout: 15_000))
            defer { client.close() }
            try await client.send(H2.preface + H2.settings([(1, 0)]) + H2.settingsAck)
            let streams = (0..<9 as Range<UInt32>).map { $0 * 2 + 1 }
            for stream in streams {
                try await client.send(H2.post(stream, [("content-length", "65536")]))
                for _ in 0..<4 { try await client.send(H2.data(stream, count: 16_383)) }
            }
            #expect(await client.settle())
            let before = client.frames.count
            // Less content than announced (RFC 9113 §8.1.1), of all of them at once.
            try await client.send(streams.flatMap { H2.data($0, ends: true) })
            _ = await client.next { $0.kind == H2.Kind.windowUpdate.rawValue && $0.stream == 0 }
            let credit = client.frames[before...].filter { $0.kind == H2.Kind.windowUpdate.rawValue && $0.stream == 0 }
            #expect(credit.reduce(0) { $0 + Int($1.word(at: 0)) } == 9 * 4 * 16_383, "\(client.frames.suffix(10))")
        }
    }
}
