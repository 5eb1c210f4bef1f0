import HTTP
import HTTPTypes
import Sockets
import Synchronization
import Testing

/// Whether a handler learns that nobody waits for its answer.
@Suite struct DepartureTests {
    /// Answers `GET` once the client has left, and others at once.
    private final class Patient: RequestHandler {
        let noticed = Mutex<[String]>([])

        func respond(to request: ServerRequest) async -> ServerResponse {
            if let departure = request.departure {
                await withCheckedContinuation { continuation in departure.onLeave { continuation.resume() } }
            }
            noticed.withLock { $0.append("\(request.method.rawValue) \(request.departure != nil)") }
            return ServerResponse(status: .ok)
        }
    }

    @Test("a client that closes its connection is noticed while its request is answered", arguments: [false, true])
    func leaves(isHalf: Bool) async throws {
        let handler = Patient()
        let noticed = try await withServer(handler: handler) { peer in
            let stream = try await peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 50))
            let before = handler.noticed.withLock { $0 }
            if isHalf { stream.shutdownWrite() } else { stream.close() }
            for _ in 0..<500 where handler.noticed.withLock({ $0.isEmpty }) {
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 10))
            }
            if isHalf {
                #expect(await peer.readAll(stream).hasPrefix("HTTP/1.1 200 "), "it may still read")
                stream.close()
            }
            return before + handler.noticed.withLock { $0 }
        }
        #expect(noticed == ["GET true"])
    }

    enum Leaving: CaseIterable {
        case reset, close, halfClose
    }

    @Test(
        "a client that resets its stream, or closes its HTTP/2 connection, is noticed too", arguments: Leaving.allCases)
    func leavesHTTP2(_ leaving: Leaving) async throws {
        let handler = Patient()
        try await withHTTP2Server(handler: handler) { peer in
            let client = try await RawHTTP2.open(peer)
            try await client.send(H2.get(1))
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 50))
            #expect(handler.noticed.withLock { $0 } == [])
            switch leaving {
            case .reset: try await client.send(H2.reset(1))
            case .close: client.close()
            case .halfClose: client.stream.shutdownWrite()
            }
            for _ in 0..<500 where handler.noticed.withLock({ $0.isEmpty }) {
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 10))
            }
            if leaving != .close { client.close() }
        }
        #expect(handler.noticed.withLock { $0 } == ["GET true"])
    }

    @Test func requestThatChangesSomethingIsNotCancelled() async throws {
        let handler = Patient()
        _ = try await withServer(handler: handler) { peer in
            try await peer.exchange(["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"])
        }
        #expect(handler.noticed.withLock { $0 } == ["POST false"])
    }
}
