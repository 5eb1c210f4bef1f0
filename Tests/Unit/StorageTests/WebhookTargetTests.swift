import Coding
import Crypto
import Gates
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// Each endpoint has its own secret and filter; and the API's description of them.
@Suite struct WebhookTargetTests {
    private static func secrets(_ byte: UInt8) throws -> WebhookSecrets {
        try WebhookSecrets(parsing: "whsec_" + Base64.encode([UInt8](repeating: byte, count: 32)))
    }

    private static func target(_ url: String, _ kinds: Set<JournalEntry.Kind>, _ byte: UInt8) throws -> WebhookTarget {
        let secrets = try secrets(byte)
        return WebhookTarget(url: url, kinds: kinds, secrets: { secrets })
    }

    @Test("a process without an endpoint's secret neither queues nor sends its events, and loses none")
    func unknownEndpoint() async throws {
        let bench = try await WebhookBench()
        let receiver = FakeReceiver()
        let one = try Self.target(WebhookBench.one, WebhookBench.allKinds, 1)
        try await bench.changePerson(0)
        // Queued by another process for both.
        try await bench.queue()
        try await bench.changePerson(1)
        _ = try await bench.database.deleteUser(bench.people[2], at: bench.now)
        let told = try await bench.events(4)
        let dispatcher = bench.dispatcher(receiver, targets: [one])
        for _ in 0..<5 {
            for delivery in await dispatcher.round().deliveries { await dispatcher.deliver(delivery) }
        }
        #expect(Set(receiver.ids(WebhookBench.one)) == Set(told.map(\.id.rawValue)))
        #expect(receiver.ids(WebhookBench.two).isEmpty)
        #expect(try await bench.database.webhookEndpoints().last?.backlog == 4)
        let both = bench.dispatcher(
            receiver, targets: [one, try Self.target(WebhookBench.two, [.accountDeleted], 2)])
        bench.bench.clock.advance(seconds: 60)
        await both.drain()
        // What was queued before, and what its own filter lets through of the rest.
        let expected = [told[0]] + told.filter { $0.kind == .accountDeleted }
        #expect(Set(receiver.ids(WebhookBench.two)) == Set(expected.map(\.id.rawValue)))
    }

    private static func endpoints(_ bench: WebhookBench, _ receiver: FakeReceiver) throws -> WebhookEndpoints {
        WebhookEndpoints(
            targets: [
                try target(WebhookBench.one, [.userUpdated], 1), try target(WebhookBench.two, [.accountDeleted], 2),
            ],
            database: bench.database, sender: receiver, clock: bench.bench.clock, random: SystemRandom())
    }

    @Test("a test event is signed, ignores the filter, and is neither in the journal nor queued")
    func testEvent() async throws {
        let bench = try await WebhookBench()
        let receiver = FakeReceiver { $0.url == WebhookBench.one ? .status(204) : .failure("timeout") }
        let endpoints = try Self.endpoints(bench, receiver)
        let before = try await bench.database.events(after: nil, limit: 100)
        let result = try await endpoints.test(WebhookBench.one)
        #expect(result.verdict == .delivered && result.status == 204)
        let request = try #require(receiver.requests.first)
        #expect(request.id == result.id.rawValue)
        #expect(
            request.signature
                == (try Self.secrets(1)).signatures(id: request.id, timestamp: request.timestamp, body: request.body))
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"{"type":"webhook.test","timestamp":"\#(bench.now.rfc3339)","data":{"id":"\#(result.id)"}}"#)
        let failed = try await endpoints.test(WebhookBench.two)
        #expect(failed.verdict == .failed("timeout", retryAfter: nil) && failed.status == nil)
        #expect(try await bench.database.events(after: nil, limit: 100) == before)
        #expect(try await bench.database.webhookEndpoints().allSatisfy { $0.lastFailureAt == nil })
    }

    @Test("an endpoint has one test at a time, and unconfigured addresses have none")
    func oneTestAtATime() async throws {
        let bench = try await WebhookBench()
        let gate = Gate()
        gate.shut()
        let isFirst = Box(true)
        let receiver = FakeReceiver { _ in
            if isFirst.value {
                isFirst.value = false
                await gate.pass()
            }
            return .status(200)
        }
        let endpoints = try Self.endpoints(bench, receiver)
        async let first = endpoints.test(WebhookBench.one)
        await gate.arrived(1)
        let busy = await #expect(throws: Failure.self) { try await endpoints.test(WebhookBench.one) }
        #expect(busy?.code == .tooManyRequests && busy?.retryAfter == 15)
        #expect(try await endpoints.test(WebhookBench.two).verdict == .delivered)
        gate.open()
        #expect(try await first.verdict == .delivered)
        #expect(try await endpoints.test(WebhookBench.one).verdict == .delivered)
        await #expect(throws: Failure(.webhookNotFound)) {
            _ = try await endpoints.test("https://elsewhere.example/")
        }
        #expect(receiver.requests.count == 3)
    }
}
