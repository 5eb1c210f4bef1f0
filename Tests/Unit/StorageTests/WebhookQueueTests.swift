import Coding
import Foundation
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

@Suite struct WebhookQueueTests {
    @Test("an emptied journal keeps its end")
    func beginsAtTheEndOfAnEmptiedJournal() async throws {
        let bench = try await WebhookBench(endpoints: [])
        try bench.bench.stranger().write { try $0.execute("DELETE FROM event") }
        try bench.database.setWebhookEndpoints([WebhookBench.one], at: bench.now)
        #expect(try await bench.database.webhookWork(at: bench.now).hasNewEvents == false)
        try await bench.changePerson(0)
        try await bench.queue()
        #expect(try await bench.due().count == 1)
    }

    @Test("deliveries for a removed endpoint are dropped; when added again it starts from the end")
    func dropsARemovedEndpoint() async throws {
        let bench = try await WebhookBench()
        try await bench.changePerson(0)
        try await bench.queue()
        let stale = try #require(try await bench.due(WebhookBench.two).first)
        try bench.database.setWebhookEndpoints([WebhookBench.one], at: bench.now)
        #expect(try bench.bench.count("webhook_delivery") == 1)
        try bench.database.setWebhookEndpoints([WebhookBench.one, WebhookBench.two], at: bench.now)
        #expect(try await bench.due(WebhookBench.two).isEmpty)
        // An answer that was on its way reaches nobody else.
        try await bench.changePerson(0)
        try await bench.queue()
        _ = try await bench.database.record(.delivered, of: stale, at: bench.now)
        #expect(try await bench.due(WebhookBench.two).count == 1)
        #expect(try await bench.due(WebhookBench.one).count == 1)
    }

    @Test("the journal is queued in batches of any size, in order, without a gap", arguments: [1, 2, 3, 100])
    func batches(limit: Int) async throws {
        let bench = try await WebhookBench(people: 7, endpoints: [WebhookBench.one])
        for person in 0..<7 { try await bench.changePerson(person) }
        // A hole in the sequence, as retention leaves it.
        try bench.bench.stranger().write {
            try $0.execute("DELETE FROM event WHERE sequence = (SELECT max(sequence) - 3 FROM event)")
        }
        let events = try await bench.events(6)
        try await bench.queue(limit: limit)
        #expect(try await bench.due().map(\.entry) == events)
        #expect(try await bench.database.webhookWork(at: bench.now).hasNewEvents == false)
    }

    @Test("only the first event of each user is due, until it is delivered or dead", arguments: [true, false])
    func oneLineAUser(isDelivered: Bool) async throws {
        let bench = try await WebhookBench(endpoints: [WebhookBench.one])
        for person in [0, 1, 0, 0, 1] { try await bench.changePerson(person) }
        try await bench.queue(limit: 2)
        let events = try await bench.events(5)
        let end: WebhookRecord = isDelivered ? .delivered : .failed("status 500", next: nil, pausedUntil: nil)
        var seen: [[EventID]] = []
        while case let due = try await bench.due(), !due.isEmpty {
            seen.append(due.map(\.entry.id))
            for delivery in due { _ = try await bench.database.record(end, of: delivery, at: bench.now) }
        }
        #expect(seen == [[events[0].id, events[1].id], [events[2].id, events[4].id], [events[3].id]])
        #expect(try bench.bench.count("webhook_delivery") == (isDelivered ? 0 : 5))
    }

    @Test("a failed event keeps its position until due again, and later ones wait")
    func failedKeepsItsPlace() async throws {
        let bench = try await WebhookBench(endpoints: [WebhookBench.one])
        for person in [0, 0, 1] { try await bench.changePerson(person) }
        try await bench.queue()
        let events = try await bench.events(3)
        let first = try #require(try await bench.due().first)
        let next = bench.now.adding(milliseconds: 5_000)
        _ = try await bench.database.record(
            .failed("timeout", next: next, pausedUntil: nil), of: first, at: bench.now)
        #expect(try await bench.due().map(\.entry) == [events[2]])
        // New events do not overtake either.
        try await bench.changePerson(0)
        try await bench.queue()
        #expect(try await bench.due().map(\.entry) == [events[2]])
        bench.bench.clock.advance(milliseconds: 5_000)
        let again = try await bench.due()
        #expect(Set(again.map(\.entry)) == [events[0], events[2]])
        #expect(again.first { $0.entry == events[0] }?.attempts == 1)
    }

    @Test("a replayed dead letter goes before waiting and failed events")
    func replayGoesFirst() async throws {
        let bench = try await WebhookBench(endpoints: [WebhookBench.one])
        for _ in 0..<3 { try await bench.changePerson(0) }
        try await bench.queue()
        let events = try await bench.events(3)
        let first = try #require(try await bench.due().first)
        _ = try await bench.database.record(.failed("x", next: nil, pausedUntil: nil), of: first, at: bench.now)
        let second = try #require(try await bench.due().first)
        #expect(second.entry == events[1])
        // The second is on its way when the first is replayed; then it fails.
        #expect(try await bench.database.retryWebhooks(.event(events[0].id), at: bench.now) == 1)
        #expect(try await bench.due().map(\.entry) == [events[0]])
        _ = try await bench.database.record(
            .failed("x", next: bench.now, pausedUntil: nil), of: second, at: bench.now)
        #expect(try await bench.due().map(\.entry) == [events[0]])
        var order: [JournalEntry] = []
        while let next = try await bench.due().first {
            order.append(next.entry)
            _ = try await bench.database.record(.delivered, of: next, at: bench.now)
        }
        #expect(order == events)
    }

    @Test("retention deletes no event that an endpoint waits for, and all others at their time")
    func retentionWaits() async throws {
        let bench = try await WebhookBench(endpoints: [WebhookBench.one])
        try await bench.changePerson(0)
        try await bench.changePerson(1)
        let age: Int64 = 91 * 86_400
        bench.bench.clock.advance(seconds: age)
        // Not queued yet: everything behind the cursor stays.
        #expect(try await bench.database.maintain(at: bench.now).events == 6)
        #expect(try bench.bench.count("event") == 2 + 3)  // and three sessions that expired meanwhile
        try await bench.queue([.userUpdated])
        let due = try await bench.due()
        try #require(due.count == 2)
        #expect(try await bench.database.maintain(at: bench.now).events == 0)
        _ = try await bench.database.record(.delivered, of: due[0], at: bench.now)
        #expect(try await bench.database.maintain(at: bench.now).events == 1)
        // A dead letter is kept as long as any event, and no longer.
        _ = try await bench.database.record(.failed("x", next: nil, pausedUntil: nil), of: due[1], at: bench.now)
        #expect(try await bench.database.deadWebhooks(after: nil, limit: 9).items.count == 1)
        #expect(try await bench.database.maintain(at: bench.now).events == 1)
        #expect(try await bench.database.deadWebhooks(after: nil, limit: 9).items.isEmpty)
        #expect(try bench.bench.count("webhook_delivery") == 0)
    }

    @Test("a stopped endpoint, or none, does not delay retention", arguments: [true, false])
    func retentionGoesOn(isStopped: Bool) async throws {
        let bench = try await WebhookBench(endpoints: [WebhookBench.one])
        try await bench.changePerson(0)
        try await bench.queue()
        if isStopped {
            let due = try #require(try await bench.due().first)
            #expect(try await bench.database.record(.gone, of: due, at: bench.now) == .stopped)
        } else {
            try bench.database.setWebhookEndpoints([], at: bench.now)
        }
        bench.bench.clock.advance(seconds: 91 * 86_400)
        #expect(try await bench.database.maintain(at: bench.now).events == 7)
    }

    @Test func reports() async throws {
        let bench = try await WebhookBench()
        let added = bench.now
        let empty = try await bench.database.webhookEndpoints()
        #expect(empty.map(\.url) == [WebhookBench.one, WebhookBench.two])
        #expect(
            empty.allSatisfy { $0.backlog == 0 && $0.oldest == nil && $0.addedAt == added && $0.lastFailure == nil })
        for person in [0, 1, 2] {
            bench.bench.clock.advance(seconds: 1)
            try await bench.changePerson(person)
        }
        #expect(try await bench.database.webhookEndpoints().map(\.backlog) == [3, 3])
        try await bench.queue()
        let due = try await bench.due()
        bench.bench.clock.advance(seconds: 10)
        _ = try await bench.database.record(.delivered, of: due[0], at: bench.now)
        let pause = bench.now.adding(seconds: 60)
        _ = try await bench.database.record(
            .failed("status 503", next: pause, pausedUntil: pause), of: due[1], at: bench.now)
        _ = try await bench.database.record(.failed("timeout", next: nil, pausedUntil: nil), of: due[2], at: bench.now)
        let report = try await bench.database.webhookEndpoints()
        #expect(
            report[0]
                == WebhookEndpoint(
                    url: WebhookBench.one, addedAt: added, backlog: 1, oldest: added.adding(seconds: 2),
                    deadLetters: 1, lastSuccessAt: bench.now, lastFailureAt: bench.now, lastFailure: "timeout",
                    failingSince: bench.now, stoppedAt: nil, pausedUntil: pause))
        #expect(report[1].backlog == 3)
        #expect(report[1].failingSince == nil)
        let dead = try await bench.database.deadWebhooks(after: nil, limit: 9).items
        #expect(
            dead == [
                DeadWebhook(
                    place: DeadWebhookPlace(
                        diedAt: bench.now, sequence: due[2].sequence, endpoint: due[2].endpoint),
                    url: WebhookBench.one, entry: due[2].entry, attempts: 1, failure: "timeout")
            ])
    }

    @Test("retry selects one event, all dead letters, or an endpoint, and nothing else")
    func retries() async throws {
        let bench = try await WebhookBench()
        for person in [0, 1, 2] { try await bench.changePerson(person) }
        try await bench.queue()
        let events = try await bench.events(3)
        let later = bench.now.adding(seconds: 1_000)
        for url in [WebhookBench.one, WebhookBench.two] {
            for (index, delivery) in try await bench.due(url).enumerated() {
                _ = try await bench.database.record(
                    .failed("x", next: index == 2 ? later : nil, pausedUntil: nil), of: delivery, at: bench.now)
            }
        }
        #expect(try await bench.due(WebhookBench.one).isEmpty)
        #expect(try await bench.database.retryWebhooks(.event(EventID(unchecked: "evt_x")), at: bench.now) == 0)
        #expect(try await bench.database.retryWebhooks(.endpoint(url: "https://none/"), at: bench.now) == 0)
        #expect(try await bench.due(WebhookBench.one).isEmpty)
        #expect(try await bench.database.retryWebhooks(.event(events[0].id), at: bench.now) == 2)
        #expect(try await bench.due(WebhookBench.one).map(\.entry) == [events[0]])
        #expect(try await bench.due(WebhookBench.two).map(\.entry) == [events[0]])
        #expect(try await bench.due(WebhookBench.two).map(\.attempts) == [0])
        #expect(try await bench.database.retryWebhooks(.endpoint(url: WebhookBench.two), at: bench.now) == 3)
        #expect(try await bench.due(WebhookBench.two).map(\.entry) == events)
        #expect(try await bench.due(WebhookBench.one).map(\.entry) == [events[0]])
        #expect(try await bench.database.retryWebhooks(.allDead, at: bench.now) == 1)
        #expect(try await bench.due(WebhookBench.one).map(\.entry) == [events[0], events[1]])
        #expect(try await bench.database.deadWebhooks(after: nil, limit: 9).items.isEmpty)
    }
}
