import Coding
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// An export, as it is read: a page at a time.
@Suite struct AccountPagesTests {
    private let bench: Bench
    private let database: Accounts.Database
    private var now: Timestamp { bench.clock.now() }

    init() throws {
        (bench, database) = try Bench().opened()
    }

    private func all(_ list: AccountList, of user: UserID, limit: Int) async throws -> [AccountItem] {
        var found: [AccountItem] = []
        var place: AccountPlace?
        repeat {
            let page = try #require(
                try await database.accountPage(list, of: user, after: place, limit: limit, at: now))
            #expect(page.items.count <= limit)
            found += page.items
            place = page.next
        } while place != nil
        return found
    }

    @Test("each list has everything once, in order, for any page size", arguments: [1, 7, 1_000])
    func whole(limit: Int) async throws {
        var sessions: [Session] = []
        for number in 0..<12 {
            let made = try await database.completeSignIn(record("ann", at: now))
            sessions.append(try #require(made.session))
            _ = try await database.completeSignIn(record("bob", at: now))
            _ = try await database.apply(
                notification(.emailEnabled, id: "n\(number)", time: now), team: Bench.team, at: now)
            // Two at a moment.
            if number % 2 == 1 { bench.clock.advance(seconds: 1) }
        }
        let user = sessions[0].user
        let found = try await all(.sessions, of: user, limit: limit)
        #expect(Set(found) == Set(sessions.map { .session($0) }) && found.count == 12)
        let events = try await database.events(after: nil, limit: 1_000).filter { $0.user == user }
        #expect(try await all(.events, of: user, limit: limit) == events.map { .event($0) })
        let notifications = try await all(.notifications, of: user, limit: limit)
        let times = notifications.map { item in
            if case .notification(let told) = item { told.receivedAt } else { Timestamp(milliseconds: 0) }
        }
        #expect(times.count == 12 && times == times.sorted())
        for list in [AccountList.programs, .programSessions] {
            #expect(try await all(list, of: user, limit: limit).isEmpty)
        }
    }

    @Test("an export has the newest events up to its limit")
    func newest() async throws {
        let user = try #require(try await database.completeSignIn(record("ann", at: now)).session).user
        let limit = AccountRecord.limit
        _ = try await database.write(at: now) { transaction in
            for _ in 0..<limit - 2 { try transaction.record(.userUpdated, user: user, fields: []) }
        }
        #expect(try await database.accountRecord(of: user, newest: 0, at: now)?.isComplete == true)
        #expect(try await all(.events, of: user, limit: 3_000).count == limit)
        _ = try await database.write(at: now) { transaction in
            try transaction.record(.userUpdated, user: user, fields: [])
        }
        #expect(try await database.accountRecord(of: user, newest: 0, at: now)?.isComplete == false)
        let kept = try await all(.events, of: user, limit: 3_000)
        #expect(kept.count == limit)
        if case .event(let first) = kept.first { #expect(first.kind == .sessionCreated) } else { Issue.record("none") }
    }

    @Test("a deleted person has no pages")
    func gone() async throws {
        let user = try #require(try await database.completeSignIn(record("ann", at: now)).session).user
        _ = try await database.deleteUser(user, at: now)
        for list in AccountList.allCases {
            #expect(try await database.accountPage(list, of: user, after: nil, limit: 10, at: now) == nil)
        }
    }
}
