import Coding
import Foundation
import Stores
import Strangers
import Synchronization
import Testing

@testable import Accounts
@testable import Storage

/// 180 days of traffic with maintenance running, by an injected clock: the file stops growing when the longest retention
/// has passed once.
///
/// `RETENTION_SCALE` (1) in the environment multiplies the traffic and makes it a year; `make test-operations` sets it.
@Suite struct RetentionYearTests {
    private static let wanted = ProcessInfo.processInfo.environment["RETENTION_SCALE"].flatMap { Int($0) }
    private static let scale = wanted ?? 1
    private static let days = wanted == nil ? 180 : 365
    /// Of each day.
    private static let signIns = 12 * scale
    private static let notifications = 3 * scale
    private static let deletions = 2 * scale
    /// People who come back.
    private static let regulars = 40 * scale

    private func pages(_ bench: Bench) throws -> (used: Int, all: Int) {
        try bench.stranger().read { connection in
            let all = try connection.integer("PRAGMA page_count") ?? 0
            let free = try connection.integer("PRAGMA freelist_count") ?? 0
            return (all - free, all)
        }
    }

    /// One day: people sign in and out, Apple tells of some, a few come and delete their accounts.
    private func day(_ number: Int, _ database: Accounts.Database, _ bench: Bench) async throws {
        let now = bench.clock.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<Self.signIns {
                group.addTask {
                    let subject = "regular\((number * Self.signIns + index) % Self.regulars)"
                    let result = try await database.completeSignIn(record(subject, at: now))
                    if index.isMultiple(of: 2), let session = result.session {
                        _ = try await database.endSession(session.id, cause: .signOut, at: now)
                    }
                }
            }
            for index in 0..<Self.deletions {
                group.addTask {
                    let subject = "passing\(number)-\(index)"
                    try await database.saveFirstConsent(
                        team: Bench.team, subject: AppleSubject("\(subject)-gone"), name: PersonName(given: "Ann"),
                        at: now)
                    _ = try await database.completeSignIn(record(subject, at: now))
                    _ = try await database.apply(
                        notification(.accountDeleted, subject: subject, time: now), team: Bench.team, at: now)
                }
            }
            for index in 0..<Self.notifications {
                group.addTask {
                    let subject = "regular\((number + index) % Self.regulars)"
                    _ = try await database.apply(
                        notification(.emailDisabled, subject: subject, time: now), team: Bench.team, at: now)
                }
            }
            try await group.waitForAll()
        }
        _ = try await database.maintain(at: now)
    }

    @Test("in the last quarter of the time the file is no larger than after 100 days", .onSQLite)
    func stopsGrowing() async throws {
        let bench = try Bench()
        // Lines of the audit log would otherwise be kept for longer than the year has days.
        var options = bench.options()
        options.retention.audit = 90 * 86_400
        let database = try bench.open(options)
        defer { database.close() }
        var sizes: [(used: Int, all: Int)] = []
        for number in 0..<Self.days {
            try await day(number, database, bench)
            bench.clock.advance(seconds: 86_400)
            sizes.append(try pages(bench))
        }
        // The journal, the audit log and the deletions are kept longest, 90 days.
        let first = sizes[95..<105].map(\.all).max() ?? 0
        let quarter = sizes.suffix(Self.days / 4)
        let last = quarter.map(\.all).max() ?? 0
        let used = (sizes[95..<105].map(\.used).max() ?? 0, quarter.map(\.used).max() ?? 0)
        print("retention: \(first) pages after 100 days, \(last) in the last quarter; in use \(used)")
        #expect(first > 50, "there was no traffic")
        #expect(last <= first + first / 10, "\(first) pages after 100 days, \(last) in the last quarter")
        #expect(used.1 <= used.0 + used.0 / 10)
        let oldest = try await database.events(after: nil, limit: 1).first
        let age = try #require(oldest?.time).milliseconds.distance(to: bench.clock.now().milliseconds) / 86_400_000
        #expect(age <= 92)
    }

    /// What has expired while no server ran is deleted beside people who sign in: nobody waits for more than a batch.
    @Test("a backlog is deleted in small batches that delay other writes only briefly", .onSQLite)
    func leavesRoomForSignIns() async throws {
        let (bench, database) = try Bench().opened()
        defer { database.close() }
        let count = 10_000 * Self.scale
        _ = try await database.completeSignIn(record(at: bench.clock.now()))
        try bench.stranger().write { connection in
            try connection.execute(
                """
                INSERT INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at,
                    created_at, last_seen_at, expires_at)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
                SELECT randomblob(32), 'ses_' || hex(randomblob(10)), 'browser', u.id, i.id, 'com.example.web',
                    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)', '192.0.2.1', 0, 0, 0, 1
                FROM n, user u, apple_identity i
                """, [count])
            try connection.execute(
                """
                INSERT INTO used_attempt (attempt, binding_hash, expires_at)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
                SELECT CAST(char(1) || printf('%031d', x) AS BLOB), randomblob(32), 1 FROM n
                """, [count])
        }
        let (report, waits) = try await withThrowingTaskGroup(of: [Duration].self) { group in
            let isDone = Flag()
            group.addTask {
                var waits: [Duration] = []
                var number = 0
                while !isDone.isSet {
                    number += 1
                    let start = ContinuousClock.now
                    _ = try await database.completeSignIn(record("p\(number % 50)", at: bench.clock.now()))
                    waits.append(ContinuousClock.now - start)
                }
                return waits
            }
            let report = try await database.maintain(at: bench.clock.now())
            isDone.set()
            return (report, try await group.next() ?? [])
        }
        #expect(report.sessions == count)
        #expect(report.usedAttempts == count)
        let longest = waits.max() ?? .zero
        print("retention: \(waits.count) sign-ins beside \(2 * count) deletions, the longest took \(longest)")
        // Each batch is followed by whoever waits.
        #expect(waits.count >= 2 * count / 200 / 2)
    }

    @Test("a payload is erased at its time, and the notification is kept longer")
    func erasesPayloads() async throws {
        let bench = try Bench()
        var options = bench.options()
        options.retention.notifications = 86_400
        let database = try bench.open(options)
        defer { database.close() }
        func kept() throws -> [Bool] {
            try bench.stranger().read {
                try $0.integers("SELECT payload IS NOT NULL FROM notification ORDER BY received_at").map { $0 == 1 }
            }
        }
        func come() async throws {
            let now = bench.clock.now()
            let told = notification(.unknown, subject: nil, time: now)
            _ = try await database.apply(told, team: Bench.team, at: now)
        }
        try await come()
        bench.clock.advance(milliseconds: 86_400_000 - 1)
        try await come()
        #expect(try await database.maintain(at: bench.clock.now()).payloads == 0)
        #expect(try kept() == [true, true])
        bench.clock.advance(milliseconds: 1)
        #expect(try await database.maintain(at: bench.clock.now()).payloads == 1)
        #expect(try kept() == [false, true])
        bench.clock.advance(seconds: 86_400)
        #expect(try await database.maintain(at: bench.clock.now()).payloads == 1)
        bench.clock.advance(seconds: 27 * 86_400)
        _ = try await database.maintain(at: bench.clock.now())
        #expect(try kept() == [false, false], "its identifier is remembered for 30 days")
        bench.clock.advance(seconds: 86_400 * 2)
        _ = try await database.maintain(at: bench.clock.now())
        #expect(try kept() == [])
    }
}

private final class Flag: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}
