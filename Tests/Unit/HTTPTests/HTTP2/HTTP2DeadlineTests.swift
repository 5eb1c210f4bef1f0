import HTTP
import Sockets
import Testing

/// Whoever is slow, or silent, is waited for as long as `ServerTimeouts` says.
struct HTTP2DeadlineTests {
    struct Silence: Sendable, CustomTestStringConvertible {
        var name: String
        var timeouts: ServerTimeouts
        var bytes: [UInt8]
        /// What the connection ends with; nil for none.
        var code: UInt32?
        var testDescription: String { name }
    }

    static let silences: [Silence] = [
        Silence(
            name: "nothing", timeouts: ServerTimeouts { $0.header = 500 }, bytes: [], code: H2.Code.settingsTimeout),
        Silence(
            name: "a preface", timeouts: ServerTimeouts { $0.header = 500 }, bytes: H2.preface,
            code: H2.Code.settingsTimeout),
        Silence(
            name: "half a frame header", timeouts: ServerTimeouts { $0.header = 500 },
            bytes: H2.preface + H2.settings() + [0, 0, 8], code: H2.Code.calm),
        Silence(
            name: "half a HEADERS", timeouts: ServerTimeouts { $0.header = 500 },
            bytes: H2.preface + H2.settings() + Array(H2.get(1).dropLast(3)), code: H2.Code.calm),
        Silence(
            name: "a block that does not end", timeouts: ServerTimeouts { $0.header = 500 },
            bytes: H2.preface + H2.settings() + H2.frame(.headers, flags: 1, stream: 1, H2.block(H2.request())),
            code: H2.Code.calm),
        Silence(
            name: "no request", timeouts: ServerTimeouts { $0.idle = 100 }, bytes: H2.preface + H2.settings(), code: 0),
        Silence(
            name: "no second request", timeouts: ServerTimeouts { $0.idle = 100 },
            bytes: H2.preface + H2.settings() + H2.get(1), code: 0),
    ]

    @Test(arguments: silences)
    func silenceEndsTheConnection(silence: Silence) async throws {
        try await withHTTP2Server(configuration: HTTPServerConfiguration { $0.timeouts = silence.timeouts }) { peer in
            let client = RawHTTP2(try await peer.connect(timeout: 10_000))
            defer { client.close() }
            try await client.send(silence.bytes)
            await client.readToEnd()
            #expect(client.goAway?.word(at: 4) == silence.code, "\(client.frames)")
        }
    }

    /// PINGs keep nothing alive that has no request.
    @Test func dripOfAHeadersFrameEndsByItsDeadline() async throws {
        try await withHTTP2Client(configuration: HTTPServerConfiguration { $0.timeouts.header = 1000 }) {
            client, peer in
            #expect(await client.settle())
            let path = "/" + String(repeating: "a", count: 4000)
            let started = Deadline.now
            for byte in H2.get(1, path) {
                guard (try? await client.send([byte])) != nil, !client.stream.peerHasClosed else { break }
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 2))
            }
            await client.readToEnd()
            #expect(client.goAway?.word(at: 4) == H2.Code.calm)
            #expect(Deadline.now < started.adding(milliseconds: 9000))
        }
    }

    @Test func contentThatDripsIsAnsweredByItsDeadline() async throws {
        try await withHTTP2Client(
            configuration: HTTPServerConfiguration {
                $0.timeouts.body = 200
                $0.timeouts.linger = 50
            }
        ) { client, peer in
            try await client.send(H2.post(1))
            for _ in 0..<20 {
                try await client.send(H2.data(1, "some more of it, a little"))
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 15))
            }
            _ = await client.next(.resetStream, stream: 1)
            #expect(client.status(of: 1) == 408)
            #expect(client.resets(of: 1) == [0])
            #expect(await client.settle())
        }
    }

    /// A window that never opens, or opens by a byte at a time.
    @Test(arguments: [false, true])
    func stalledWindowEndsTheStream(drips: Bool) async throws {
        try await withHTTP2Client(
            configuration: HTTPServerConfiguration { $0.timeouts.write = 300 }, settings: [(1, 0), (4, 0)]
        ) { client, peer in
            try await client.send(H2.get(1, "/large") + H2.get(3, "/stream"))
            for _ in 0..<10 where drips {
                try await client.send(H2.windowUpdate(1, 1))
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 10))
            }
            _ = await client.next(.resetStream, stream: 1)
            if client.resets(of: 3).isEmpty { _ = await client.next(.resetStream, stream: 3) }
            #expect(client.resets(of: 1) == [H2.Code.cancel])
            #expect(client.resets(of: 3).count == 1)
            #expect(await client.settle())
        }
    }

    /// Regression: what is refused before it is a request had no deadline of its own, and past the idle limit its
    /// connection turned its loop round and round.
    @Test func unreadRefusalEndsTheStreamThenTheConnection() async throws {
        try await withHTTP2Client(
            configuration: HTTPServerConfiguration {
                $0.timeouts.write = 100
                $0.timeouts.idle = 200
            }, settings: [(1, 0), (4, 0)]
        ) { client, _ in
            let nameless = [(":method", "GET"), (":scheme", "https"), (":path", "/")]
            try await client.send(H2.settingsAck + H2.headers(1, nameless))
            _ = await client.next(.resetStream, stream: 1)
            #expect(client.status(of: 1) == 400)
            #expect(client.resets(of: 1) == [H2.Code.cancel])
            await client.readToEnd()
            #expect(client.goAway?.word(at: 4) == 0)
        }
    }

    /// Regression: an answer to content that never came had no deadline, and held its connection for ever.
    @Test func unreadTimeoutAnswerEndsTheStream() async throws {
        try await withHTTP2Client(
            configuration: HTTPServerConfiguration {
                $0.timeouts.body = 100
                $0.timeouts.write = 100
            }, settings: [(1, 0), (4, 0)]
        ) { client, _ in
            try await client.send(H2.settingsAck + H2.post(1))
            _ = await client.next(.resetStream, stream: 1)
            #expect(client.status(of: 1) == 408)
            #expect(client.resets(of: 1) == [H2.Code.cancel])
            #expect(await client.settle())
        }
    }

    /// A client that takes its time but takes it all is served.
    @Test func slowReaderThatReadsIsServed() async throws {
        try await withHTTP2Client(
            configuration: HTTPServerConfiguration { $0.timeouts.write = 3000 }, settings: [(1, 0), (4, 0)]
        ) { client, peer in
            try await client.send(H2.windowUpdate(0, 1 << 20) + H2.get(1, "/large"))
            while client.content(of: 1).utf8.count < 200_000 {
                try await client.send(H2.windowUpdate(1, 16_000))
                guard await client.next(.data, stream: 1) != nil, client.resets(of: 1).isEmpty else { break }
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 260))
            }
            #expect(client.content(of: 1).utf8.count == 200_000)
        }
    }

    /// A socket nobody reads from: the connection ends, not only the stream.
    @Test func readerThatReadsNothingIsClosed() async throws {
        try await withHTTP2Client(
            configuration: HTTPServerConfiguration {
                $0.timeouts.write = 300
                $0.timeouts.idle = 500
            }, settings: [(1, 0), (4, 0x7fff_ffff)]
        ) { client, peer in
            try await client.send(H2.windowUpdate(0, 0x7000_0000))
            try await client.send((0..<100).flatMap { H2.get($0 * 2 + 1, "/large") })
            // Long enough for the server to give up; what the kernel has is read afterwards, and that is not all.
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 1000))
            await client.readToEnd()
            let ended = client.frames.filter { $0.flags & H2.endStream != 0 && $0.kind == H2.Kind.data.rawValue }
            #expect(ended.count < 100)
        }
    }
}
