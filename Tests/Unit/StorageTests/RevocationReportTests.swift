import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// What the operator sees of the queue of revocations, and what hurrying it does.
@Suite struct RevocationReportTests {
    private static func deleted(_ names: [String], _ database: Accounts.Database, _ bench: Bench) async throws {
        for name in names {
            let user = try #require(
                try await database.completeSignIn(record(name, at: bench.clock.now())).user)
            #expect(try await database.deleteUser(user.id, at: bench.clock.now()) == .deleted(revocations: 1))
            bench.clock.advance(milliseconds: 1)
        }
    }

    @Test("each state is reported; finished revocations and people without a token are not listed")
    func states() async throws {
        let (bench, database) = try Bench().opened()
        let start = bench.clock.now()
        try await Self.deleted(["waiting", "retrying", "asking", "failed", "done"], database, bench)
        var tokenless = record("tokenless", at: bench.clock.now())
        tokenless.sealedRefreshToken = nil
        let user = try #require(try await database.completeSignIn(tokenless).user)
        #expect(try await database.deleteUser(user.id, at: bench.clock.now()) == .deleted(revocations: 0))
        let due = try await database.dueRevocations(at: bench.clock.now(), limit: 10)
        try #require(due.count == 5)
        let now = bench.clock.now()
        let later = now.adding(seconds: 30)
        for entry in due.dropFirst() {
            #expect(try await database.beginRevocation(entry.id, at: now, until: later))
        }
        try await database.postponeRevocation(due[1].id, until: later, failure: "provider_unavailable")
        try await database.postponeRevocation(due[3].id, until: nil, failure: "client_refused")
        #expect(try await database.finishRevocation(due[4].id, at: now))

        let reports = try await database.revocations(after: nil, limit: 10, at: now).items
        #expect(reports.map(\.state) == [.waiting, .retrying, .asking, .failed])
        #expect(reports.map(\.id) == due.prefix(4).map(\.id))
        #expect(reports.map(\.failure) == [nil, "provider_unavailable", nil, "client_refused"])
        #expect(reports.map(\.attempts) == [0, 1, 0, 1])
        #expect(reports.map(\.nextAttemptAt) == [start, later, later, nil])
        #expect(reports.map(\.clientID) == Array(repeating: Bench.web, count: 4))
        #expect(reports[0].queuedAt == start && reports[0].endsAt == start.adding(seconds: 7 * 86_400))
        // Page by page.
        let first = try await database.revocations(after: nil, limit: 3, at: now).items
        #expect(first == Array(reports.prefix(3)))
        #expect(try await database.revocations(after: first.last?.id, limit: 3, at: now).items == [reports[3]])
        // A worker that died while it asked: due again, and no longer "asking".
        #expect(try await database.revocations(after: nil, limit: 10, at: later).items[2].state == .waiting)
    }

    @Test("a retry makes waiting entries due, but not those in flight or given up")
    func retry() async throws {
        let (bench, database) = try Bench().opened()
        try await Self.deleted(["retrying", "asking", "failed"], database, bench)
        let now = bench.clock.now()
        let later = now.adding(seconds: 30)
        let due = try await database.dueRevocations(at: now, limit: 10)
        for entry in due { #expect(try await database.beginRevocation(entry.id, at: now, until: later)) }
        try await database.postponeRevocation(due[0].id, until: now.adding(seconds: 21_600), failure: "client_refused")
        try await database.postponeRevocation(due[2].id, until: nil, failure: "client_refused")
        #expect(try await database.dueRevocations(at: now, limit: 10).isEmpty)
        for _ in 0..<2 {
            #expect(try await database.retryRevocations(at: now) == 1)
            #expect(try await database.dueRevocations(at: now, limit: 10).map(\.id) == [due[0].id])
        }
        // Still refused as a sign-in that Apple may be ending.
        let asking = try await database.completeSignIn(record("asking", at: now))
        #expect(asking == .refused(.revoked, nil))
        // Its history stays, and a sign-in still takes it away.
        #expect(try await database.revocations(after: nil, limit: 10, at: now).items[0].attempts == 1)
        #expect(try await database.completeSignIn(record("retrying", at: now)).session != nil)
        #expect(try await database.retryRevocations(at: now) == 0)
    }
}
