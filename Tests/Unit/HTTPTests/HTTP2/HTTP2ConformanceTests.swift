import HTTP
import Sockets
import Testing

/// Every case of the table on a connection of its own.
struct HTTP2ConformanceTests {
    @Test func everyCaseInOnePiece() async throws {
        try await withHTTP2Server { peer in
            for item in HTTP2Case.all { try await Self.run(item, peer) { try? await $0.send($1) } }
        }
    }

    @Test func everyCaseByteByByte() async throws {
        try await withHTTP2Server { peer in
            for item in HTTP2Case.all where item.whole.count < 4000 {
                try await Self.run(item, peer) { await $0.drip($1) }
            }
        }
    }

    private static func run(
        _ item: HTTP2Case, _ peer: Peer, send: (RawHTTP2, [UInt8]) async -> Void
    ) async throws {
        let client = RawHTTP2(try await peer.connect(timeout: 10_000))
        defer { client.close() }
        await send(client, item.whole)
        let label = "§\(item.section) \(item.name)"
        switch item.outcome {
        case .connectionError(let codes):
            await client.readToEnd()
            let code = client.goAway?.word(at: 4)
            #expect(codes.contains(code ?? 0), "\(label): \(code.map { "\($0)" } ?? "no GOAWAY") \(client.frames)")
        case .streamError(let stream, let code):
            _ = await client.next { $0.kind == H2.Kind.resetStream.rawValue || $0.kind == H2.Kind.goAway.rawValue }
            #expect(await client.settle(), "\(label): \(client.frames)")
            #expect(client.resets(of: stream) == [code], "\(label): \(client.frames)")
            #expect(client.status(of: stream) == nil, "\(label)")
        case .response(let stream, let status):
            _ = await client.next {
                $0.kind == H2.Kind.goAway.rawValue || $0.kind == H2.Kind.resetStream.rawValue
                    || ($0.stream == stream && $0.flags & H2.endStream != 0)
            }
            #expect(await client.settle(), "\(label): \(client.frames)")
            #expect(client.status(of: stream) == status, "\(label): \(client.frames)")
        case .ignored:
            #expect(await client.settle(), "\(label): \(client.frames)")
            #expect(!client.frames.contains { $0.stream != 0 }, "\(label): \(client.frames)")
        }
    }
}
