import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

extension Accounts.Database {
    /// Whether there was such a user.
    func setState(_ state: User.State, of id: UserID, at now: Timestamp) async throws(Failure) -> Bool {
        try await patchUser(id, UserPatch(state: state), at: now) != .unknown
    }
}

/// What the API, the account page and the commands may rely on, on either engine.
@Suite struct UserDirectoryContractTests {
    typealias Subject = StoreContractTests.Subject

    @Test("a user is found by id, by external id and by Apple subject, each exactly", arguments: StoreKind.allCases)
    func finds(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let store = subject.store
        let ann = try await subject.signIn("ann").user
        let bob = try await subject.signIn("bob").user
        _ = try await store.patchUser(ann, UserPatch(externalID: .some("caf\u{E9}")), at: subject.now)
        #expect(try await store.user(externalID: "caf\u{E9}")?.id == ann)
        // The same text to a reader, other bytes to an application.
        #expect(try await store.user(externalID: "cafe\u{301}") == nil)
        #expect(try await store.user(externalID: "") == nil)
        #expect(try await store.user(team: Bench.team, subject: AppleSubject("bob"))?.id == bob)
        #expect(try await store.user(team: Bench.team, subject: AppleSubject("BOB")) == nil)
        #expect(try await store.user(team: TeamID("OTHERTEAM1"), subject: AppleSubject("bob")) == nil)
        #expect(try await store.user(UserID(unchecked: "usr_none")) == nil)
    }

    @Test("a list pages through everyone once, oldest first", arguments: StoreKind.allCases)
    func lists(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        var expected: [UserID] = []
        for index in 0..<7 {
            expected.append(try await subject.signIn("person\(index)").user)
            // Two of the same millisecond are distinguished by their ids.
            if index != 3 { subject.clock.advance(seconds: 1) }
        }
        if expected[3].rawValue > expected[4].rawValue { expected.swapAt(3, 4) }
        for limit in [1, 2, 3, 7, 8] {
            var found: [UserID] = []
            var cursor: UserCursor?
            repeat {
                let page = try await subject.store.users(UserFilter(), after: cursor, limit: limit)
                #expect(page.items.count <= limit)
                found += page.items.map(\.id)
                cursor = page.next
            } while cursor != nil
            #expect(found == expected, "limit \(limit)")
        }
    }

    @Test("a conditional change is made only while its condition holds", arguments: StoreKind.allCases)
    func conditions(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let store = subject.store
        let ann = try await subject.signIn("ann").user
        let holds: UserCondition = { $0.groups.isEmpty }
        let patch = UserPatch(groups: ["staff"])
        guard case .patched = try await store.patchUser(ann, patch, if: holds, at: subject.now) else {
            throw Unexpected("the condition held")
        }
        let events = try await store.events(after: nil, limit: 100).count
        let again = UserPatch(externalID: .some("1"), groups: ["other"], state: .disabled)
        #expect(try await store.patchUser(ann, again, if: holds, at: subject.now) == .conditionFailed)
        #expect(try await store.deleteUser(ann, if: holds, at: subject.now) == .conditionFailed)
        #expect(try await store.events(after: nil, limit: 100).count == events)
        #expect(try await store.user(ann)?.groups == ["staff"])
        #expect(try await store.sessions(of: ann, at: subject.now).count == 1)
        // Of several at once that have seen the same, one wins.
        let seen: UserCondition = { $0.groups == ["staff"] }
        let wins = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let result = try? await store.patchUser(
                        ann, UserPatch(groups: ["g\(number)"]), if: seen, at: subject.now)
                    if case .patched = result { return true }
                    return false
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wins == 1)
        #expect(try await store.deleteUser(ann, if: { _ in true }, at: subject.now) != .unknown)
        #expect(try await store.deleteUser(ann, if: { _ in false }, at: subject.now) == .unknown)
    }

    @Test("people are found by address, whatever the case of its letters", arguments: StoreKind.allCases)
    func findsByAddress(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        for (name, address) in [("ann", "Ann@Example.com"), ("bob", "bob@example.com"), ("eve", "ann@example.com")] {
            _ = try await subject.store.completeSignIn(record(name, email: address, at: subject.now))
            subject.clock.advance(seconds: 1)
        }
        func find(_ address: String, after: UserCursor? = nil, limit: Int = 9) async throws -> UserPage {
            try await subject.store.users(UserFilter(email: address), after: after, limit: limit)
        }
        #expect(
            try await find("ann@example.com").items.compactMap(\.email?.address) == [
                "Ann@Example.com", "ann@example.com",
            ])
        #expect(try await find("ann@example.co").items.isEmpty)
        #expect(try await find("%").items.isEmpty)
        let first = try await find("ANN@example.com", limit: 1)
        #expect(try await find("ANN@example.com", after: first.next).items.map(\.appleSubject.rawValue) == ["eve"])
    }

    @Test(
        "a patch writes one event with the names of what changed, and none when nothing did",
        arguments: StoreKind.allCases)
    func patches(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let ann = try await subject.signIn("ann").user
        let before = try await subject.journal().count
        let patch = UserPatch(externalID: .some("42"), groups: ["staff"])
        guard case .patched(let user) = try await subject.store.patchUser(ann, patch, at: subject.now) else {
            throw Unexpected("not patched")
        }
        #expect(user.externalID == "42" && user.groups == ["staff"])
        #expect(try await subject.store.user(ann) == user)
        #expect(try await subject.store.patchUser(ann, patch, at: subject.now) == .patched(user))
        let events = try await subject.journal().dropFirst(before)
        #expect(events.map(\.kind) == [.userUpdated])
        #expect(events.first?.fields == ["externalID", "groups"])
        _ = try await subject.store.patchUser(ann, UserPatch(externalID: .some(nil)), at: subject.now)
        #expect(try await subject.store.user(ann)?.externalID == nil)
        #expect(try await subject.store.user(ann)?.groups == ["staff"])
        #expect(
            try await subject.store.patchUser(UserID(unchecked: "usr_none"), patch, at: subject.now) == .unknown)
    }

    @Test("an external id has one owner", arguments: StoreKind.allCases)
    func externalIDIsUnique(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let ann = try await subject.signIn("ann").user
        let bob = try await subject.signIn("bob").user
        let patch = UserPatch(externalID: .some("42"), groups: ["staff"])
        _ = try await subject.store.patchUser(ann, patch, at: subject.now)
        let before = try await subject.journal()
        #expect(try await subject.store.patchUser(bob, patch, at: subject.now) == .externalIDTaken(by: ann))
        #expect(try await subject.store.user(bob)?.groups == [])
        #expect(try await subject.journal() == before)
        _ = try await subject.store.patchUser(ann, UserPatch(externalID: .some(nil)), at: subject.now)
        guard case .patched = try await subject.store.patchUser(bob, patch, at: subject.now) else {
            throw Unexpected("the id was free")
        }
    }

    @Test("sessions end one by one, or all but one, and only their owner's", arguments: StoreKind.allCases)
    func endsSessions(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let store = subject.store
        let mine = [
            try await subject.signIn("ann"), try await subject.signIn("ann"), try await subject.signIn("ann"),
        ]
        let other = try await subject.signIn("bob")
        #expect(
            try await !store.endSession(other.id, of: mine[0].user, cause: .revokedByUser, at: subject.now))
        #expect(try await subject.isLive(other))
        #expect(try await store.endSession(mine[0].id, of: mine[0].user, cause: .revokedByUser, at: subject.now))
        #expect(
            try await !store.endSession(mine[0].id, of: mine[0].user, cause: .revokedByUser, at: subject.now))
        let count = try await store.endSessions(
            of: mine[0].user, except: mine[2].id, cause: .revokedByUser, at: subject.now)
        #expect(count == 1)
        #expect(try await !subject.isLive(mine[1]))
        #expect(try await subject.isLive(mine[2]))
        #expect(
            try await store.endSessions(of: mine[0].user, except: nil, cause: .revokedByOperator, at: subject.now) == 1)
        #expect(try await subject.isLive(other))
        let ended = try await subject.journal().filter { $0.kind == .sessionEnded }
        #expect(ended.map(\.session) == mine.map { Optional($0.id) })
    }

    @Test(
        "a deleted user is gone with every session; the same person later is somebody new",
        arguments: StoreKind.allCases)
    func deletes(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let session = try await subject.signIn("ann")
        let bystander = try await subject.signIn("bob")
        #expect(try await subject.store.deleteUser(session.user, at: subject.now) != .unknown)
        #expect(try await subject.store.deleteUser(session.user, at: subject.now) == .unknown)
        #expect(try await !subject.isLive(session))
        #expect(try await subject.isLive(bystander))
        #expect(try await subject.store.user(session.user) == nil)
        let journal = try await subject.journal()
        #expect(journal.suffix(2).map(\.kind) == [.sessionEnded, .accountDeleted])
        #expect(journal.suffix(2).first?.cause == .accountDeleted)
        #expect(try await subject.signIn("ann").user != session.user)
    }
}
