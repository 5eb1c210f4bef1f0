import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// The orders of a list of people, and what is shown beside them.
@Suite struct UserOrderTests {
    typealias Subject = StoreContractTests.Subject

    /// Five people by their names: one signed in again, one was imported and never has.
    private func town(_ kind: StoreKind) async throws -> (Subject, [String: UserID]) {
        let subject = try Subject(kind)
        var people: [String: UserID] = [:]
        for name in ["ann", "bob", "eve", "kim"] {
            people[name] = try await subject.signIn(name).user
            subject.clock.advance(seconds: 60)
        }
        let imported = ImportedPerson(
            newUser: RandomIdentifier(random: SystemRandom()).make(), subject: AppleSubject("max"))
        people["max"] = imported.newUser
        _ = try await subject.store.importPeople([imported], team: Bench.team, isRehearsal: false, at: subject.now)
        subject.clock.advance(seconds: 60)
        _ = try await subject.signIn("ann")
        return (subject, people)
    }

    private func listed(
        _ filter: UserFilter, of people: [String: UserID], in store: Accounts.Database, limit: Int
    ) async throws -> [String] {
        let names = Dictionary(uniqueKeysWithValues: people.map { ($0.value, $0.key) })
        var (found, cursor): ([String], UserCursor?) = ([], nil)
        repeat {
            let page = try await store.users(filter, after: cursor, limit: limit)
            #expect(page.items.count <= limit)
            found += page.items.map { names[$0.id] ?? "somebody" }
            cursor = page.next
        } while cursor != nil
        return found
    }

    @Test("a list has everyone once in every order, whatever the size of its pages", arguments: StoreKind.allCases)
    func orders(kind: StoreKind) async throws {
        let (subject, people) = try await town(kind)
        let store = subject.store
        let (bob, eve) = (try #require(people["bob"]), try #require(people["eve"]))
        // Two of them have a second identity: it signed in later, or at the same moment, as after a transfer.
        let iat = try #require(try await store.lastSignIns(of: [eve])[eve])
        for (owner, name, issuedAt) in [(bob, "bob2", subject.now.adding(seconds: 60)), (eve, "eve2", iat)] {
            let second = try await subject.signIn(name, issuedAt: issuedAt).user
            try await store.write { transaction in
                try transaction.run("UPDATE apple_identity SET user = ? WHERE user = ?", [owner, second])
                try transaction.run("UPDATE session SET user = ? WHERE user = ?", [owner, second])
                try transaction.run("DELETE FROM user WHERE id = ?", [second])
            }
        }
        for name in ["ann", "eve", "max"] {
            let id = try #require(people[name])
            _ = try await store.patchUser(id, UserPatch(groups: ["staff"]), at: subject.now)
        }
        _ = try await store.patchUser(eve, UserPatch(state: .disabled), at: subject.now)
        let cases: [(UserFilter, [String])] = [
            (UserFilter(), ["ann", "bob", "eve", "kim", "max"]),
            (UserFilter(order: .newest), ["max", "kim", "eve", "bob", "ann"]),
            (UserFilter(order: .lastSignIn), ["bob", "ann", "kim", "eve", "max"]),
            (UserFilter(group: "staff", order: .newest), ["max", "eve", "ann"]),
            (UserFilter(group: "staff", order: .lastSignIn), ["ann", "eve", "max"]),
            (UserFilter(state: .active, order: .lastSignIn), ["bob", "ann", "kim", "max"]),
            (UserFilter(state: .disabled, order: .lastSignIn), ["eve"]),
            (UserFilter(state: .disabled, group: "staff", order: .lastSignIn), ["eve"]),
            (UserFilter(state: .pending, order: .lastSignIn), []),
        ]
        for (filter, expected) in cases {
            for limit in [1, 2, 50] {
                let found = try await listed(filter, of: people, in: store, limit: limit)
                #expect(found == expected, "\(filter), \(limit)")
            }
        }
        let signIns = try await store.lastSignIns(of: Set(people.values))
        #expect(signIns.count == 4 && signIns[bob] == subject.now.adding(seconds: 60))
    }

    @Test("a large group is listed by its members' last sign-ins", arguments: StoreKind.allCases)
    func largeGroup(kind: StoreKind) async throws {
        let (subject, people) = try await town(kind)
        let identifiers = RandomIdentifier(random: SystemRandom())
        let others = (0..<UserChoice.scanned).map {
            ImportedPerson(newUser: identifiers.make(), subject: AppleSubject("other \($0)"))
        }
        let (store, now) = (subject.store, subject.now)
        _ = try await store.importPeople(others, team: Bench.team, isRehearsal: false, at: now)
        try await store.write { transaction in
            try transaction.run(
                "INSERT INTO user_group (name, created_at, user) SELECT 'many', created_at, id FROM user")
        }
        let found = try await listed(
            UserFilter(group: "many", order: .lastSignIn), of: people, in: store, limit: 300)
        #expect(found.count == others.count + 5 && found.prefix(4) == ["ann", "kim", "eve", "bob"])
    }

    @Test("groups are named once each, in order", arguments: StoreKind.allCases)
    func groups(kind: StoreKind) async throws {
        let (subject, people) = try await town(kind)
        #expect(try await subject.store.groupNames(limit: 5) == [])
        for (name, groups) in [("ann", ["staff", "Ämter"]), ("bob", ["staff", "admins"])] {
            let id = try #require(people[name])
            _ = try await subject.store.patchUser(id, UserPatch(groups: groups), at: subject.now)
        }
        #expect(try await subject.store.groupNames(limit: 5) == ["admins", "staff", "Ämter"])
        #expect(try await subject.store.groupNames(limit: 1) == ["admins"])
    }

    @Test(
        "people who are signed in are counted once each; sessions of several are listed together",
        arguments: StoreKind.allCases)
    func sessions(kind: StoreKind) async throws {
        let (subject, people) = try await town(kind)
        let (store, now) = (subject.store, subject.now)
        let (ann, kim) = (try #require(people["ann"]), try #require(people["kim"]))
        let page = try await store.sessionsOfPeople(of: [kim, ann], after: nil, limit: 2, at: now)
        #expect(page.items.map(\.session.user) == [ann, kim])
        let rest = try await store.sessionsOfPeople(of: [kim, ann], after: page.next, limit: 2, at: now)
        #expect(rest.items.map(\.user?.id) == [ann] && rest.next == nil)
        #expect(try await store.sessionsOfPeople(of: [], after: nil, limit: 2, at: now).items.isEmpty)
        #expect(try await store.sessionsOfPeople(of: nil, after: nil, limit: 9, at: now).items.count == 5)
        _ = try await store.endSessions(of: try #require(people["bob"]), except: nil, cause: .signOut, at: now)
        #expect(try await store.signedInCount() == 3)
    }
}
