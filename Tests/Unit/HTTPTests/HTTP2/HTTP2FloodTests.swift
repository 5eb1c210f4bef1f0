import Gates
import HTTP
import HTTPTypes
import Sockets
import Testing

/// Frames that are harmless once and an attack a thousand times: each flood ends the connection with
/// ENHANCE_YOUR_CALM after a bounded number of them.
struct HTTP2FloodTests {
    struct Flood: Sendable, CustomTestStringConvertible {
        var name: String
        /// Sent once, before.
        var first: [UInt8] = []
        /// What is repeated; the number counts from 0.
        var unit: @Sendable (UInt32) -> [UInt8]
        /// After how many units, at most, the connection must have ended.
        var most: UInt32 = 2000

        var testDescription: String { name }
    }

    private static func stream(_ index: UInt32) -> UInt32 { index * 2 + 1 }

    static let floods: [Flood] = [
        Flood(name: "PING", unit: { _ in H2.ping() }),
        Flood(name: "PING that is an answer", unit: { _ in H2.ping(flags: H2.acknowledge) }),
        Flood(name: "SETTINGS", unit: { _ in H2.settings() }),
        Flood(name: "SETTINGS that resize the table", unit: { H2.settings([(1, $0 % 2 * 4096)]) }),
        Flood(name: "PRIORITY", unit: { H2.frame(.priority, stream: stream($0), [0, 0, 0, 0, 1]) }),
        Flood(name: "unknown frames", unit: { _ in H2.frame(0xfa, stream: 0, [1, 2, 3]) }),
        Flood(name: "WINDOW_UPDATE by one", unit: { _ in H2.windowUpdate(0, 1) }),
        Flood(
            name: "WINDOW_UPDATE by one on a stream", first: H2.post(1), unit: { _ in H2.windowUpdate(1, 1) }),
        Flood(name: "empty DATA", first: H2.post(1), unit: { _ in H2.data(1) }),
        Flood(
            name: "DATA of padding alone", first: H2.post(1),
            unit: { _ in H2.frame(.data, flags: H2.padded, stream: 1, [3, 0, 0, 0]) }),
        Flood(name: "DATA of one byte", first: H2.post(1), unit: { _ in H2.data(1, "a") }),
        Flood(name: "empty CONTINUATION", first: openBlock, unit: { _ in continuation([]) }, most: 9),
        Flood(
            name: "full CONTINUATION", first: openBlock,
            unit: { _ in continuation([UInt8](repeating: 0x82, count: 16_384)) }, most: 9),
        // CVE-2023-44487: each request is begun and reset.
        Flood(name: "rapid reset", unit: { H2.get(stream($0)) + H2.reset(stream($0)) }),
        Flood(name: "reset of what has no end", unit: { H2.post(stream($0)) + H2.reset(stream($0)) }),
        Flood(name: "RST_STREAM on what is closed", first: H2.get(1), unit: { _ in H2.reset(1) }),
        // CVE-2025-8671: it is we who are made to reset.
        Flood(name: "requests that are malformed", unit: { H2.headers(stream($0), [(":method", "GET")]) }),
        Flood(
            name: "HEADERS on a stream that was reset", first: H2.headers(1, [(":method", "GET")]),
            unit: { _ in H2.headers(1, block: [0x41, 0x00]) }),
        Flood(name: "requests without a field", unit: { H2.headers(stream($0), block: []) }),
        Flood(
            name: "content that is not as announced",
            unit: { H2.post(stream($0), [("content-length", "1")]) + H2.data(stream($0), "ab", ends: true) }),
        Flood(
            name: "windows that overflow", unit: { H2.post(stream($0)) + H2.windowUpdate(stream($0), 0x7fff_ffff) }),
        Flood(
            name: "trailers that do not end",
            unit: { H2.post(stream($0)) + H2.headers(stream($0), [("a", "b")], ends: false) }
        ),
    ]

    private static let openBlock = H2.frame(.headers, flags: H2.endStream, stream: 1, H2.block(H2.request()))

    private static func continuation(_ block: [UInt8]) -> [UInt8] { H2.frame(.continuation, stream: 1, block) }

    @Test(arguments: floods)
    func floodEndsWithCalm(flood: Flood) async throws {
        try await withHTTP2Client { client, _ in
            try await client.send(H2.settingsAck + flood.first)
            if flood.first != Self.openBlock { _ = await client.settle() }
            // In batches, each read to its end, so that the socket is no limit.
            var sent: UInt32 = 0
            while sent < flood.most, client.goAway == nil {
                let count = min(50, flood.most - sent)
                let batch = (sent..<sent + count).flatMap(flood.unit)
                guard (try? await client.send(batch)) != nil else { break }
                sent += count
                if flood.first != Self.openBlock { _ = await client.settle() }
            }
            if client.goAway == nil { await client.readToEnd() }
            #expect(client.goAway?.word(at: 4) == H2.Code.calm, "after \(sent): \(client.frames.suffix(5))")
        }
    }

    /// What a browser that closes pages or a proxy with impatient clients does is not an attack.
    @Test func resetsAmongRequestsAreNotAFlood() async throws {
        try await withHTTP2Client { client, _ in
            var stream: UInt32 = 1
            for _ in 0..<1500 {
                try await client.send(
                    H2.get(stream) + H2.post(stream + 2) + H2.reset(stream + 2) + H2.windowUpdate(0, 1))
                _ = await client.next(.data, stream: stream)
                stream += 4
            }
            #expect(await client.settle())
            #expect(client.goAway == nil)
        }
    }

    /// A client that resets its requests has not more handlers at work than one that waits.
    @Test func handlersOfStreamsThatAreGoneCount() async throws {
        let gate = HandlerGate()
        try await withHTTP2Client(handler: gate) { client, _ in
            var bytes = H2.settingsAck
            for index in 0..<300 as Range<UInt32> { bytes += H2.get(Self.stream(index)) + H2.reset(Self.stream(index)) }
            try await client.send(bytes)
            #expect(await client.settle())
            #expect(gate.started == 128)
            gate.open()
            try await client.send(H2.get(1001))
            #expect(await client.next(.data, stream: 1001) != nil)
        }
    }

    /// An entry of the compression table is sent once and named thousands of times.
    @Test func compressionBombIsRefused() async throws {
        try await withHTTP2Client { client, _ in
            let value = String(repeating: "v", count: 4000)
            try await client.send(
                H2.settingsAck + H2.headers(1, block: H2.block(H2.request()) + H2.indexed("bomb", value)))
            // 0xbe names the entry just made: sixteen thousand times four thousand bytes.
            let bomb = [UInt8](repeating: 0xbe, count: 16_000)
            try await client.send(H2.headers(3, block: H2.block(H2.request()) + bomb))
            await client.finish(1, 3)
            #expect(client.status(of: 1) == 200)
            #expect(client.status(of: 3) == 431)
            #expect(await client.settle())
        }
    }

    /// Who does not read its answers is not given room for more of them.
    @Test(arguments: ["PING", "requests"])
    func unreadAnswersAreBounded(kind: String) async throws {
        try await withHTTP2Client(settings: [(1, 0), (4, 0)]) { client, _ in
            try await client.send(H2.settingsAck)
            var sent: UInt32 = 0
            while sent < 4000 {
                let bytes = (sent..<sent + 20).flatMap { index in
                    kind == "PING" ? H2.ping() : H2.get(Self.stream(index), "/large") + H2.reset(Self.stream(index))
                }
                guard (try? await client.send(bytes)) != nil, !client.stream.peerHasClosed else { break }
                sent += 20
                await Task.yield()
            }
            await client.readToEnd()
            #expect(client.goAway?.word(at: 4) == H2.Code.calm)
            // Of what was sent: how much of it the kernel keeps is the kernel's.
            #expect(client.frames.count < 2000, "of \(sent)")
        }
    }
}

/// Answers nobody before it is opened, but for `/quick`, and counts who asks.
final class HandlerGate: RequestHandler {
    private let gate = Gate()
    private let asked = Counter()

    init() { gate.shut() }

    var started: Int { asked.count }

    func open() { gate.open() }

    func respond(to request: ServerRequest) async -> ServerResponse {
        asked.add()
        if request.path != "/quick" { await gate.pass() }
        return ServerResponse(status: .ok, body: .bytes(Array(request.path.utf8)))
    }
}
