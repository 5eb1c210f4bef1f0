import HTTPTypes
import LogRecording
import Loops
import Sockets
import Testing

@testable import HTTP

/// Things a peer makes us keep that were not counted, or not given back.
@Suite struct MemoryCountingTests {
    /// Regression: trailers of HTTP/1.1 were free.
    @Test func trailersOfHTTP1AreCounted() async throws {
        let gate = HandlerGate()
        let configuration = HTTPServerConfiguration()
        try await withServer(configuration: configuration, handler: gate) { peer in
            let client = try await peer.connect()
            let trailers = String(repeating: "x: y\r\n", count: 90)
            let text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\(trailers)\r\n"
            try await client.write(Array(text.utf8))
            while gate.started == 0 { await Task.yield() }
            #expect(configuration.memory.used > 0)
            gate.open()
            while configuration.memory.used > 0 { await Task.yield() }
            client.close()
        }
    }

    /// Regression: through one connection of a proxy, 16 slow uploads refused everybody else's.
    @Test func trustedProxyMaySendAsManyContentsAsRequests() async throws {
        let proxies = TrustedProxies([try #require(IPNetwork("127.0.0.0/8"))])
        try await withHTTP2Client(configuration: HTTPServerConfiguration { $0.trustedProxies = proxies }) { client, _ in
            try await client.send((0..<17).flatMap { H2.post(2 * $0 + 1) } + H2.data(33, "a", ends: true))
            await client.finish(33)
            #expect(client.status(of: 33) == 200)
        }
    }

    /// Regression: a client that kept to SETTINGS was closed for what we had no room for.
    @Test func refusalsForLackOfRoomAreNotFaults() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send((0..<16).flatMap { H2.post(2 * $0 + 1) })
            for batch in 0..<12 as Range<UInt32> {
                try await client.send((0..<100).flatMap { H2.post(2 * (16 + 100 * batch + $0) + 1) })
                #expect(await client.settle())
            }
            #expect(client.goAway == nil)
        }
    }

    /// Regression: a head lived until its answer was sent, and was counted until it was made.
    @Test func onlyTheHandlerHoldsTheHead() async {
        let handed = HandedContent(serverRequest())
        let answer = HTTP2Answer(HTTP2Stream(id: 1, request: nil), handed)
        #expect(await answer.request.answer(by: EchoHandler()).status == .ok)
        // Nothing is left in it.
        #expect(await answer.request.answer(by: EchoHandler()).status == .internalServerError)
    }

    /// Regression: after a crowd, what it had assembled its fields in stayed.
    @Test func spareStorageIsFreedWithTheBuffers() async throws {
        try await onLoop { loop, _ in
            let server = HTTPLoop(
                loop: loop, configuration: HTTPServerConfiguration(), handler: EchoHandler(), wallClock: { 0 },
                logger: .silent)
            server.http2.release(server.http2.acquire())
            #expect(server.http2.storages.count == 1)
            loop.buffers.removeAll()
            #expect(server.http2.storages.isEmpty)
        }
    }
}
