import Coding
import Crypto
import Stores
import Strangers
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

/// What the operator's commands read and change beside a server.
@Suite struct OperatorStoreTests {
    let bench: Bench
    let database: Accounts.Database

    init() throws {
        (bench, database) = try Bench().opened()
    }

    private func signIn(_ subject: String) async throws -> Session {
        let result = try await database.completeSignIn(record(subject, at: bench.clock.now()))
        bench.clock.advance(seconds: 1)
        return try #require(result.session)
    }

    @Test func sessionsOfEverybodyNewestFirst() async throws {
        var made: [SessionID] = []
        for subject in ["ann", "bob", "ann"] { made.append(try await signIn(subject).id) }
        let now = bench.clock.now()
        let all = try await database.sessions(of: nil, after: nil, limit: 10, at: now)
        #expect(all.items.map(\.id) == made.reversed() && all.next == nil)
        var paged: [SessionID] = []
        var cursor: SessionCursor?
        repeat {
            let page = try await database.sessions(of: nil, after: cursor, limit: 1, at: now)
            paged += page.items.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(paged == made.reversed())
        let bob = try #require(try await database.user(team: Bench.team, subject: AppleSubject("bob")))
        #expect(try await database.sessions(of: bob.id, after: nil, limit: 10, at: now).items.map(\.id) == [made[1]])
        // Idle for an hour: over, though not yet swept away.
        let later = now.adding(seconds: Bench.limits.idleTimeout)
        #expect(try await database.sessions(of: nil, after: nil, limit: 10, at: later).items.isEmpty)
    }

    @Test func everyoneIsSignedOut() async throws {
        for number in 0..<450 { _ = try await database.completeSignIn(record("s\(number)", at: bench.clock.now())) }
        let now = bench.clock.now()
        bench.clock.advance(seconds: 1)
        let late = try await signIn("late")
        #expect(try await database.endAllSessions(cause: .revokedByOperator, at: now) == 450)
        let left = try await database.sessions(of: nil, after: nil, limit: 10, at: bench.clock.now())
        #expect(left.items.map(\.id) == [late.id], "who signed in meanwhile stays")
        let ended = try await database.events(after: nil, limit: 10_000).filter { $0.kind == .sessionEnded }
        #expect(ended.count == 450 && ended.allSatisfy { $0.cause == .revokedByOperator })
    }

    @Test func notificationsNewestFirst() async throws {
        for number in 0..<5 {
            let kind: AppleNotification.Kind = number == 3 ? .unknown : .consentRevoked
            _ = try await database.apply(
                notification(kind, id: "n\(number)", time: bench.clock.now()), team: Bench.team, at: bench.clock.now())
            // Two at the same moment.
            if number != 1 { bench.clock.advance(seconds: 1) }
        }
        var ids: [String] = []
        var cursor: TimedPlace?
        repeat {
            let page = try await database.notifications(outcome: nil, after: cursor, limit: 2)
            ids += page.items.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(ids == ["n4", "n3", "n2", "n1", "n0"])
        let unknown = try await database.notifications(outcome: .unknownType, after: nil, limit: 10)
        #expect(unknown.items.map(\.id) == ["n3"])
        #expect(try await database.notification("n0")?.outcome == .unknownSubject)
        #expect(try await database.notification("none") == nil)
    }

    private func replay(_ id: String) async throws -> NotificationReplay {
        try await database.replayNotification(id, team: Bench.team, at: bench.clock.now())
    }

    @Test func replayAppliesIneffectiveNotificationsOnce() async throws {
        let now = bench.clock.now()
        _ = try await database.apply(notification(.consentRevoked, id: "n", time: now), team: Bench.team, at: now)
        #expect(try await replay("n") == .replayed(.unknownSubject))
        let ann = ImportedPerson(
            newUser: RandomIdentifier(random: SystemRandom()).make(), subject: AppleSubject("ann"),
            credential: ImportedPerson.Credential(clientID: Bench.web, sealedRefreshToken: [1]))
        _ = try await database.importPeople([ann], team: Bench.team, isRehearsal: false, at: now)
        #expect(try await replay("n") == .replayed(.applied))
        #expect(try await database.user(ann.newUser)?.credentialState == .revoked)
        #expect(try await database.notification("n")?.outcome == .applied)
        let events = try await database.events(after: nil, limit: 100)
        #expect(try await replay("n") == .appliedBefore)
        #expect(try await database.events(after: nil, limit: 100) == events)
    }

    /// A sign-in after the event is not ended by its replay.
    @Test func replayKeepsTheRulesOfTime() async throws {
        let now = bench.clock.now()
        _ = try await database.apply(notification(.consentRevoked, id: "n", time: now), team: Bench.team, at: now)
        bench.clock.advance(seconds: 60)
        let session = try await signIn("ann")
        #expect(try await replay("n") == .replayed(.applied))
        let live = try await database.sessions(of: nil, after: nil, limit: 10, at: bench.clock.now())
        #expect(live.items.map(\.id) == [session.id])
        #expect(try await database.user(session.user)?.credentialState == .authorized)
    }

    @Test func replayErasesAndThenRefuses() async throws {
        let now = bench.clock.now()
        _ = try await database.apply(notification(.accountDeleted, id: "n", time: now), team: Bench.team, at: now)
        let ann = ImportedPerson(
            newUser: RandomIdentifier(random: SystemRandom()).make(), subject: AppleSubject("ann"))
        _ = try await database.importPeople([ann], team: Bench.team, isRehearsal: false, at: now)
        #expect(try await replay("n") == .replayed(.applied))
        #expect(try await database.user(ann.newUser) == nil)
        #expect(try await database.notification("n")?.payload == nil)
        #expect(try await replay("n") == .erased)
        #expect(try await replay("none") == .unknown)
    }

    @Test func theJournalIsFollowed() async throws {
        _ = try await signIn("ann")
        _ = try await signIn("bob")
        let last = try await database.lastEvents(JournalFilter(), limit: 3)
        #expect(last.entries.map(\.kind) == [.sessionCreated, .userCreated, .sessionCreated])
        #expect(try await database.lastEvents(JournalFilter(), limit: 0).end == last.end)
        let bob = try #require(last.entries.last?.user)
        let sessions = JournalFilter(kinds: [.sessionCreated], user: bob)
        #expect(try await database.lastEvents(sessions, limit: 10).entries.map(\.id) == [last.entries[2].id])
        #expect(try await database.events(JournalFilter(), after: last.end, limit: 10).entries.isEmpty)

        _ = try await signIn("cid")
        _ = try await signIn("bob")
        // The place moves over what is not wanted.
        let part = try await database.events(sessions, after: last.end, limit: 2)
        #expect(part.entries.isEmpty && part.end > last.end)
        let rest = try await database.events(sessions, after: part.end, limit: 10)
        #expect(rest.entries.map(\.user) == [bob])
        let first = try #require(last.entries.first)
        let place = try #require(try await database.position(of: first.id))
        #expect(place < last.end)
        #expect(try await database.position(of: EventID(unchecked: "evt_none")) == nil)
        // Had this place before a restore.
        let former = EventID(sequence: 2, salt: [UInt8](repeating: 7, count: EventID.saltCount))
        #expect(first.id.sequenceAndSalt?.sequence == 2)
        #expect(try await database.position(of: former) == nil)
        // The last is never deleted. The first run ends the sessions.
        bench.clock.advance(milliseconds: 366 * 86_400_000)
        _ = try await database.maintain(at: bench.clock.now())
        let end = try await database.lastEvents(JournalFilter(), limit: 1).end
        bench.clock.advance(milliseconds: 366 * 86_400_000)
        #expect(try await database.maintain(at: bench.clock.now()).events > 0)
        let kept = try await database.lastEvents(JournalFilter(), limit: 3)
        #expect(kept.entries.count == 1 && kept.end == end)
    }

    private var beside: DatabaseOptions {
        var options = bench.options()
        options.store.use = .command
        return options
    }

    /// Neither made nor upgraded, and the log is left to the server.
    @Test(
        "A command running beside a server does not change the schema", .onSQLite,
        arguments: [StoreOptions.Use.command, .successor])
    func noSchemaIsChangedBesideAServer(use: StoreOptions.Use) throws {
        var beside = beside
        beside.store.use = use
        _ = try bench.open(beside)
        database.close()
        try bench.stranger().write { try $0.execute("DELETE FROM migration") }
        #expect(throws: StorageOpenError.olderSchema(bench.folder.path + "/bramley.db")) { _ = try bench.open(beside) }
        let empty = try Bench()
        var options = empty.options()
        options.store.use = use
        #expect(throws: StorageOpenError.olderSchema(empty.folder.path + "/bramley.db")) { _ = try empty.open(options) }
        #expect(!Store.exists(in: empty.folder.path))
    }

    @Test func writesOfACommandAreThereAfterItClosed() async throws {
        let command = try bench.open(beside)
        let result = try await command.completeSignIn(record("ann", at: bench.clock.now()))
        command.close()
        let user = try #require(result.user)
        #expect(try await database.user(user.id) == user)
    }
}
