import Coding
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// `sessions.perUser`: how many sessions one person may have.
@Suite struct SessionLimitTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func open(perUser: Int) throws -> Accounts.Database {
        var options = bench.options()
        options.sessionLimits.perUser = perUser
        return try bench.open(options)
    }

    /// The sessions of sign-ins a second apart.
    private func signIn(_ count: Int, _ database: Accounts.Database, _ subject: String = "ann") async throws
        -> [Session]
    {
        var made: [Session] = []
        for _ in 0..<count {
            bench.clock.advance(seconds: 1)
            made.append(
                try #require(try await database.completeSignIn(record(subject, at: bench.clock.now())).session))
        }
        return made
    }

    private func live(_ session: Session, _ database: Accounts.Database) async throws -> [SessionID] {
        try await database.sessions(of: session.user, at: bench.clock.now()).map(\.id)
    }

    @Test("at the limit no session ends; one more ends the oldest, with its events")
    func oldestEnds() async throws {
        let database = try open(perUser: 3)
        let other = try await signIn(1, database, "bob")[0]
        let made = try await signIn(3, database)
        #expect(try await live(made[0], database) == made.reversed().map(\.id))
        let events = try await database.events(after: nil, limit: 100).count
        // The oldest by its sign-in, however lately it was used.
        try await database.touch(made[0].id, at: bench.clock.now())
        let last = try await signIn(1, database)[0]
        #expect(try await live(last, database) == [last.id, made[2].id, made[1].id])
        #expect(try await database.signedIn(token: made[0].tokenHash, at: bench.clock.now()) == nil)
        let told = try await database.events(after: nil, limit: 100).dropFirst(events)
        #expect(told.map(\.kind) == [.sessionCreated, .sessionEnded])
        #expect(told.last?.session == made[0].id && told.last?.cause == .replaced)
        #expect(try await live(other, database) == [other.id])
    }

    @Test("ending a session at the limit notifies its applications")
    func logoutTokens() async throws {
        let database = try open(perUser: 1)
        let now = bench.clock.now()
        let client = OpenIDClient(
            id: OpenIDClientID(unchecked: "program"), name: "program", secrets: nil,
            redirectURIs: ["https://program.example.com/callback"],
            backChannelLogoutURI: "https://program.example.com/logout", createdAt: now, updatedAt: now)
        _ = try await database.changeOpenIDClients(at: now) { _ in [client] }
        let first = try await signIn(1, database)[0]
        _ = try await database.write(at: now) { transaction in
            try transaction.recordParticipant(client.id, in: first.id)
        }
        _ = try await signIn(1, database)
        let work = try await database.webhookWork(at: bench.clock.now())
        let endpoint = try #require(work.due.first)
        let due = try await database.dueWebhooks(for: endpoint, limit: 10, at: bench.clock.now())
        #expect(due.map(\.entry.session) == [first.id] && due.map(\.entry.kind) == [.sessionEnded])
    }

    @Test("a person far above a new limit loses the oldest hundred sessions with each sign-in")
    func atMostAHundred() async throws {
        let before = try bench.open()
        let made = try await signIn(250, before)
        before.close()
        let database = try open(perUser: 10)
        for left in [151, 52, 10, 10] {
            let last = try await signIn(1, database)[0]
            let ids = try await live(last, database)
            #expect(ids.count == left && ids.first == last.id)
        }
        #expect(try await database.signedIn(token: made[249].tokenHash, at: bench.clock.now()) != nil)
        #expect(try await database.signedIn(token: made[240].tokenHash, at: bench.clock.now()) == nil)
    }

    @Test("pages by the last use hold each session once, those of one moment too", arguments: [1, 3, 25])
    func pagesByUse(limit: Int) async throws {
        let database = try bench.open()
        let made = try await signIn(9, database)
        // Three are used at one moment, later than all sign-ins.
        let later = bench.clock.now().adding(seconds: 60)
        for session in made.prefix(3) { try await database.touch(session.id, at: later) }
        var found: [Session] = []
        var place: SessionCursor?
        repeat {
            let page = try await database.sessions(
                of: made[0].user, by: .lastUsed, after: place, limit: limit, at: later)
            #expect(page.items.count <= limit)
            found += page.items
            place = page.next
        } while place != nil
        #expect(found.count == 9 && Set(found.map(\.id)) == Set(made.map(\.id)))
        #expect(Set(found.prefix(3).map(\.id)) == Set(made.prefix(3).map(\.id)))
        #expect(found.dropFirst(3).map(\.id) == made.dropFirst(3).reversed().map(\.id))
    }
}
