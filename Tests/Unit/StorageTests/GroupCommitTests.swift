import Coding
import Crypto
import Foundation
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

@Suite struct GroupCommitTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// Queues `writes` behind a lock another connection holds, so that all but the first share one transaction.
    private func together<Value: Sendable>(
        _ database: Accounts.Database, _ writes: [@Sendable () async -> Value]
    ) async throws -> [Value] {
        let stranger = try bench.stranger()
        try stranger.execute("BEGIN IMMEDIATE")
        return try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            // The first occupies the writer; it waits for the lock.
            group.addTask { (0, await writes[0]()) }
            while database.store.statistics.running < 1 { await Task.yield() }
            for (index, write) in writes.enumerated().dropFirst() { group.addTask { (index, await write()) } }
            while database.store.statistics.pending < writes.count - 1 { await Task.yield() }
            try stranger.execute("ROLLBACK")
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func open() throws -> Accounts.Database {
        try bench.open(bench.options(busyTimeout: 120_000))
    }

    /// Saves a name; the error or nil.
    private func save(
        _ database: Accounts.Database, _ subject: String, _ name: String = "Ann"
    ) -> @Sendable () async -> StoreError? {
        { await database.save(name, of: subject) }
    }

    private func saved() throws -> Set<String> {
        try bench.stranger().read { try Set($0.texts("SELECT subject FROM first_consent")) }
    }

    @Test("writes that wait together share one transaction, and each is durable when answered", .onSQLite)
    func sharesTransactions() async throws {
        let database = try open()
        let before = database.store.statistics
        let writes = (0..<40).map { save(database, "s\($0)") }
        #expect(try await together(database, writes) == Array(repeating: nil, count: 40))
        #expect(try saved().count == 40)
        #expect(database.store.statistics.transactions == before.transactions + 2)
        #expect(database.store.statistics.writes == before.writes + 40)
    }

    @Test("a write that fails does not affect the others in its transaction", .onSQLite)
    func isolatesFailures() async throws {
        let database = try open()
        try database.executeOnWriter(
            """
            CREATE TEMP TRIGGER refuse BEFORE INSERT ON first_consent WHEN new.given_name = 'bad'
            BEGIN SELECT RAISE(ABORT, 'injected'); END
            """)
        let writes = (0..<20).map { save(database, "s\($0)", $0 == 7 ? "bad" : "Ann") }
        let errors = try await together(database, writes)
        for (index, error) in errors.enumerated() {
            if index == 7 {
                guard case .inconsistent = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            } else {
                #expect(error == nil)
            }
        }
        #expect(try saved() == Set((0..<20).filter { $0 != 7 }.map { "s\($0)" }))
        #expect(database.store.statistics.lost == 0)
    }

    @Test(
        "when SQLite rolls the transaction back, the others are retried alone before they are acknowledged",
        .onSQLite,
        arguments: [1, 10, 19])
    func survivesLostTransaction(position: Int) async throws {
        let database = try open()
        try database.executeOnWriter(
            """
            CREATE TEMP TRIGGER lose BEFORE INSERT ON first_consent WHEN new.given_name = 'boom'
            BEGIN SELECT RAISE(ROLLBACK, 'injected'); END
            """)
        let writes = (0..<20).map { save(database, "s\($0)", $0 == position ? "boom" : "Ann") }
        let errors = try await together(database, writes)
        for (index, error) in errors.enumerated() { #expect((error == nil) == (index != position)) }
        #expect(try saved() == Set((0..<20).filter { $0 != position }.map { "s\($0)" }))
        // Once with the others, once alone.
        #expect(database.store.statistics.lost == 2)
    }

    @Test("a full disk fails writes that do not fit and loses no acknowledged one", .onSQLite)
    func survivesFullDisk() async throws {
        let database = try open()
        try await database.store.ready(at: bench.clock.now())
        let pages = try bench.stranger().read { try $0.integer("PRAGMA page_count") ?? 0 }
        try database.executeOnWriter("PRAGMA max_page_count = \(pages + 20)")
        let big = String(repeating: "x", count: 1_000_000)
        let writes = (0..<20).map { save(database, "s\($0)", $0 == 5 ? big : "Ann") }
        let errors = try await together(database, writes)
        for (index, error) in errors.enumerated() {
            if index == 5 {
                guard case .unavailable = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            } else {
                #expect(error == nil, "\(index)")
            }
        }
        #expect(try saved() == Set((0..<20).filter { $0 != 5 }.map { "s\($0)" }))
        #expect(database.store.statistics.lost >= 1)

        // Fill it up: what was acknowledged is what is there.
        var acknowledged = try saved()
        let medium = String(repeating: "y", count: 2_000)
        for number in 0..<100 {
            if await save(database, "m\(number)", medium)() == nil { acknowledged.insert("m\(number)") }
        }
        #expect(acknowledged.count < 119)
        #expect(try saved() == acknowledged)

        // And it accepts writes again when there is space, without a restart.
        try database.executeOnWriter("PRAGMA max_page_count = 1073741823")
        #expect(await save(database, "after", big)() == nil)
    }

    @Test("a database locked by another process is busy after the timeout, and works when the lock is gone", .onSQLite)
    func reportsBusy() async throws {
        let database = try bench.open(bench.options(busyTimeout: 20))
        let stranger = try bench.stranger()
        try stranger.execute("BEGIN IMMEDIATE")
        guard case .busy = await save(database, "s")() else { throw Unexpected("not busy") }
        // Reads do not wait for writers.
        #expect(try await database.usedAttempt(randomDigest(), at: bench.clock.now()) == nil)
        #expect(try database.makeReader().signedIn(token: randomDigest(), at: bench.clock.now()) == nil)
        try stranger.execute("ROLLBACK")
        #expect(await save(database, "s")() == nil)
        #expect(try saved() == ["s"])
    }

    @Test("a lost transaction invalidates nothing", .onSQLite)
    func lostWritesInvalidateNothing() async throws {
        let database = try open()
        let session = try #require(try await database.completeSignIn(record(at: bench.clock.now())).session)
        try database.executeOnWriter(
            """
            CREATE TEMP TRIGGER lose BEFORE DELETE ON session BEGIN SELECT RAISE(ROLLBACK, 'injected'); END
            """)
        let before = database.invalidations.generation
        await #expect(throws: Failure.self) {
            _ = try await database.endSession(session.id, cause: .signOut, at: bench.clock.now())
        }
        #expect(database.invalidations.generation == before)
        #expect(try await database.signedIn(token: session.tokenHash, at: bench.clock.now()) != nil)
        try database.executeOnWriter("DROP TRIGGER lose")
        #expect(try await database.endSession(session.id, cause: .signOut, at: bench.clock.now()))
    }

    @Test("a sign-in is all or nothing", .onSQLite)
    func signInIsAtomic() async throws {
        let database = try open()
        try database.executeOnWriter(
            """
            CREATE TEMP TRIGGER refuse BEFORE INSERT ON event WHEN new.type = 'session.created'
            BEGIN SELECT RAISE(ABORT, 'injected'); END
            """)
        let attempt = record(at: bench.clock.now())
        await #expect(throws: Failure.self) { _ = try await database.completeSignIn(attempt) }
        for table in ["user", "apple_identity", "apple_credential", "session", "used_attempt", "event"] {
            let count = try bench.stranger().read { try $0.integer("SELECT count(*) FROM \(table)") }
            #expect(count == 0, "\(table)")
        }
        try database.executeOnWriter("DROP TRIGGER refuse")
        #expect(try await database.completeSignIn(attempt).session != nil)
    }

    @Test("many writers at once are all answered")
    func answersMany() async throws {
        let database = try open()
        let sessions = try await withThrowingTaskGroup(of: Session?.self) { group in
            for number in 0..<300 {
                group.addTask {
                    try await database.completeSignIn(record("s\(number % 50)", at: bench.clock.now())).session
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sessions.compactMap(\.self).count == 300)
        #expect(Set(sessions.compactMap { $0?.user }).count == 50)
        #expect(database.store.statistics.transactions < 300)
    }

    @Test("a closing database commits waiting writes and refuses later ones", .onSQLite)
    func finishesWhenClosing() async throws {
        let database = try open()
        let stranger = try bench.stranger()
        try stranger.execute("BEGIN IMMEDIATE")
        let errors = try await withThrowingTaskGroup(of: StoreError?.self) { group in
            group.addTask { [save = save(database, "s0")] in await save() }
            while database.store.statistics.running < 1 { await Task.yield() }
            for number in 1..<20 { group.addTask { [save = save(database, "s\(number)")] in await save() } }
            while database.store.statistics.pending < 19 { await Task.yield() }
            // Its own thread: closing waits for the writer, and that for the lock.
            group.addTask {
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        database.close()
                        continuation.resume()
                    }
                }
                return nil
            }
            try stranger.execute("ROLLBACK")
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors == Array(repeating: nil, count: 21))
        #expect(try saved().count == 20)
        guard case .unavailable = await save(database, "late")() else { throw Unexpected("not refused") }
        #expect(try saved().count == 20)
    }
}
