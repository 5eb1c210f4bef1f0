import Coding
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// What a reader of the journal notices of entries that it cannot see.
@Suite struct JournalMarkTests {
    /// The evictions from caches.
    private func changes(
        _ database: Accounts.Database, after mark: ChangePosition
    ) async throws -> [SessionInvalidations.Entry] {
        let caches = SessionInvalidations()
        try await database.read { try $0.changes(after: mark, caches).forget() }
        return caches.entries(after: 0).entries
    }

    @Test("reused numbers after lost entries are noticed, however long the journal is since")
    func reusedNumbers() async throws {
        let (bench, database) = try Bench().opened()
        let user = try #require(try await database.completeSignIn(record("ann", at: bench.clock.now())).session).user
        for _ in 0..<3 { try await database.write { try $0.record(.emailEnabled, user: user) } }
        let mark = try await database.read { try $0.journalEnd() }
        #expect(try await changes(database, after: mark).isEmpty)
        try await database.write { transaction in
            try transaction.record(.emailDisabled, user: user)
        }
        #expect(try await changes(database, after: mark) == [.user(user)])
        // Another primary, on which the last ones never arrived.
        let salt = [UInt8](repeating: 7, count: 10)
        try await database.write { try $0.run("UPDATE event SET salt = ? WHERE sequence >= ?", [salt, mark.number]) }
        #expect(try await changes(database, after: mark) == [.all])
        try await database.write { try $0.run("DELETE FROM event WHERE sequence > ?", [mark.number]) }
        #expect(try await changes(database, after: mark) == [.all])
        try await database.write { try $0.run("DELETE FROM event WHERE sequence >= ?", [mark.number]) }
        #expect(try await changes(database, after: mark) == [.all])
    }

    @Test func beginningOfTheJournalIsKnown() async throws {
        let (bench, database) = try Bench().opened()
        let mark = try await database.read { try $0.journalEnd() }
        #expect(mark == ChangePosition(number: 0, salt: nil))
        let user = try #require(try await database.completeSignIn(record("ann", at: bench.clock.now())).session).user
        #expect(try await changes(database, after: mark).isEmpty, "who signs in was not known before")
        try await database.write { try $0.record(.emailDisabled, user: user) }
        #expect(try await changes(database, after: mark) == [.user(user)])
        try await database.write { try $0.run("DELETE FROM event WHERE sequence = 1") }
        #expect(try await changes(database, after: mark) == [.all])
    }
}
