import HTTP
import HTTPTypes
import LogRecording
import Loops
import Sockets
import Synchronization
import Testing

/// Who sends without a pause lets the others have their turn after 64 KiB, whatever is spoken: an honest connection waits
/// for no more than that of each.
@Suite struct TurnTests {
    enum Input: String, CaseIterable {
        case chunksOfOneByte, contentOfALength, headsAnsweredAtOnce, framesOfHTTP2

        var isHTTP2: Bool { self == .framesOfHTTP2 }

        /// More than 300,000 bytes.
        var bytes: [UInt8] {
            let post = "POST / HTTP/1.1\r\nHost: a\r\n"
            switch self {
            case .chunksOfOneByte:
                let chunks = String(repeating: "1\r\na\r\n", count: 52_000)
                return Array("\(post)Transfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n".utf8)
            case .contentOfALength:
                let content = String(repeating: "a", count: 310_000)
                return Array("\(post)Content-Length: 310000\r\n\r\n\(content)".utf8)
            case .headsAnsweredAtOnce:
                // So long that the bytes of a turn come to their end before its requests do.
                let field = String(repeating: "v", count: 7500)
                let one = "GET /now HTTP/1.1\r\nHost: a\r\nX: \(field)\r\n\r\n"
                return Array((String(repeating: one, count: 44) + "GET /end HTTP/1.1\r\nHost: a\r\n\r\n").utf8)
            case .framesOfHTTP2:
                let parts = (0..<20).flatMap { H2.data(1, count: 16_000, ends: $0 == 19) }
                return H2.preface + H2.settings() + H2.settingsAck + H2.post(1) + parts
            }
        }
    }

    /// Notes when the request has reached it.
    private final class Noting: RequestHandler {
        private struct State {
            var isQueued = false
            var isDone = false
            var turns = 0
        }

        private let state = Mutex(State())

        var isQueued: Bool { state.withLock { $0.isQueued } }
        var isDone: Bool { state.withLock { $0.isDone } }
        /// How often another task has had its turn.
        var turns: Int { state.withLock { $0.turns } }

        func begin() { state.withLock { $0.isQueued = true } }
        func countTurn() { state.withLock { $0.turns += 1 } }

        func respond(to request: ServerRequest) async -> ServerResponse {
            state.withLock { $0.isDone = true }
            return ServerResponse(status: .noContent)
        }
    }

    private final class Immediate: ImmediateResponder {
        func respond(
            to head: borrowing RequestHead, in bytes: Span<UInt8>, peer: IPAddress, now: Int64, date: [UInt8],
            into output: inout [UInt8]
        ) -> Bool {
            guard head.path.string(in: bytes) == "/now" else { return false }
            output.append(contentsOf: "HTTP/1.1 204 No Content\r\n\r\n".utf8)
            return true
        }
    }

    @Test(arguments: Input.allCases)
    func connectionsTakeTurnsEvery64KiB(input: Input) async throws {
        let sockets = try BoundSockets.local()
        let handler = Noting()
        let admission = AdmissionControl(maximum: 10, maximumPerAddress: 10)
        try await onLoop(
            servingWith: { loop in
                let server = HTTPLoop(
                    loop: loop, configuration: HTTPServerConfiguration { $0.limits.body = 1 << 20 }, handler: handler,
                    immediate: Immediate(), wallClock: { 0 }, logger: .silent)
                _ = try? Listener.start(sockets, on: loop, admission: admission)
                return { stream in
                    // Nothing is read before all of it is there.
                    while !handler.isQueued { await Task.yield() }
                    await input.isHTTP2 ? server.serveHTTP2(stream) : server.serve(stream)
                }
            },
            { loop, _ in
                let deadline = Deadline.now.adding(milliseconds: 60_000)
                let client = try await SocketStream.connect(to: [sockets.address], on: loop, deadline: deadline)
                client.setDeadline(deadline)
                try await client.write(input.bytes)
                handler.begin()
                while !handler.isDone, Deadline.now < deadline {
                    handler.countTurn()
                    await Task.yield()
                }
                client.close()
            })
        #expect(handler.isDone)
        // One that begins it, and one after each 64 KiB of 300,000 bytes.
        #expect(handler.turns >= 5)
    }
}
