import HTTPTypes
import Sockets
import Testing

@testable import HTTP

/// What all peers together make a server keep: counted when it is kept, refused when there is no room, and given back.
@Suite struct MemoryBudgetTests {
    private static let address = IPAddress.v4(0x0102_0304)
    private static let free = MemoryBudget.free

    @Test func connectionReturnsWhatExceedsItsShare() {
        let budget = MemoryBudget(bytes: 400_000)
        do {
            let account = MemoryAccount(budget, address: Self.address)
            #expect(account.keep(Self.free))
            #expect(budget.used == 0)
            #expect(account.keep(1))
            // In steps.
            #expect(budget.used == 8192)
            #expect(account.keep(8191))
            #expect(budget.used == 8192)
            #expect(account.keep(60_000))
            account.release(60_000)
            #expect(budget.used <= 3 * 8192)
            account.release(8192)
            #expect(budget.used == 0)
            #expect(account.keep(50_000, insteadOf: 0))
            #expect(account.keep(20_000, insteadOf: 50_000))
            #expect(account.size == Self.free + 20_000)
        }
        #expect(budget.remaining == 400_000)
        #expect(budget.consumePeak() > 60_000)
        #expect(budget.consumePeak() == 0)
    }

    /// However many connections it has, and of an IPv6 /64 however many addresses.
    @Test func oneAddressHasAQuarterAndTheOthersTheRest() {
        let budget = MemoryBudget(bytes: 400_000)
        let first = MemoryAccount(budget, address: .v6(7, 1))
        let second = MemoryAccount(budget, address: .v6(7, 2))
        let other = MemoryAccount(budget, address: .v6(8, 1))
        let proxy = MemoryAccount(budget, address: nil)
        #expect(first.keep(Self.free + 80_000))
        #expect(!second.keep(Self.free + 80_000))
        #expect(second.keep(Self.free))
        #expect(other.keep(Self.free + 80_000))
        #expect(proxy.keep(Self.free + 200_000))
        // What was refused took nothing, and what cannot be refused is counted.
        #expect(!other.keep(30_000))
        #expect(other.keep(30_000, insteadOf: 0, isForced: true))
        #expect(budget.remaining < 0)
        other.release(30_000)
        #expect(budget.remaining >= 0)
    }

    @Test func withoutRoomALargeContentIsA503AndASmallOneIsServed() async throws {
        let configuration = HTTPServerConfiguration {
            $0.limits.body = 1_000_000
            $0.memory = MemoryBudget(bytes: 1_200_000)
        }
        try await withServer(configuration: configuration) { peer in
            // Half of a large one takes the room.
            let holder = try await peer.connect()
            try await holder.write(Self.request(200_000, sending: 150_000))
            while configuration.memory.used < 130_000 { await Task.yield() }
            let refused = try await peer.exchange([String(decoding: Self.request(180_000), as: UTF8.self)])
            #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("Retry-After: 30"), "\(refused.prefix(500))")
            let small = try await peer.exchange([String(decoding: Self.request(4_000), as: UTF8.self)])
            #expect(small.hasPrefix("HTTP/1.1 200 "), "\(small.prefix(500))")
            // The first one is served, and its room is given back.
            try await holder.write([UInt8](repeating: 0x78, count: 50_000))
            holder.shutdownWrite()
            #expect(await peer.readAll(holder).hasPrefix("HTTP/1.1 200 "))
            holder.close()
            while configuration.memory.used > 0 { await Task.yield() }
        }
    }

    /// A head that does not end, in a buffer that has grown for it.
    @Test func withoutRoomALongHeadIsA503() async throws {
        let configuration = HTTPServerConfiguration {
            $0.timeouts.linger = 50
            $0.memory = MemoryBudget(bytes: 40_000)
        }
        try await withServer(configuration: configuration) { peer in
            let field = "X: \(String(repeating: "v", count: 990))\r\n"
            let path = "/?" + String(repeating: "q", count: 4000)
            let head = "GET \(path) HTTP/1.1\r\nHost: a\r\n" + String(repeating: field, count: 16)
            let holder = try await peer.send(head)
            let limit = Deadline.now.adding(milliseconds: 60_000)
            while configuration.memory.used == 0, Deadline.now < limit { await Task.yield() }
            let refused = try await peer.exchange([head], halfClose: false)
            #expect(refused.hasPrefix("HTTP/1.1 503 "), "\(refused.prefix(100))")
            holder.close()
            while configuration.memory.used > 0 { await Task.yield() }
            // A kernel that takes the answer in two parts makes it wait, and there is no room for that.
            var answer = ""
            while !answer.hasPrefix("HTTP/1.1 200 "), Deadline.now < limit {
                answer = try await peer.exchange([head + "\r\n"])
            }
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(500))")
        }
    }

    /// As long as somebody works with it, a content is there.
    @Test func roomIsReservedUntilTheHandlerHasAnswered() async throws {
        let gate = HandlerGate()
        let configuration = HTTPServerConfiguration { $0.limits.body = 1_000_000 }
        try await withServer(configuration: configuration, handler: gate) { peer in
            let holder = try await peer.connect()
            try await holder.write(Self.request(100_000))
            while gate.started == 0 { await Task.yield() }
            #expect(configuration.memory.used > 100_000 - Self.free)
            gate.open()
            while configuration.memory.used > 0 { await Task.yield() }
            holder.close()
        }
    }

    @Test func aStreamOfHTTP2WithoutRoomIsA503AndTheOthersGoOn() async throws {
        let configuration = HTTPServerConfiguration { $0.memory = MemoryBudget(bytes: 240_000) }
        try await withHTTP2Client(configuration: configuration) { client, _ in
            let part = { (stream: UInt32) in H2.data(stream, count: 15_000) + H2.data(stream, count: 15_000) }
            try await client.send(H2.post(1) + part(1))
            while configuration.memory.used < 10_000 { await Task.yield() }
            try await client.send(H2.post(3) + part(3) + H2.post(5) + part(5))
            _ = await client.next(.data, stream: 5)
            #expect(client.status(of: 5) == 503)
            try await client.send(H2.data(1, "", ends: true))
            _ = await client.next(.data, stream: 1)
            #expect(client.status(of: 1) == 200)
            // Given back, whether it was answered or given up.
            try await client.send(H2.frame(.resetStream, flags: 0, stream: 3, [0, 0, 0, 8]))
            while configuration.memory.used > 0 { await Task.yield() }
        }
    }

    /// What HPACK makes of some bytes is what counts, and a field costs more than its bytes.
    @Test(arguments: [(name: "long", count: 4, value: 3700), (name: "many", count: 95, value: 1)])
    func headsOfUnfinishedStreamsHaveOneShareAConnection(head: (name: String, count: Int, value: Int)) async throws {
        let configuration = HTTPServerConfiguration { $0.memory = MemoryBudget(bytes: 160_000) }
        try await withHTTP2Client(configuration: configuration) { client, _ in
            // Sent once, then named: 0xbe is the entry of the table made last.
            let start = H2.block(H2.request("POST", "/"))
            let named = start + [UInt8](repeating: 0xbe, count: head.count)
            let made = start + H2.indexed("x", String(repeating: "v", count: head.value))
            try await client.send(H2.headers(1, block: made + named.dropFirst(start.count + 1), ends: false))
            for stream in [3, 5, 7] as [UInt32] {
                try await client.send(H2.headers(stream, block: named, ends: false))
            }
            _ = await client.next(.resetStream, stream: 7)
            // Its own share and that of its address hold two.
            #expect(client.resets(of: 1).isEmpty && client.resets(of: 3).isEmpty)
            #expect(client.resets(of: 7) == [H2.Code.refusedStream])
            #expect(configuration.memory.used <= 40_000)
            // Accepted ones continue, and then there is room again.
            for stream in [1, 3] as [UInt32] {
                try await client.send(H2.data(stream, "a", ends: true))
                await client.finish(stream)
                #expect(client.status(of: stream) == 200)
            }
            try await client.send(H2.headers(17, block: named, ends: false) + H2.data(17, "a", ends: true))
            await client.finish(17)
            #expect(client.status(of: 17) == 200)
        }
    }

    @Test func fewStreamsAwaitTheirContentAtATime() async throws {
        try await withHTTP2Client { client, _ in
            try await client.send((0..<17).flatMap { H2.post(2 * $0 + 1) })
            _ = await client.next(.resetStream, stream: 33)
            #expect(client.resets(of: 31).isEmpty)
            #expect(client.resets(of: 33) == [H2.Code.refusedStream])
            // A request without content is none of them.
            try await client.send(H2.get(35) + H2.data(1, "a", ends: true))
            await client.finish(35, 1)
            #expect(client.status(of: 35) == 200 && client.status(of: 1) == 200)
            try await client.send(H2.post(37) + H2.data(37, "a", ends: true))
            await client.finish(37)
            #expect(client.status(of: 37) == 200)
        }
    }

    /// A client that does not take its answer keeps no room for what it has sent.
    @Test func roomOfContentIsReturnedWhenItsHandlerHasAnswered() async throws {
        let configuration = HTTPServerConfiguration()
        try await withHTTP2Client(configuration: configuration, handler: HTTP2Echo(), settings: [(1, 0), (4, 0)]) {
            client, _ in
            let parts = (0..<4).flatMap { H2.data(1, count: 15_000, ends: $0 == 3) }
            try await client.send(H2.post(1) + parts)
            _ = await client.next(.headers, stream: 1)
            #expect(await client.settle())
            #expect(configuration.memory.consumePeak() > 30_000)
            // The stream is there still.
            #expect(client.content(of: 1) == "")
            #expect(configuration.memory.used == 0)
        }
    }

    /// Answers that wait for the peer are counted with what it asks next.
    @Test func answersBehindAClosedWindowReduceTheRoom() async throws {
        let configuration = HTTPServerConfiguration { $0.memory = MemoryBudget(bytes: 1_000_000) }
        try await withHTTP2Client(configuration: configuration, settings: [(1, 0), (4, 0)]) { client, _ in
            var stream: UInt32 = 1
            while client.resets(of: stream).isEmpty, stream < 41 {
                stream += 2
                try await client.send(H2.get(stream, "/large"))
                await client.next { [stream] in $0.stream == stream }
            }
            // 200,000 bytes each, of which its address has room for one.
            #expect(client.resets(of: stream) == [H2.Code.refusedStream])
            #expect(stream <= 9, "\(stream)")
            try await client.send(H2.windowUpdate(0, 1 << 20) + H2.settings([(4, 1 << 20)]))
            await client.finish(3, 5)
            while configuration.memory.used > 0 { await Task.yield() }
            try await client.send(H2.get(43))
            await client.finish(43)
            #expect(client.status(of: 43) == 200)
        }
    }

    /// Without its end a block of fields is not a request that could be refused.
    @Test func withoutRoomEndlessFieldsEndTheConnection() async throws {
        // Their time ends much later.
        let configuration = HTTPServerConfiguration {
            $0.timeouts.header = 60_000
            $0.memory = MemoryBudget(bytes: 40_000)
        }
        try await withHTTP2Client(configuration: configuration) { client, _ in
            let block = H2.block(H2.request() + [("a", String(repeating: "v", count: 15_000))])
            let start = Deadline.now
            try await client.send(H2.frame(.headers, stream: 1, block))
            await client.readToEnd()
            #expect(client.goAway?.word(at: 4) == H2.Code.calm)
            #expect(Deadline.now < start.adding(milliseconds: 30_000))
            while configuration.memory.used > 0 { await Task.yield() }
        }
    }

    private static func request(_ length: Int, sending count: Int? = nil) -> [UInt8] {
        Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n".utf8)
            + [UInt8](repeating: 0x78, count: count ?? length)
    }
}
