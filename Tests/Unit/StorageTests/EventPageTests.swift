import Coding
import Crypto
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// The journal in pages, and what happens to a reader's place when old events are deleted.
@Suite struct EventPageTests {
    /// Writes events at the clock's time, each about a user of its number.
    private func record(_ numbers: ClosedRange<Int>, _ bench: Bench, _ database: Database) async throws {
        try await database.write(at: bench.clock.now()) { transaction in
            for number in numbers {
                try transaction.record(
                    .userUpdated, user: UserID(unchecked: "usr_\(number % 2)"), fields: ["n\(number)"])
            }
        }
    }

    private func fields(_ page: EventPage?) -> [String] { page?.items.flatMap(\.fields) ?? ["none"] }

    @Test func cursorExpiresOnceALaterEventIsDeleted() async throws {
        let (bench, database) = try Bench().opened()
        try await record(1...3, bench, database)
        let ids = try await database.events(after: nil, limit: 9).map(\.id)
        bench.clock.advance(milliseconds: 1000)
        try await record(4...5, bench, database)
        bench.clock.advance(milliseconds: 90 * 86_400_000 - 1000)
        #expect(try await database.maintain(at: bench.clock.now()).events == 3)
        // 1 to 3 are deleted. A reader after 3 has missed nothing; one after 2 has.
        #expect(fields(try await database.eventPage(JournalFilter(), after: nil, limit: 9)) == ["n4", "n5"])
        #expect(fields(try await database.eventPage(JournalFilter(), after: .sequence(3), limit: 9)) == ["n4", "n5"])
        #expect(try await database.eventPage(JournalFilter(), after: .sequence(2), limit: 9) == nil)
        #expect(try await database.eventPage(JournalFilter(), after: .sequence(0), limit: 9) == nil)
        #expect(try await database.eventPage(JournalFilter(), after: .event(ids[2]), limit: 9) == nil)
        #expect(fields(try await database.eventPage(JournalFilter(), after: .sequence(5), limit: 9)) == [])
        // Nobody has been there: a database that went back to an older copy.
        #expect(try await database.eventPage(JournalFilter(), after: .sequence(6), limit: 9) == nil)
    }

    /// Otherwise a reader of everything would lose its position although nothing happened.
    @Test func newestEventOutlivesItsTime() async throws {
        let (bench, database) = try Bench().opened()
        try await record(1...2, bench, database)
        let newest = try #require(try await database.events(after: nil, limit: 9).last)
        bench.clock.advance(milliseconds: 91 * 86_400_000)
        #expect(try await database.maintain(at: bench.clock.now()).events == 1)
        #expect(try await database.maintain(at: bench.clock.now()).events == 0)
        #expect(fields(try await database.eventPage(JournalFilter(), after: .event(newest.id), limit: 9)) == [])
        try await record(3...3, bench, database)
        #expect(fields(try await database.eventPage(JournalFilter(), after: .event(newest.id), limit: 9)) == ["n3"])
        #expect(try await database.maintain(at: bench.clock.now()).events == 1)
    }

    @Test func emptyJournalHasABeginning() async throws {
        let bench = try Bench()
        let database = try bench.open()
        #expect(fields(try await database.eventPage(JournalFilter(), after: nil, limit: 9)) == [])
        #expect(fields(try await database.eventPage(JournalFilter(), after: .sequence(0), limit: 9)) == [])
        #expect(try await database.eventPage(JournalFilter(), after: .sequence(1), limit: 9) == nil)
    }
}
