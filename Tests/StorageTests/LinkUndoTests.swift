import Coding
import Crypto
import Gates
import MemoryStores
import RelyingParty
import Storage
import Strangers
import Testing

/// A 409 takes back what the link did, and nothing that anybody else did.
@Suite struct LinkUndoTests {
    private static let formerTeam = TeamID("FORMER1234")

    /// Joins somebody whose identity is of the team before to whoever is known by this subject now.
    /// - Returns: the one who stays.
    private func join(_ subject: String, _ bench: LinkBench) async throws -> UserID {
        var first = record("old-\(subject)", at: bench.now)
        first.team = Self.formerTeam
        let user = try #require(try await bench.database.completeSignIn(first).user)
        let person = try #require(
            try await bench.database.peopleToExport(
                of: Self.formerTeam, to: Bench.team, again: false, after: nil, limit: 10
            ).first)
        let answer = TransferAnswer(person: person, outcome: .value(TransferSubject("t.\(subject)")))
        _ = try await bench.database.keepExports([answer], of: Self.formerTeam, to: Bench.team, at: bench.now)
        let moved = try #require(
            try await bench.database.peopleToImport(to: Bench.team, again: false, after: nil, limit: 10).first)
        let result = try await bench.database.move(
            moved, to: TransferredIdentity(subject: AppleSubject(subject), email: nil), of: Bench.team, joins: true,
            at: bench.now)
        guard case .joined(user.id, _) = result else { throw LinkBench.Unexpected() }
        try await forget(user.id, bench)
        return user.id
    }

    /// Their sessions, past and present, must not be what saves them.
    private func forget(_ user: UserID, _ bench: LinkBench) async throws {
        _ = try await bench.database.endSessions(of: user, except: nil, cause: .signOut, at: bench.now)
        try bench.bench.stranger().write { try $0.execute("DELETE FROM event") }
    }

    @Test("a user made by the link became part of another: that one stays, without the account")
    func joinedMeanwhile() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting(then: [.refused])
        let user = try await join("ann", bench)
        #expect(try await bench.user()?.id == user)
        await bench.askAgain()
        #expect(try await bench.row(LinkKey(start.id)).state == .failed)
        let after = try await bench.database.user(user)
        #expect(after != nil && after?.externalID == nil)
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        #expect(session.user == user)
    }

    @Test("a user made by the link has taken another in: they stay")
    func tookAnotherIn() async throws {
        let bench = try LinkBench()
        // The link's user is the one of the former team, and moves to where they are known already.
        let apple = LinkApple(clock: bench.clock, team: Self.formerTeam)
        let former = try LinkBench(bench.bench, apple: apple, application: bench.application)
        let start = try await former.converting("old-ann", then: [.refused])
        guard case .signedIn(_, let second, _) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        let user = try #require(try await bench.user())
        #expect(user.id != second.user)
        let person = try #require(
            try await bench.database.peopleToExport(
                of: Self.formerTeam, to: Bench.team, again: false, after: nil, limit: 10
            ).first)
        let answer = TransferAnswer(person: person, outcome: .value(TransferSubject("t.ann")))
        _ = try await bench.database.keepExports([answer], of: Self.formerTeam, to: Bench.team, at: bench.now)
        let moved = try #require(
            try await bench.database.peopleToImport(to: Bench.team, again: false, after: nil, limit: 10).first)
        #expect(
            try await bench.database.move(
                moved, to: TransferredIdentity(subject: AppleSubject("ann"), email: nil), of: Bench.team, joins: true,
                at: bench.now) == .joined(user.id, from: second.user))
        try await forget(user.id, bench)
        await bench.askAgain()
        #expect(try await bench.row(LinkKey(start.id)).state == .failed)
        #expect(try await bench.database.user(user.id) != nil)
        former.database.close()
    }

    @Test("whom the account was taken from became part of another: it goes back to that one")
    func formerOwnerJoined() async throws {
        let bench = try LinkBench()
        _ = try await bench.linked("account-1", "bob")
        bench.application.set { $0.answers = [.failure(.unavailable("down")), .success(.refused)] }
        let failure = try await bench.failure("account-1", "ann", kind: .upgrade, mayReplace: true)
        #expect(failure == .conversionFailed(retryAfter: 5))
        let bob = try await join("bob", bench)
        await bench.askAgain()
        #expect(try await bench.user()?.id == bob)
    }

    /// What the application did to the user the link made.
    enum Given: CaseIterable, Sendable {
        case groups, externalID, groupsInFlight, externalIDInFlight, disabledInFlight
    }

    @Test("what the application has given the user the link made keeps them", arguments: Given.allCases)
    func givenMeanwhile(given: Given) async throws {
        let bench = try LinkBench()
        bench.account()
        bench.application.set { $0.answers = [.failure(.unavailable("down")), .success(.refused)] }
        let start = try await bench.upgrade()
        _ = await reason { _ = try await bench.finish(start) }
        let user = try #require(try await bench.user())
        let patch =
            switch given {
            case .groups, .groupsInFlight: UserPatch(groups: ["staff"])
            case .externalID, .externalIDInFlight: UserPatch(externalID: "renamed")
            case .disabledInFlight: UserPatch(state: .disabled)
            }
        if given == .groups || given == .externalID {
            _ = try await bench.database.patchUser(user.id, patch, at: bench.now)
            _ = await reason { _ = try await bench.finish(start) }
        } else {
            bench.application.gate.shut()
            async let outcome = reason { _ = try await bench.finish(start) }
            await bench.application.gate.arrived(2)
            _ = try await bench.database.patchUser(user.id, patch, at: bench.now)
            bench.application.gate.open()
            #expect(await outcome == "conversion-failed")
        }
        #expect(try await bench.row(LinkKey(start.id)).state == .failed)
        let after = try #require(try await bench.database.user(user.id))
        let isRenamed = given == .externalID || given == .externalIDInFlight
        #expect(after.externalID == (isRenamed ? "renamed" : nil))
        #expect(try await !bench.events().contains { $0.hasPrefix("account.deleted") })
    }

    @Test("signed in meanwhile, signed out, and the journal is empty: they stay")
    func signedInLongAgo() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting(then: [.refused])
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        _ = try await bench.database.endSession(session.id, cause: .signOut, at: bench.now)
        bench.clock.advance(seconds: 100 * 86_400)
        _ = try await bench.database.maintain(at: bench.now)
        #expect(try await bench.events() == ["session.ended sign_out"])
        await bench.askAgain()
        #expect(try await bench.row(LinkKey(start.id)).state == .failed)
        let after = try await bench.database.user(session.user)
        #expect(after != nil && after?.externalID == nil)
    }

    @Test("the end of a user the link made says that the account lost them first, and why they go")
    func tellsWhy() async throws {
        let bench = try LinkBench()
        _ = try await bench.converting(then: [.refused])
        await bench.askAgain()
        #expect(try await bench.user() == nil)
        #expect(
            try await bench.events() == [
                "user.created", "user.updated externalID", "account.deleted link_removed",
            ])
    }
}
