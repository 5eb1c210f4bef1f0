import Glibc
import HTTP
import HTTPTypes
import Synchronization
import Testing

@testable import Sockets

/// Clients that take their time, take too much, or go in the middle, over real sockets. The limits here are short; each
/// test waits for what the server does, not for a time to pass.
@Suite struct HostileClientTests {
    /// Answers `/big/N` with N bytes, `/chunks/N` with N chunks of a KiB; counts.
    private final class Handler: RequestHandler {
        private let counter = Mutex(0)
        var count: Int { counter.withLock { $0 } }

        func respond(to request: ServerRequest) async -> ServerResponse {
            counter.withLock { $0 += 1 }
            let parts = request.path.split(separator: "/")
            guard parts.count == 2, let size = Int(parts[1]) else {
                return ServerResponse(status: .ok, body: .bytes(request.body))
            }
            if parts[0] == "chunks" {
                return ServerResponse(
                    status: .ok,
                    body: .stream { writer in
                        for _ in 0..<size { try await writer.write([UInt8](repeating: 0x61, count: 1024)) }
                    })
            }
            return ServerResponse(status: .ok, body: .bytes([UInt8](repeating: 0x61, count: size)))
        }
    }

    private static func admission(_ maximum: Int = 1000, perAddress: Int = 1000) -> AdmissionControl {
        AdmissionControl(maximum: maximum, maximumPerAddress: perAddress)
    }

    private static func configuration(_ timeouts: ServerTimeouts) -> HTTPServerConfiguration {
        HTTPServerConfiguration {
            $0.limits.body = 1_000_000
            $0.timeouts = timeouts
        }
    }

    /// The time that a peer of a loop spent until the server had closed all connections.
    private static func waitUntilEmpty(_ admission: AdmissionControl, _ peer: Peer) async {
        while admission.total > 0 {
            guard await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 1)) else { return }
        }
    }

    /// Leaves the buffer of what this client has not read as small as it is: on a busy machine the kernel lets it grow
    /// until it holds a whole answer, and then there is nothing left that a server could throw away.
    private static func keepWindowSmall(_ stream: SocketStream) {
        var size: Int32 = 65_536
        // Invariant: the kernel reads four bytes.
        let result = unsafe setsockopt(
            stream.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        #expect(result == 0)
    }

    // MARK: Slow readers

    enum Reading: Sendable, CaseIterable {
        case nothing, littleByLittle
    }

    /// More than the kernel's buffers hold, to a peer that takes none of it, or 64 bytes every 4 ms.
    @Test(arguments: ["/big/16777216", "/chunks/16384"], Reading.allCases)
    func aReaderThatStallsIsClosed(path: String, reading: Reading) async throws {
        let admission = Self.admission()
        try await withServer(
            configuration: Self.configuration(ServerTimeouts { $0.write = 120 }), handler: Handler(),
            admission: admission
        ) { peer in
            let stream = try await peer.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
            while admission.total == 0 { await Task.yield() }
            var buffer = [UInt8](repeating: 0, count: 64)
            while admission.total > 0 {
                if reading == .littleByLittle { _ = try? stream.tryReading(into: &buffer, at: 0) }
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 4))
            }
            stream.close()
        }
        #expect(admission.total == 0)
    }

    /// Every chunk would be taken in time, and yet it would go on for as long as there are chunks.
    @Test func readerOfEachChunkAtTheLastMomentRunsOutOfTime() {
        var patience = WritePatience(20_000)
        var chunks = 0
        // A KiB earns an eighth of a second, and took ten.
        while patience.left >= 10_000, chunks < 1000 {
            patience.record(bytes: 1024, waited: 10_000)
            chunks += 1
        }
        #expect(chunks == 2)
    }

    @Test(arguments: [(8192, 1000), (65_536, 8000), (1_000_000, 20_000)])
    func aReaderAtTheLeastRateKeepsItsTime(bytes: Int, waited: Int64) {
        var patience = WritePatience(20_000)
        for _ in 0..<1000 { patience.record(bytes: bytes, waited: waited) }
        #expect(patience.left == 20_000)
    }

    /// Bytes that went into the kernel's buffers at once give no credit for later.
    @Test func patienceDoesNotGrow() {
        var patience = WritePatience(20_000)
        for _ in 0..<1000 { patience.record(bytes: 1_000_000, waited: 0) }
        #expect(patience.left == 20_000)
        patience.record(bytes: 0, waited: 20_000)
        #expect(patience.left == 0)
    }

    /// The other requests wait in the client's kernel: unread answers stop the reading.
    @Test func aHundredThousandPipelinedRequestsWithoutReadingAreNotAnswered() async throws {
        let admission = Self.admission()
        let handler = Handler()
        let count = 100_000
        try await withServer(
            configuration: Self.configuration(ServerTimeouts { $0.write = 150 }), handler: handler, admission: admission
        ) { peer in
            let stream = try await peer.connect()
            let hundred = String(repeating: "GET /big/16384 HTTP/1.1\r\nHost: x\r\n\r\n", count: 100)
            let bytes = Array(hundred.utf8)
            for _ in 0..<(count / 100) {
                guard (try? await stream.write(bytes)) != nil else { break }
            }
            await Self.waitUntilEmpty(admission, peer)
            stream.close()
        }
        // What both kernels buffer, 4 and 6 MiB at most, and no more than one turn beyond.
        #expect(handler.count * 16_384 < 24 << 20)
        #expect(handler.count >= 16)
    }

    /// The same client, patient: each gets its answer.
    @Test func aHundredThousandPipelinedRequestsAreAnswered_WhenTheyAreRead() async throws {
        let handler = Handler()
        let count = 100_000
        let received = try await withServer(handler: handler) { peer in
            let stream = try await peer.connect(timeout: 120_000)
            let bytes = Array(String(repeating: "GET /big/0 HTTP/1.1\r\nHost: x\r\n\r\n", count: 100).utf8)
            async let answers = peer.readAll(stream)
            for _ in 0..<(count / 100) { try await stream.write(bytes) }
            stream.shutdownWrite()
            return await answers.utf8.count
        }
        #expect(handler.count == count)
        #expect(
            received == count
                * "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n".utf8.count)
    }

    /// The answer is in the kernel's buffers, so that the connection is idle to us, or closed for our part: its peer, who
    /// takes none of it, sees a reset, and not the rest of it in an hour.
    @Test(arguments: [false, true]) func unreadAnswerIsDiscarded(closes: Bool) async throws {
        let admission = Self.admission()
        let timeouts = ServerTimeouts {
            if closes {
                $0.write = 150
                $0.linger = 20
            } else {
                $0.idle = 60
                $0.parkAfter = 5
            }
        }
        let received = try await withServer(
            configuration: Self.configuration(timeouts), handler: Handler(), admission: admission
        ) { peer in
            let stream = try await peer.connect()
            Self.keepWindowSmall(stream)
            // More than our window, less than both buffers.
            let end = closes ? "Connection: close\r\n\r\n" : "\r\n"
            try await stream.write(Array("GET /big/1000000 HTTP/1.1\r\nHost: x\r\n\(end)".utf8))
            while admission.total == 0 { await Task.yield() }
            await Self.waitUntilEmpty(admission, peer)
            return await peer.readAll(stream).utf8.count
        }
        #expect(received < 1_000_000)
    }

    /// Silent because it reads: it gets all of it, though that takes longer than `linger`.
    @Test func slowReaderGetsTheWholeAnswer() async throws {
        let received = try await withServer(
            configuration: Self.configuration(
                ServerTimeouts {
                    $0.linger = 20
                    $0.lingerTotal = 40
                }), handler: Handler()
        ) { peer in
            let stream = try await peer.send("GET /big/1000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 200))
            return await peer.readAll(stream).utf8.count
        }
        #expect(received > 1_000_000)
    }

    // MARK: Early answers

    /// Ten megabytes are under way when the refusal comes: a reset would take it away.
    @Test(arguments: ["Content-Length: 10000000", "Transfer-Encoding: chunked"])
    func refusalCanBeRead_WhileTheClientIsStillSending(framing: String) async throws {
        let answer = try await withServer(configuration: Self.configuration(ServerTimeouts())) { peer in
            let stream = try await peer.connect()
            let head = "POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n"
            var piece = [UInt8](repeating: 0x61, count: 100_000)
            if framing.hasPrefix("T") { piece = Array("186a0\r\n".utf8) + piece + Array("\r\n".utf8) }
            try await stream.write(Array(head.utf8))
            // As many clients do: all of it, then a look at the answer.
            for _ in 0..<100 { try await stream.write(piece) }
            return await peer.readAll(stream)
        }
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
        #expect(answer.contains("Connection: close\r\n"))
    }

    struct Linger: Sendable, CustomTestStringConvertible {
        var name: String
        var timeouts: ServerTimeouts
        /// Milliseconds between two bytes; nil sends none.
        var interval: Int64?
        var testDescription: String { name }
    }

    @Test(arguments: [
        Linger(
            name: "silence",
            timeouts: ServerTimeouts {
                $0.linger = 40
                $0.lingerTotal = 60_000
            }, interval: nil),
        Linger(
            name: "a drip",
            timeouts: ServerTimeouts {
                $0.linger = 60_000
                $0.lingerTotal = 60
            }, interval: 4),
    ])
    func lingeringEnds(_ test: Linger) async throws {
        let admission = Self.admission()
        try await withServer(configuration: Self.configuration(test.timeouts), admission: admission) { peer in
            let stream = try await peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n")
            while admission.total == 0 { await Task.yield() }
            while admission.total > 0 {
                if test.interval != nil { try? await stream.write([0x61]) }
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: test.interval ?? 4))
            }
            stream.close()
        }
        #expect(admission.total == 0)
    }

    /// Who sends as fast as the loop can read has no more of it than others.
    @Test func lingeringDoesNotDelayOthers() async throws {
        let answers = try await withServer(configuration: Self.configuration(ServerTimeouts { $0.lingerTotal = 1000 }))
        {
            peer in
            let flood = try await peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n")
            async let flooding: Void = {
                let piece = [UInt8](repeating: 0x61, count: 1 << 20)
                while (try? await flood.write(piece)) != nil {}
            }()
            var answers = 0
            for _ in 0..<20 {
                answers += try await peer.exchange(["GET / HTTP/1.1\r\nHost: x\r\n\r\n"]).isEmpty ? 0 : 1
            }
            flood.close()
            await flooding
            return answers
        }
        #expect(answers == 20)
    }

    // MARK: Going away

    /// Closing with bytes unread is a reset: the server meets ECONNRESET or EPIPE, wherever it is.
    @Test(arguments: ["/big/8000000", "/chunks/8000", "/big/100"])
    func resetDuringAResponseEndsOnlyThatConnection(path: String) async throws {
        let admission = Self.admission()
        let answer = try await withServer(handler: Handler(), admission: admission) { peer in
            for reads in [0, 1, 100_000] {
                let stream = try await peer.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                try await stream.waitUntilReadable()
                var buffer = [UInt8](repeating: 0, count: max(reads, 1))
                if reads > 0 { _ = try await stream.read(into: &buffer, at: 0) }
                stream.close()
            }
            await Self.waitUntilEmpty(admission, peer)
            return try await peer.exchange(["GET /big/5 HTTP/1.1\r\nHost: x\r\n\r\n"])
        }
        #expect(answer.hasSuffix("\r\n\r\naaaaa"))
    }

    // MARK: Crowds

    /// What a connection that waits has sent.
    enum Waiting: Sendable, CaseIterable {
        case nothing, halfAHead, aWholeRequest

        var bytes: [UInt8] {
            switch self {
            case .nothing: []
            case .halfAHead: Array("GET / HTTP/1.1\r\nHo".utf8)
            case .aWholeRequest: Array("GET /big/1 HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
            }
        }
    }

    /// Many more connections that only wait than there may be, and one after the other a client with a request.
    @Test(arguments: Waiting.allCases) func idleConnectionsDoNotLockOthersOut(_ waiting: Waiting) async throws {
        let admission = Self.admission(64)
        let answers = try await withServer(
            configuration: Self.configuration(ServerTimeouts { $0.parkAfter = 1 }), handler: Handler(),
            admission: admission
        ) { peer in
            var crowd: [SocketStream] = []
            var answers = 0
            for _ in 0..<20 {
                for _ in 0..<16 {
                    let stream = try await peer.connect()
                    try? await stream.write(waiting.bytes)
                    crowd.append(stream)
                }
                let answer = try await peer.exchange(["GET /big/5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"])
                answers += answer.hasSuffix("aaaaa") ? 1 : 0
            }
            for stream in crowd { stream.close() }
            return answers
        }
        #expect(answers == 20)
        #expect(admission.tally.shed > 200)
        #expect(admission.tally.refused == 0)
    }

    /// A request that has begun to be answered, or whose content is coming, is not given up for another.
    @Test func requestsInFlightAreNeverShed() async throws {
        let admission = Self.admission(16)
        let (answers, refused) = try await withServer(
            configuration: Self.configuration(ServerTimeouts { $0.parkAfter = 1 }), admission: admission
        ) { peer in
            var streams: [SocketStream] = []
            for _ in 0..<16 {
                let stream = try await peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
                streams.append(stream)
                while admission.total < streams.count { await Task.yield() }
            }
            var refused = 0
            for _ in 0..<10 {
                refused += try await peer.exchange(["GET / HTTP/1.1\r\nHost: x\r\n\r\n"]).isEmpty ? 1 : 0
            }
            var answers = 0
            for stream in streams {
                try await stream.write([0x62])
                stream.shutdownWrite()
                answers += await peer.readAll(stream).hasSuffix("POST / ab") ? 1 : 0
            }
            return (answers, refused)
        }
        #expect(answers == 16)
        #expect(refused == 10)
        #expect(admission.tally.refused == 10)
        #expect(admission.tally.shed == 0)
    }
}
