import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct StoreCountsTests {
    private static let scope = CheckScope(team: Bench.team, clients: [Bench.web])
    private let bench: Bench
    private let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    @Test func sessionsCountWhileTheyAreLive() async throws {
        #expect(try await database.counts(Self.scope, at: bench.clock.now()) == StoreCounts())
        for name in ["ada", "boris"] {
            _ = try await database.completeSignIn(record(name, at: bench.clock.now()))
            bench.clock.advance(seconds: 10)
        }
        var counts = try await database.counts(Self.scope, at: bench.clock.now())
        #expect(counts.sessions == 2)
        #expect(counts.credentials == [.authorized: 2])
        // The first has been idle for too long by now, though nothing has deleted it yet.
        bench.clock.advance(seconds: Bench.limits.idleTimeout - 15)
        counts = try await database.counts(Self.scope, at: bench.clock.now())
        #expect(counts.sessions == 1)
    }

    @Test func revocationsCountByState() async throws {
        let start = bench.clock.now()
        for name in ["waiting", "asking", "failed", "done"] {
            let user = try #require(try await database.completeSignIn(record(name, at: bench.clock.now())).user)
            _ = try await database.deleteUser(user.id, at: bench.clock.now())
            bench.clock.advance(milliseconds: 1)
        }
        let now = bench.clock.now()
        let due = try await database.dueRevocations(at: now, limit: 10)
        for entry in due.dropFirst() {
            _ = try await database.beginRevocation(entry.id, at: now, until: now.adding(seconds: 30))
        }
        try await database.postponeRevocation(due[2].id, until: nil, failure: "client_refused")
        _ = try await database.finishRevocation(due[3].id, at: now)
        let counts = try await database.counts(Self.scope, at: now)
        #expect(counts.revocationsWaiting == 2)
        #expect(counts.oldestRevocation == start)
        #expect(counts.revocationsFailed == 1)
    }

    @Test func webhooksCountForEachAddressFromTheJournalOn() async throws {
        try database.setWebhookEndpoints(["https://a.example/", "https://b.example/"], at: bench.clock.now())
        bench.clock.advance(seconds: 5)
        let then = bench.clock.now()
        _ = try await database.completeSignIn(record("ada", at: then))
        let events = try await database.events(after: nil, limit: 100).count
        try #require(events > 0)
        var counts = try await database.counts(Self.scope, at: bench.clock.now())
        #expect(counts.webhooksWaiting == 2 * events)
        #expect(counts.oldestWebhook == then)
        #expect(counts.webhooksDead == 0)
        let all = Set(JournalEntry.Kind.allCases)
        let kinds = ["https://a.example/": all, "https://b.example/": all]
        _ = try await database.queueWebhooks(of: kinds, limit: 100, at: bench.clock.now())
        counts = try await database.counts(Self.scope, at: bench.clock.now())
        #expect(counts.webhooksWaiting == 2 * events)
        #expect(counts.oldestWebhook == then)
    }

    @Test func checksAreDueFromTheirTimeOn() async throws {
        var person = record("ada", at: bench.clock.now())
        let due = bench.clock.now().adding(seconds: 100)
        person.firstCheckAt = due
        _ = try await database.completeSignIn(person)
        bench.clock.advance(seconds: 99)
        #expect(try await database.counts(Self.scope, at: bench.clock.now()).checksDue == 0)
        bench.clock.advance(seconds: 2)
        let counts = try await database.counts(Self.scope, at: bench.clock.now())
        #expect(counts.checksDue == 1)
        #expect(counts.checksDueSince == due)
        #expect(!counts.checksAreStopped && counts.clientsRefused == 0)
    }

    @Test func aClosedDatabaseCountsNothing() async throws {
        _ = try await database.counts(Self.scope, at: bench.clock.now())
        database.close()
        await #expect(throws: Failure.self) { try await database.counts(Self.scope, at: bench.clock.now()) }
    }

    @Test func commitsAreMeasured() async throws {
        let before = database.store.metrics.commits.reading.count
        for name in ["ada", "boris", "carol"] {
            _ = try await database.completeSignIn(record(name, at: bench.clock.now()))
        }
        #expect(database.store.metrics.commits.reading.count == before + 3)
        #expect(database.store.metrics.batches.reading.count == database.store.metrics.commits.reading.count)
        #expect(database.store.metrics.commits.reading.sum > 0)
        #expect(database.store.metrics.failures.value == 0)
    }
}
