import Coding
import Crypto
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// Lists of people that are found by an index.
@Suite struct NameSearchTests {
    let bench: Bench
    let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    /// In this order; a person's Apple subject is their whole name.
    private func add(_ names: [(given: String, family: String)]) async throws {
        let identifiers = RandomIdentifier(random: SystemRandom())
        for name in names {
            let person = ImportedPerson(
                newUser: identifiers.make(), subject: AppleSubject("\(name.given) \(name.family)"),
                name: PersonName(given: name.given, family: name.family))
            _ = try await database.importPeople([person], team: Bench.team, isRehearsal: false, at: bench.clock.now())
            bench.clock.advance(milliseconds: 1)
        }
    }

    private func found(_ filter: UserFilter, limit: Int = 50) async throws -> [String] {
        var (names, cursor): ([String], UserCursor?) = ([], nil)
        repeat {
            let page = try await database.users(filter, after: cursor, limit: limit)
            #expect(page.items.count <= limit)
            names += page.items.map(\.appleSubject.rawValue)
            cursor = page.next
        } while cursor != nil
        return names
    }

    @Test(
        "pages of a search by name have everyone once, in the order of the matching words",
        arguments: [1, 2, 50])
    func pages(limit: Int) async throws {
        try await add([
            ("Jürgen", "Berg"), ("Ann", "Annabel"), ("Anna", "Berg"), ("Ann", "Berg"), ("Ben", "Anders"),
            ("Zoë", "Ann"),
        ])
        #expect(
            try await found(UserFilter(name: "an"), limit: limit) == [
                "Ben Anders", "Ann Annabel", "Ann Berg", "Zoë Ann", "Anna Berg",
            ])
        #expect(try await found(UserFilter(name: "berg an"), limit: limit) == ["Ann Berg", "Anna Berg"].sorted(by: >))
        #expect(try await found(UserFilter(name: "JURGEN"), limit: limit) == ["Jürgen Berg"])
        #expect(try await found(UserFilter(name: "urgen"), limit: limit) == [])
        #expect(try await found(UserFilter(name: "!"), limit: limit) == [])
        #expect(try await found(UserFilter(name: " "), limit: limit).count == 6)
    }

    @Test("a list by several properties is complete, even after scanning many")
    func combined() async throws {
        try await add((0..<(UserChoice.scanned * 2 + 10)).map { ("Ann", "Berg \($0)") })
        let all = try await database.users(UserFilter(), after: nil, limit: 5_000).items
        let last = try #require(all.last).id
        _ = try await database.patchUser(last, UserPatch(groups: ["staff", "x"]), at: bench.clock.now())
        _ = try await database.patchUser(
            all[0].id, UserPatch(groups: ["staff"], state: .disabled), at: bench.clock.now())
        let name = try #require(all.last).appleSubject.rawValue
        for filter in [
            UserFilter(state: .active, group: "staff"), UserFilter(group: "x"), UserFilter(group: "x", name: "ann"),
            UserFilter(state: .active, group: "staff", name: "berg"),
        ] {
            #expect(try await found(filter, limit: 3) == [name])
        }
        #expect(try await found(UserFilter(state: .disabled, name: "ann")) == [all[0].appleSubject.rawValue])
        #expect(try await found(UserFilter(state: .pending, name: "ann")) == [])
        let some = try await database.users([last, all[3].id, UserID(unchecked: "usr_none")])
        #expect(Set(some.keys) == [last, all[3].id] && some[last]?.groups == ["staff", "x"])
    }

    @Test("people are found only by their current name and groups, and deleted people not at all")
    func changes() async throws {
        let session = try #require(
            try await database.completeSignIn(record("ann", at: bench.clock.now())).session)
        #expect(try await found(UserFilter(name: "ann")) == [])
        for groups in [["a", "b"], ["b", "c"]] {
            _ = try await database.patchUser(session.user, UserPatch(groups: groups), at: bench.clock.now())
        }
        #expect(try await found(UserFilter(group: "a")) == [])
        #expect(try await found(UserFilter(group: "c")) == ["ann"])
        _ = try await database.deleteUser(session.user, at: bench.clock.now())
        #expect(try await found(UserFilter(group: "c")) == [])
        let left = try await database.read { snapshot in
            try snapshot.count("SELECT count(*) FROM user_word") + snapshot.count("SELECT count(*) FROM user_group")
        }
        #expect(left == 0)
    }

    @Test("people written by a version without the index are found after a start")
    func olderVersion() async throws {
        try await add((0..<450).map { ("Ann", "Berg \($0)") })
        try await database.write { transaction in
            try transaction.run("UPDATE user SET given_name = 'Renée', groups = '[\"staff\"]'")
            try transaction.run("DELETE FROM user_word")
        }
        #expect(try await found(UserFilter(name: "renee")) == [])
        // A server that stops meanwhile keeps what it has done; the next one does the rest.
        var done = 0
        await #expect(throws: Failure.self) {
            try await database.indexPeople { count throws(Failure) in
                done += count
                throw Failure(.unavailable)
            }
        }
        #expect(done > 0 && done < 450)
        #expect(try await database.indexPeople() == 450 - done)
        #expect(try await found(UserFilter(name: "renee")).count == 450)
        #expect(try await found(UserFilter(group: "staff")).count == 450)
        #expect(try await found(UserFilter(name: "ann")) == [])
        #expect(try await database.indexPeople() == 0)
    }

    @Test("a page of rare events continues where its scan stopped, and misses none")
    func rareEvents() async throws {
        let session = try #require(
            try await database.completeSignIn(record("ann", at: bench.clock.now())).session)
        try await database.write { transaction in
            for _ in 0..<12_000 { try transaction.record(.emailEnabled, user: session.user) }
            try transaction.record(.accountLinked, user: session.user)
        }
        var (kinds, place, pages): ([JournalEntry.Kind], EventPlace?, Int) = ([], nil, 0)
        repeat {
            let page = try #require(
                try await database.eventPage(
                    JournalFilter(kinds: [.accountLinked, .sessionCreated]), after: place, limit: 50))
            kinds += page.items.map(\.kind)
            place = page.next
            pages += 1
        } while place != nil
        #expect(kinds == [.sessionCreated, .accountLinked])
        #expect(pages == 2)
    }
}
