import Coding
import Gates
import LogRecording
import Randomness
import Stores
import Synchronization
import Testing

@testable import Accounts
@testable import Storage

/// The dispatcher over the real queue, a clock that moves on demand, and applications with given answers.
@Suite struct WebhookDispatcherTests {
    private let bench: WebhookBench

    init() async throws { bench = try await WebhookBench(endpoints: [WebhookBench.one]) }

    @Test("ten attempts at the documented times, a dead letter, and a replay under the same id")
    func backsOff() async throws {
        let answer = Box(WebhookAnswer.status(500))
        let receiver = FakeReceiver { _ in answer.value }
        let schedule = WebhookSchedule(delays: WebhookSchedule.standard.delays, jitter: 0)
        let dispatcher = try bench.dispatcher(receiver, policy: WebhookPolicy(schedule: schedule))
        let start = bench.now
        try await bench.changePerson(0)
        for delay in [0] + schedule.delays {
            if delay > 0 {
                bench.bench.clock.advance(milliseconds: delay - 1)
                let before = receiver.requests.count
                await dispatcher.drain()
                #expect(receiver.requests.count == before, "too early")
                bench.bench.clock.advance(milliseconds: 1)
            }
            await dispatcher.drain()
        }
        #expect(receiver.requests.count == 10)
        #expect(Set(receiver.requests.map(\.id)).count == 1)
        #expect(receiver.requests.first?.timestamp == start.milliseconds / 1000)
        #expect(Set(receiver.requests.map(\.timestamp)).count == 10)
        #expect(try await bench.database.deadWebhooks(after: nil, limit: 2).items.map(\.attempts) == [10])
        // Nothing more happens by itself, and a later event of the user is not held up any more.
        bench.bench.clock.advance(seconds: 100_000)
        answer.value = .status(200)
        try await bench.changePerson(0)
        await dispatcher.drain()
        #expect(receiver.requests.count == 11)
        #expect(try await bench.database.retryWebhooks(.allDead, at: bench.now) == 1)
        await dispatcher.drain()
        #expect(receiver.requests.count == 12)
        #expect(receiver.requests.last?.id == receiver.requests.first?.id)
        let said = [
            "warning webhook endpoint failing ", "warning webhook event moved to dead letters ",
            "info webhook endpoint recovered ",
        ]
        #expect(bench.log.lines.count == said.count)
        for (line, words) in zip(bench.log.lines, said) { #expect(line.hasPrefix(words)) }
        #expect(bench.log.lines.allSatisfy { !$0.contains("/hook") && $0.contains("https://one.example") })
    }

    @Test("events that waited behind a dead letter are tried only once more")
    func theWholeLineEnds() async throws {
        let receiver = FakeReceiver { _ in .failure("no connection") }
        let dispatcher = try bench.dispatcher(receiver)
        for _ in 0..<5 { try await bench.changePerson(0) }
        for _ in 0..<40 {
            await dispatcher.drain()
            bench.bench.clock.advance(seconds: 3 * 3_600)
        }
        #expect(try await bench.database.deadWebhooks(after: nil, limit: 9).items.count == 5)
        #expect(receiver.requests.count <= 10 + 4 * 5)
    }

    @Test("Retry-After holds the whole endpoint back, and no other", arguments: [429, 503])
    func retryAfter(status: Int) async throws {
        let bench = try await WebhookBench()
        let answer = Box(WebhookAnswer.status(status, retryAfter: 60_000))
        let receiver = FakeReceiver { request in request.url == WebhookBench.one ? answer.value : .status(200) }
        let dispatcher = try bench.dispatcher(receiver)
        try await bench.changePerson(0)
        await dispatcher.drain()
        answer.value = .status(200)
        try await bench.changePerson(1)
        bench.bench.clock.advance(milliseconds: 59_999)
        await dispatcher.drain()
        #expect(receiver.ids().count == 1)
        #expect(receiver.ids(WebhookBench.two).count == 2)
        bench.bench.clock.advance(milliseconds: 1)
        await dispatcher.drain()
        #expect(Set(receiver.ids()).count == 2)
        #expect(receiver.ids().count == 3)
    }

    @Test("of two processes one delivers; when it is killed the other continues with the same IDs")
    func oneHolder() async throws {
        let other = try bench.bench.open()
        let (left, right) = (FakeReceiver(), FakeReceiver())
        let killed = try bench.dispatcher(left)
        let survivor = try bench.dispatcher(right, database: other)
        try await bench.changePerson(0)
        // Killed between the answer and its record.
        let taken = await killed.round().deliveries
        #expect(taken.count == 1)
        _ = await left.send(
            WebhookRequest(url: taken[0].url, id: taken[0].entry.id.rawValue, timestamp: 0, signature: "", body: []))
        await survivor.drain()
        #expect(right.requests.isEmpty)
        bench.bench.clock.advance(milliseconds: 3_000)
        await survivor.drain()
        #expect(right.ids() == left.ids())
        // Were it only slow, it would send nothing any more: its lease has ended.
        await killed.deliver(taken[0])
        #expect(left.requests.count == 1)
    }

    @Test("an idle process keeps no lease, so that another begins at once")
    func idleReleases() async throws {
        let (left, right) = (FakeReceiver(), FakeReceiver())
        let first = try bench.dispatcher(left)
        let second = try bench.dispatcher(right)
        try await bench.changePerson(0)
        await first.drain()
        try await bench.changePerson(0)
        await second.drain()
        #expect(left.requests.count == 1)
        #expect(right.requests.count == 1)
    }

    @Test(
        "a delivery that cannot be recorded is not repeated until the database works, and then under its id", .onSQLite)
    func storeFails() async throws {
        let receiver = FakeReceiver()
        let dispatcher = try bench.dispatcher(receiver)
        try await bench.changePerson(0)
        let taken = await dispatcher.round().deliveries
        try bench.database.executeOnWriter("PRAGMA query_only = ON")
        for delivery in taken { await dispatcher.deliver(delivery) }
        for _ in 0..<10 {
            await dispatcher.drain()
            bench.bench.clock.advance(milliseconds: 400)
        }
        #expect(receiver.requests.count == 1)
        bench.bench.clock.advance(milliseconds: 1_000)
        await dispatcher.drain()
        #expect(bench.log.lines.filter { $0.hasPrefix("error webhooks paused") }.count == 1)
        try bench.database.executeOnWriter("PRAGMA query_only = OFF")
        bench.bench.clock.advance(milliseconds: 5_000)
        await dispatcher.drain()
        #expect(receiver.requests.count == 2)
        #expect(Set(receiver.ids()).count == 1)
        #expect(try await bench.database.webhookEndpoints()[0].backlog == 0)
    }

    @Test("a pause after a failure is not prolonged by a clock set back", .onSQLite)
    func restsOfAnotherClock() async throws {
        let receiver = FakeReceiver()
        let dispatcher = try bench.dispatcher(receiver)
        try await bench.changePerson(0)
        bench.bench.clock.advance(seconds: 7_200)
        try bench.database.executeOnWriter("PRAGMA query_only = ON")
        _ = await dispatcher.round()
        #expect(bench.log.lines.filter { $0.hasPrefix("error webhooks paused") }.count == 1)
        try bench.database.executeOnWriter("PRAGMA query_only = OFF")
        bench.bench.clock.advance(seconds: -7_200)
        await dispatcher.drain()
        #expect(receiver.requests.count == 1)
    }

    @Test("an event that another process wrote is delivered as well")
    func foreignEvents() async throws {
        let command = try bench.bench.open()
        let receiver = FakeReceiver()
        let dispatcher = try bench.dispatcher(receiver)
        try await bench.changePerson(0, from: command)
        command.close()
        await dispatcher.drain()
        #expect(receiver.requests.count == 1)
    }

    @Test("the dispatcher runs until stopped, and finishes deliveries in flight")
    func runs() async throws {
        let bench = try await WebhookBench()
        let receiver = FakeReceiver()
        let dispatcher = try bench.dispatcher(receiver)
        for index in 0..<40 { try await bench.changePerson(index % 3) }
        // One look only: completions wake it for all that follows.
        let end = Gate()
        end.shut()
        await withDiscardingTaskGroup { group in
            group.addTask {
                await dispatcher.run {
                    await end.pass()
                    return false
                }
            }
            while receiver.requests.count < 80 { await Task.yield() }
            end.open()
        }
        #expect(try await bench.database.webhookEndpoints().map(\.backlog) == [0, 0])
        #expect(try await bench.database.holdLease(.webhooks, holder: "x", seconds: 1, at: bench.now))
    }

    /// Nine in ten attempts fail, processes die at random moments, the operator replays: whatever happens, each
    /// endpoint gets everything, in order per user, and repeats carry the id.
    @Test(arguments: [1, 2, 3, 4])
    func chaos(seed: UInt64) async throws {
        let bench = try await WebhookBench(people: 5)
        let random = Mutex(SeededRandom(seed: seed))
        func chance(_ percent: UInt64) -> Bool { random.withLock { $0.next() % 100 < percent } }
        let arrivals = Box<[Arrival]>([])
        let receiver = FakeReceiver { request in
            let roll = random.withLock { $0.next() % 100 }
            arrivals.value.append(Arrival(url: request.url, id: request.id, isAccepted: roll >= 90))
            if roll < 50 { return .status(500) }
            if roll < 80 { return .failure("timeout") }
            return roll < 90 ? .status(503, retryAfter: 2_000) : .status(200)
        }
        // Nothing dies: after a dead letter later events go first, as they must.
        let policy = WebhookPolicy(
            schedule: WebhookSchedule(delays: [Int64](repeating: 1_000, count: 10_000)), concurrency: 3, batch: 4)
        var dispatcher = try bench.dispatcher(receiver, policy: policy)
        var told = 0
        var rounds = 0
        while true {
            rounds += 1
            if told < 60, chance(60) {
                try await bench.changePerson(Int(random.withLock { $0.next() % 5 }))
                told += 1
            }
            for delivery in await dispatcher.round().deliveries {
                if chance(4) {
                    // kill -9: perhaps sent, never recorded.
                    if chance(50) {
                        _ = await receiver.send(
                            WebhookRequest(
                                url: delivery.url, id: delivery.entry.id.rawValue, timestamp: 0, signature: "",
                                body: []))
                    }
                    dispatcher = try bench.dispatcher(receiver, policy: policy)
                    break
                }
                await dispatcher.deliver(delivery)
            }
            bench.bench.clock.advance(milliseconds: 700)
            if chance(3) { _ = try await bench.database.retryWebhooks(.endpoint(url: WebhookBench.one), at: bench.now) }
            if told == 60, try await bench.database.webhookEndpoints().allSatisfy({ $0.backlog == 0 }) { break }
            try #require(rounds < 100_000)
        }
        let events = try await bench.events(60)
        for url in [WebhookBench.one, WebhookBench.two] {
            Self.check(arrivals.value.filter { $0.url == url }, events, "seed \(seed), \(url)")
        }
        #expect(arrivals.value.count > 600)
    }

    private struct Arrival: Sendable {
        var url: String
        var id: String
        var isAccepted: Bool
    }

    /// Nothing of a user arrives before all that came earlier was accepted, and everything is accepted in the end.
    private static func check(_ arrivals: [Arrival], _ events: [JournalEntry], _ comment: Comment) {
        var accepted: Set<String> = []
        for arrival in arrivals {
            guard let place = events.firstIndex(where: { $0.id.rawValue == arrival.id }) else {
                Issue.record("an unknown event: \(comment)")
                continue
            }
            let earlier = events[..<place].filter { $0.user == events[place].user }
            #expect(earlier.allSatisfy { accepted.contains($0.id.rawValue) }, comment)
            if arrival.isAccepted { accepted.insert(arrival.id) }
        }
        #expect(accepted == Set(events.map(\.id.rawValue)), comment)
    }
}
