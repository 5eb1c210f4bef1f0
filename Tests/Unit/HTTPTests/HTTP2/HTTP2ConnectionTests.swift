import HTTP
import HTTPTypes
import Sockets
import Testing

/// Requests and responses side by side, both windows, and how connections end.
struct HTTP2ConnectionTests {
    @Test func requestReachesTheHandlerAsByHTTP1() async throws {
        try await withHTTP2Client { client, _ in
            let fields = [
                ("cookie", "a=1"), ("x-test", "one"), ("cookie", "b=2"), ("x-test", "two"), ("cookie", "c=3"),
            ]
            try await client.send(
                H2.headers(1, H2.request("POST", "/p?q=1", fields), ends: false) + H2.data(1, "one ")
                    + H2.data(1, "two", ends: true))
            _ = await client.next { $0.flags & H2.endStream != 0 && $0.stream == 1 }
            #expect(
                client.content(of: 1)
                    == "POST /p?q=1 localhost\nx-test: one\nx-test: two\ncookie: a=1; b=2; c=3\n7 one two")
            #expect(client.status(of: 1) == 200)
        }
    }

    @Test func responsesWithoutContentEndWithTheirFields() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.headers(1, H2.request("HEAD")) + H2.get(3, "/204"))
            await client.finish(1, 3)
            #expect(await client.settle())
            for stream in [1, 3] as [UInt32] {
                let frames = client.frames.filter { $0.stream == stream }
                #expect(frames.map(\.kind) == [H2.Kind.headers.rawValue])
                #expect(frames.allSatisfy { $0.flags & H2.endStream != 0 })
            }
            #expect(client.status(of: 3) == 204)
        }
    }

    @Test func streamedResponseEndsAndATruncatedOneIsReset() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.get(1, "/stream") + H2.get(3, "/cut"))
            _ = await client.next(.resetStream, stream: 3)
            #expect(await client.settle())
            #expect(client.content(of: 1) == "one two three")
            #expect(client.resets(of: 3) == [2])
        }
    }

    @Test func clientThatExpectsItIsToldToContinue() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.post(1, [("expect", "100-continue")]))
            let first = try #require(await client.next(.headers, stream: 1))
            #expect(H2.status(of: first.payload) == 100)
            #expect(first.flags & H2.endStream == 0)
            try await client.send(H2.data(1, "abc", ends: true))
            #expect(await client.next(.data, stream: 1) != nil)
            #expect(client.status(of: 1) == 200)
        }
    }

    /// RFC 9110 §9.3.2: by whomever a HEAD is answered.
    @Test(arguments: [
        [(":method", "HEAD"), (":scheme", "https"), (":path", "/")],
        [(":method", "HEAD"), (":scheme", "https"), (":path", "/"), (":authority", "x"), ("expect", "else")],
        [(":method", "HEAD"), (":scheme", "https"), (":path", "/" + String(repeating: "a", count: 20_000))],
    ])
    func refusedHeadGetsNoContent(fields: [(String, String)]) async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.headers(1, fields))
            let answer = try #require(await client.next(.headers, stream: 1))
            #expect(H2.status(of: answer.payload) ?? 0 >= 400)
            #expect(answer.flags & H2.endStream != 0)
            #expect(await client.settle())
            #expect(client.content(of: 1) == "" && client.resets(of: 1).isEmpty)
        }
    }

    @Test func slowHandlerDoesNotDelayOthers() async throws {
        let gate = HandlerGate()
        try await withHTTP2Client(handler: gate) { client, _ in
            try await client.send(H2.get(1, "/slow") + H2.get(3, "/quick"))
            #expect(await client.next(.data, stream: 3) != nil)
            #expect(client.content(of: 1) == "")
            gate.open()
            #expect(await client.next(.data, stream: 1) != nil)
        }
    }

    /// RFC 9113 §8.1: the answer is read first, the request need not be finished.
    @Test func earlyAnswerComesBeforeTheReset() async throws {
        let configuration = HTTPServerConfiguration { $0.timeouts.linger = 50 }
        try await withHTTP2Client(configuration: configuration) { client, _ in
            try await client.send(H2.post(1, [("content-length", "100000")]) + H2.data(1, "a"))
            _ = await client.next(.resetStream, stream: 1)
            #expect(client.status(of: 1) == 413)
            #expect(client.resets(of: 1) == [0])
            // What was on its way is not an error.
            try await client.send(H2.data(1, "b", ends: true))
            #expect(await client.settle())
        }
    }

    @Test func contentBeyondTheWindowWaitsForIt() async throws {
        try await withHTTP2Client(settings: [(1, 0), (4, 10)]) { client, _ in
            try await client.send(H2.get(1, "/large"))
            #expect(await client.next(.data, stream: 1)?.payload.count == 10)
            #expect(await client.settle())
            #expect(client.content(of: 1).utf8.count == 10)
            // Others are answered meanwhile, however much of this one waits.
            try await client.send(H2.headers(3, H2.request("HEAD")) + H2.windowUpdate(1, 5))
            await client.finish(3)
            #expect(await client.settle())
            #expect(client.content(of: 1).utf8.count == 15)
            #expect(client.status(of: 3) == 200)
            // Windows may become negative (§6.9.2).
            try await client.send(H2.settings([(4, 0)]) + H2.windowUpdate(1, 10))
            #expect(await client.settle())
            #expect(client.content(of: 1).utf8.count == 15)
            try await client.send(H2.windowUpdate(1, 300_000) + H2.windowUpdate(0, 300_000))
            _ = await client.next { $0.stream == 1 && $0.flags & H2.endStream != 0 }
            #expect(client.content(of: 1).utf8.count == 200_000)
        }
    }

    @Test func responsesShareTheConnection() async throws {
        try await withHTTP2Client(settings: [(1, 0), (4, 1 << 20)]) { client, _ in
            try await client.send(H2.windowUpdate(0, 1 << 20) + H2.get(1, "/large") + H2.get(3, "/large"))
            _ = await client.next { $0.stream == 3 && $0.flags & H2.endStream != 0 }
            let order = client.frames.filter { $0.kind == H2.Kind.data.rawValue }.map(\.stream)
            let lastOfFirst = try #require(order.lastIndex(of: 1))
            #expect(order[..<lastOfFirst].filter { $0 == 3 }.count > 5, "\(order)")
        }
    }

    /// Content that handlers hold bounds what the connection may send, and comes back when they have answered.
    @Test func connectionWindowIsWhatHandlersHold() async throws {
        let gate = HandlerGate()
        try await withHTTP2Client(handler: gate) { client, _ in
            _ = await client.next(.windowUpdate, stream: 0)
            let window = 65_535 + Int(client.frames.first { $0.kind == 8 }?.word(at: 0) ?? 0)
            #expect(window == 1 << 20)
            try await client.send(H2.settingsAck)
            // Sixteen bodies of 65,536 bytes are exactly 2^20.
            for index in 0..<16 as Range<UInt32> {
                try await client.send(H2.post(index * 2 + 1))
                for part in 0..<4 { try await client.send(H2.data(index * 2 + 1, count: 16_384, ends: part == 3)) }
            }
            #expect(await client.settle())
            #expect(gate.started == 16)
            #expect(!client.frames.contains { $0.kind == 8 && $0.stream == 0 && $0.word(at: 0) != window - 65_535 })
            gate.open()
            #expect(await client.next { $0.kind == 8 && $0.stream == 0 } != nil)
            #expect(await client.settle())
            let returned = client.frames.filter { $0.kind == 8 && $0.stream == 0 }.dropFirst()
            #expect(returned.reduce(0) { $0 + Int($1.word(at: 0)) } >= 1 << 19)
        }
    }

    @Test func drainFinishesWhatIsInFlight() async throws {
        let gate = HandlerGate()
        try await withHTTP2Client(handler: gate) { client, peer in
            try await client.send(H2.get(1))
            #expect(await client.settle())
            peer.group.beginDrain()
            // The first says only that the end is near (RFC 9113 §6.8) …
            let notice = try #require(await client.next(.goAway))
            #expect(notice.word(at: 0) == 0x7fff_ffff)
            #expect(notice.word(at: 4) == 0)
            // … so what crossed it is answered,
            let ping = try #require(await client.next(.ping))
            try await client.send(H2.get(3) + H2.ping(ping.payload, flags: H2.acknowledge))
            let last = try #require(await client.next(.goAway))
            #expect(last.word(at: 0) == 3)
            // and what comes behind the last is not.
            try await client.send(H2.get(5))
            gate.open()
            await client.readToEnd()
            #expect(client.status(of: 1) == 200)
            #expect(client.status(of: 3) == 200)
            #expect(client.status(of: 5) == nil)
        }
    }

    @Test func drainEndsAnIdleConnection() async throws {
        try await withHTTP2Client { client, peer in
            #expect(await client.settle())
            peer.group.beginDrain()
            let ping = try #require(await client.next(.ping))
            try await client.send(H2.ping(ping.payload, flags: H2.acknowledge))
            await client.readToEnd()
            #expect(client.goAway?.word(at: 4) == 0)
        }
    }

    @Test func drainDoesNotWaitForAClientThatSaysNothing() async throws {
        try await withHTTP2Client { client, peer in
            #expect(await client.settle())
            peer.group.beginDrain()
            await client.readToEnd()
            #expect(client.frames.filter { $0.kind == H2.Kind.goAway.rawValue }.count == 2)
        }
    }

    @Test func goAwayOfTheClientEndsTheConnectionWithItsLastAnswer() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.get(1) + H2.frame(.goAway, [0, 0, 0, 0, 0, 0, 0, 0]))
            await client.readToEnd()
            #expect(client.status(of: 1) == 200)
        }
    }

    @Test func requestsAreAnsweredToAClientThatHasClosedItsSide() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.get(1) + H2.get(3, "/stream") + H2.post(5))
            client.stream.shutdownWrite()
            await client.readToEnd()
            #expect(client.status(of: 1) == 200)
            #expect(client.content(of: 3) == "one two three")
            #expect(client.status(of: 5) == nil)
        }
    }

    /// A handler continues when its client is gone, and the server with it.
    @Test func handlerOutlivesItsConnection() async throws {
        let gate = HandlerGate()
        try await withHTTP2Server(handler: gate) { peer in
            let client = try await RawHTTP2.open(peer)
            try await client.send(H2.get(1))
            #expect(await client.settle())
            client.close()
            gate.open()
            let other = try await RawHTTP2.open(peer)
            try await other.send(H2.get(1))
            #expect(await other.next(.data, stream: 1) != nil)
            other.close()
        }
    }

    private final class Immediate: ImmediateResponder {
        func respond(
            to head: borrowing RequestHead, in bytes: Span<UInt8>, peer: IPAddress, now: Int64, date: [UInt8],
            into output: inout [UInt8]
        ) -> Bool {
            guard head.path.string(in: bytes) == "/now", head.keepAlive, head.minorVersion == 1 else { return false }
            output.append(contentsOf: "HTTP/1.1 204 No Content\r\nX-Answer: at once\r\nX-Empty: \r\nDate: ".utf8)
            output.append(contentsOf: date)
            output.append(contentsOf: "\r\n\r\n".utf8)
            return true
        }
    }

    @Test func immediateResponderAnswersBothVersions() async throws {
        try await withHTTP2Client(immediate: { Immediate() }) { client, _ in
            // Nothing of the greeting is left to be written: then nothing is answered at once.
            #expect(await client.settle())
            try await client.send(H2.get(1, "/now") + H2.get(3, "/later") + H2.get(5, "/now"))
            _ = await client.next { $0.stream == 3 && $0.flags & H2.endStream != 0 }
            #expect(await client.settle())
            #expect(client.status(of: 1) == 204)
            #expect(client.status(of: 3) == 200)
            let frames = client.frames.filter { $0.stream == 1 }
            #expect(frames.map(\.kind) == [H2.Kind.headers.rawValue])
            #expect(frames.allSatisfy { $0.flags & H2.endStream != 0 })
        }
    }
}
