import HTTPTypes
import Sockets
import Testing

@testable import HTTP

/// What the contents of all requests have together.
@Suite struct ContentBudgetTests {
    @Test func aSmallContentCostsNothingAndALargeOneIsGivenBack() {
        let budget = ContentBudget(bytes: 300_000)
        do {
            let first = ContentReservation(budget)
            #expect(first.cover(ContentBudget.free))
            #expect(budget.remaining == 300_000)
            #expect(first.cover(ContentBudget.free + 1))
            // In steps.
            #expect(budget.remaining == 300_000 - 65_536)
            #expect(first.cover(ContentBudget.free + 65_536))
            #expect(budget.remaining == 300_000 - 65_536)
            #expect(first.cover(250_000))
            let second = ContentReservation(budget)
            #expect(!second.cover(100_000))
            #expect(second.cover(1_000))
            // What was refused took nothing.
            #expect(budget.remaining == 300_000 - 250_000 + ContentBudget.free)
            first.give()
            #expect(budget.remaining == 300_000)
            #expect(second.cover(100_000))
        }
        #expect(budget.remaining == 300_000)
    }

    @Test func withoutRoomALargeContentIsA503AndASmallOneIsServed() async throws {
        let configuration = HTTPServerConfiguration(
            limits: WireLimits(body: 1_000_000), contents: ContentBudget(bytes: 300_000))
        try await withServer(configuration: configuration) { peer in
            // Half of a large one takes the room.
            let holder = try await peer.connect()
            try await holder.write(Self.request(200_000, sending: 150_000))
            while configuration.contents.remaining > 150_000 { await Task.yield() }
            let refused = try await peer.exchange([String(decoding: Self.request(180_000), as: UTF8.self)])
            #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("Retry-After: 30"), "\(refused.prefix(500))")
            let small = try await peer.exchange([String(decoding: Self.request(4_000), as: UTF8.self)])
            #expect(small.hasPrefix("HTTP/1.1 200 "), "\(small.prefix(500))")
            // The first one is served, and its room is given back.
            try await holder.write([UInt8](repeating: 0x78, count: 50_000))
            holder.shutdownWrite()
            #expect(await peer.readAll(holder).hasPrefix("HTTP/1.1 200 "))
            holder.close()
            while configuration.contents.remaining < 300_000 { await Task.yield() }
        }
    }

    @Test func aStreamOfHTTP2WithoutRoomIsA503AndTheOthersGoOn() async throws {
        let configuration = HTTPServerConfiguration(contents: ContentBudget(bytes: 100_000))
        try await withHTTP2Server(configuration: configuration) { peer in
            let client = try await RawHTTP2.open(peer)
            defer { client.close() }
            let part = { (stream: UInt32) in H2.data(stream, count: 15_000) + H2.data(stream, count: 15_000) }
            try await client.send(H2.post(1) + part(1))
            while configuration.contents.remaining > 50_000 { await Task.yield() }
            try await client.send(H2.post(3) + part(3))
            _ = await client.next(.data, stream: 3)
            #expect(client.status(of: 3) == 503)
            try await client.send(H2.data(1, "b", ends: true))
            _ = await client.next(.data, stream: 1)
            #expect(client.status(of: 1) == 200)
            // Given back, whether it was answered or given up.
            try await client.send(H2.post(5) + part(5))
            while configuration.contents.remaining > 50_000 { await Task.yield() }
            try await client.send(H2.frame(.resetStream, flags: 0, stream: 5, [0, 0, 0, 8]))
            while configuration.contents.remaining < 100_000 { await Task.yield() }
        }
    }

    private static func request(_ length: Int, sending count: Int? = nil) -> [UInt8] {
        Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n".utf8)
            + [UInt8](repeating: 0x78, count: count ?? length)
    }
}
