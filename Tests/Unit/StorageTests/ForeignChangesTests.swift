import Coding
import Crypto
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// Two databases on one file simulate two processes.
@Suite(.onSQLite) struct ForeignChangesTests {
    private struct Two {
        let bench: Bench
        let ours: Accounts.Database
        let theirs: Accounts.Database
        let session: Session
        let cache: SessionCache
        var now: Timestamp { bench.clock.now() }

        init() async throws {
            bench = try Bench()
            ours = try bench.open()
            theirs = try bench.open()
            session = try #require(
                try await ours.completeSignIn(record("ann", at: bench.clock.now())).session)
            cache = SessionCache(
                reader: try ours.makeReader(), invalidations: ours.invalidations, limits: Bench.limits, capacity: 10)
            ours.store.tick(at: now)
        }

        func look() throws -> String? {
            try cache.text(of: session.tokenHash, at: now) {
                ([$0.user.state.rawValue] + $0.user.groups).joined(separator: " ")
            }?
            .text
        }
    }

    @Test("a session ended by another process is refused after the next tick")
    func seesEndedSessions() async throws {
        let two = try await Two()
        #expect(try two.look() == "active")
        #expect(try await two.theirs.endSession(two.session.id, cause: .revokedByOperator, at: two.now))
        two.ours.store.tick(at: two.now)
        #expect(try two.look() == nil)
    }

    @Test("a user another process changed is read again after the next tick")
    func seesChangedUsers() async throws {
        let two = try await Two()
        #expect(try two.look() == "active")
        _ = try await two.theirs.patchUser(two.session.user, UserPatch(groups: ["staff"]), at: two.now)
        two.ours.store.tick(at: two.now)
        #expect(try two.look() == "active staff")
        // Who waits for approval again is out.
        #expect(try await two.theirs.setState(.pending, of: two.session.user, at: two.now))
        two.ours.store.tick(at: two.now)
        #expect(try two.look() == nil)
    }

    @Test("without a tick for a second the cache is bypassed, so an ended session is refused within a second")
    func bypassesWithoutTicks() async throws {
        let two = try await Two()
        #expect(try two.look() == "active")
        #expect(try await two.theirs.endSession(two.session.id, cause: .revokedByOperator, at: two.now))
        two.bench.clock.advance(milliseconds: 1_001)
        #expect(try two.look() == nil)
    }

    @Test("before the first tick nothing is answered from memory")
    func distrustsUntilFirstTick() async throws {
        let (bench, database) = try Bench().opened()
        #expect(!database.invalidations.trust.holds(at: bench.clock.now()))
        database.store.tick(at: bench.clock.now())
        #expect(database.invalidations.trust.holds(at: bench.clock.now()))
    }

    @Test("a tick with nothing new evicts nothing")
    func evictsNothingElse() async throws {
        let two = try await Two()
        #expect(try two.look() == "active")
        let before = two.ours.invalidations.generation
        try await two.theirs.touch(two.session.id, at: two.now.adding(seconds: 1))
        _ = try await two.theirs.completeSignIn(record("bob", at: two.now))
        two.ours.store.tick(at: two.now)
        #expect(two.ours.invalidations.generation == before)
    }

    @Test("when unread journal entries were deleted, everything is read again")
    func dropsAllAfterGap() async throws {
        let two = try await Two()
        #expect(try two.look() == "active")
        _ = try await two.theirs.endSession(two.session.id, cause: .signOut, at: two.now)
        try two.theirs.executeOnWriter("DELETE FROM event")
        _ = try await two.theirs.completeSignIn(record("bob", at: two.now))
        two.ours.store.tick(at: two.now)
        #expect(try two.look() == nil)
    }

    @Test("after the database failed to answer, ticks recover by themselves")
    func recovers() async throws {
        let two = try await Two()
        // A dropped table simulates a damaged page: reading the journal fails.
        try two.theirs.executeOnWriter("ALTER TABLE event RENAME TO gone")
        two.bench.clock.advance(milliseconds: 2_000)
        two.ours.store.tick(at: two.now)
        #expect(!two.ours.invalidations.trust.holds(at: two.now))
        try two.theirs.executeOnWriter("ALTER TABLE gone RENAME TO event")
        two.ours.store.tick(at: two.now)
        #expect(two.ours.invalidations.trust.holds(at: two.now))
    }
}
