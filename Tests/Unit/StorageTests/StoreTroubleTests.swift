import Coding
import Crypto
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// How the store detects that writes fail.
@Suite struct StoreTroubleTests {
    private func save(_ database: Accounts.Database, _ subject: String, size: Int = 3) async -> StoreError? {
        await database.save(String(repeating: "x", count: size), of: subject)
    }

    @Test(
        "a full disk is assumed until a write as large as a sign-in succeeds",
        .onSQLite)
    func aSmallWriteDoesNotEndAFullDisk() async throws {
        let bench = try Bench()
        let database = try bench.open(bench.options(busyTimeout: 20_000))
        let now = bench.clock.now()
        try await database.store.ready(at: now)
        #expect(database.store.trouble == nil)
        let pages = try bench.stranger().read { try $0.integer("PRAGMA page_count") ?? 0 }
        // Room for a page or two.
        try database.executeOnWriter("PRAGMA max_page_count = \(pages + 3)")
        guard case .unavailable = await save(database, "large", size: 60_000) else {
            throw Unexpected("the disk did not fill")
        }
        let trouble = try #require(database.store.trouble)
        #expect(trouble.failures == 1 && !trouble.isLock)
        #expect(await save(database, "small") == nil)
        #expect(database.store.trouble == trouble)
        await #expect(throws: StoreError.self) { try await database.store.ready(at: now) }
        #expect(database.store.trouble?.failures == 2)
        #expect(database.store.trouble?.since == trouble.since)

        try database.executeOnWriter("PRAGMA max_page_count = 1073741823")
        try await database.store.ready(at: now)
        #expect(database.store.trouble == nil)
    }

    @Test("another process's lock is over with any write that succeeds", .onSQLite)
    func anyWriteEndsALock() async throws {
        let bench = try Bench()
        let database = try bench.open(bench.options(busyTimeout: 20))
        let stranger = try bench.stranger()
        try stranger.execute("BEGIN IMMEDIATE")
        guard case .busy = await save(database, "s") else { throw Unexpected("not busy") }
        #expect(database.store.trouble?.isLock == true)
        try stranger.execute("ROLLBACK")
        #expect(await save(database, "s") == nil)
        #expect(database.store.trouble == nil)
    }

    @Test("a constraint violation is not trouble of the machine")
    func aConstraintIsNoTrouble() async throws {
        let bench = try Bench()
        let database = try bench.open(bench.options(busyTimeout: 20))
        await #expect(throws: Failure.self) {
            try await database.write { transaction in
                try transaction.run("INSERT INTO meta (key, value) VALUES ('x', NULL)")
            }
        }
        #expect(database.store.trouble == nil)
    }
}
