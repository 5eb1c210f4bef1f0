import Coding
import Foundation
import Gates
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// What the number of people and of their doings must not slow down, or only in pieces.
@Suite struct CrowdTests {
    private let bench: Bench
    private let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    @Test("an old number is returned at once, while it is counted again")
    func nobodyWaitsForASlowCount() async throws {
        let numbers = KeptNumbers<Int>(quick: .zero, rest: 0)
        let gate = Gate()
        gate.shut()
        #expect(try await numbers.current { 1 } == 1)
        #expect(
            try await numbers.current {
                await gate.pass()
                return 2
            } == 1)
        #expect(try await numbers.current { 3 } == 1, "and nobody counts beside")
        gate.open()
        while try await numbers.current({ 2 }) == 1 { await Task.yield() }
    }

    @Test("after an error the old number is returned, and counted again")
    func aCountThatFailsIsRepeated() async throws {
        let numbers = KeptNumbers<Int>(quick: .zero, rest: 0)
        #expect(try await numbers.current { 1 } == 1)
        #expect(try await numbers.current { () throws(Failure) in throw Failure(store: .late) } == 1)
        while try await numbers.current({ 2 }) == 1 { await Task.yield() }
    }

    /// Lines, the first of them a rare one, each a second after the one before.
    private func write(lines: Int) throws {
        try bench.stranger().execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(lines - 1))
            INSERT INTO audit (time, type, actor, object)
            SELECT i * 1000, CASE WHEN i = 0 THEN 'api_key.created' ELSE 'sign_in' END, 'visitor', CAST(i AS TEXT)
            FROM n ORDER BY n.i
            """)
    }

    private func objects(_ filter: AuditFilter, by limit: Int) async throws -> (found: [String?], pages: Int) {
        var (found, pages, place) = ([String?](), 0, Int64?.none)
        repeat {
            let page = try await database.auditLog(filter, before: place, limit: limit)
            #expect(page.items.count <= limit)
            found += page.items.map(\.object)
            place = page.next
            pages += 1
        } while place != nil
        return (found, pages)
    }

    @Test("a time is found wherever it is in a long log")
    func timesInALongLog() async throws {
        try write(lines: 25_000)
        func between(_ first: Int64, _ end: Int64, _ kinds: Set<AuditEntry.Kind> = []) -> AuditFilter {
            AuditFilter(
                kinds: kinds, since: Timestamp(milliseconds: first * 1000), until: Timestamp(milliseconds: end * 1000))
        }
        #expect(try await objects(between(3, 6), by: 10).found == ["5", "4", "3"])
        #expect(try await objects(between(3, 7), by: 2).found == ["6", "5", "4", "3"])
        #expect(try await objects(between(0, 2), by: 10).found == ["1", "0"])
        #expect(try await objects(between(0, 20_000, [.apiKeyCreated]), by: 10).found == ["0"])
        #expect(try await objects(between(30_000, 40_000), by: 10).found.isEmpty)
        // Over the ends of pieces, and none twice.
        let all = try await objects(between(4_000, 24_000), by: 7_000)
        #expect(all.found == (4_000..<24_000).reversed().map { String($0) })
        #expect(all.pages == 3)
    }

    @Test("several types are read by their index, newest first")
    func severalTypes() async throws {
        try write(lines: 100)
        let filter = AuditFilter(kinds: [.signIn, .apiKeyCreated])
        let expected = (0..<100).reversed().map { String($0) }
        #expect(try await objects(filter, by: 7).found == expected)
        guard !TestEngine.isPostgres else { return }
        let statement = filter.statement(before: 50, from: nil, limit: 7, database.context)
        let plan = try await database.read { snapshot in
            var arguments = statement.arguments
            arguments += [8]
            return try snapshot.rows("EXPLAIN QUERY PLAN \(statement.sql)", arguments)
                .map { row -> String in try row["detail"] }
        }
        #expect(plan.count { $0.contains("USING INDEX audit_type (type=? AND sequence<?)") } == 2, "\(plan)")
        #expect(!plan.contains { $0.contains("SCAN audit") }, "\(plan)")
    }

    @Test("the last entries of a rare type are found at the beginning of a long journal")
    func rareEntries() async throws {
        try bench.stranger().execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 24999)
            INSERT INTO event (salt, type, time, user)
            SELECT ?, CASE WHEN i % 12000 = 1 THEN 'account.deleted' ELSE 'user.updated' END, i, 'usr_1' FROM n ORDER BY i
            """, [[UInt8](repeating: 7, count: EventID.saltCount)])
        func times(_ limit: Int) async throws -> [Int64] {
            try await database.lastEvents(JournalFilter(kinds: [.accountDeleted]), limit: limit).entries
                .map(\.time.milliseconds)
        }
        #expect(try await times(10) == [1, 12_001, 24_001])
        #expect(try await times(2) == [12_001, 24_001])
        #expect(try await database.lastEvents(JournalFilter(kinds: [.emailEnabled]), limit: 5).entries.isEmpty)
    }
}
