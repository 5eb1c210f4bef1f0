import Coding
import Crypto
import Foundation
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// Writes that share a transaction. On PostgreSQL those of different people read together, before any of them changes
/// anything.
@Suite struct WriteBatchTests {
    private static let engines = [false, true]

    /// Runs the writes in one batch: they wait while another occupies the writer.
    private func together<Value: Sendable>(
        _ database: Accounts.Database, _ writes: [@Sendable () async -> Value]
    ) async -> [Value] {
        let gate = DispatchSemaphore(value: 0)
        return await withTaskGroup(of: (Int, Value)?.self) { group in
            group.addTask {
                try? await database.write { _ in
                    gate.wait()
                    // A write may run twice.
                    gate.signal()
                }
                return nil
            }
            while database.store.statistics.running < 1 { await Task.yield() }
            for (index, write) in writes.enumerated() { group.addTask { (index, await write()) } }
            while database.store.statistics.pending < writes.count { await Task.yield() }
            gate.signal()
            return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self).sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func signIn(_ database: Accounts.Database, _ record: SignInRecord) -> @Sendable () async -> SignInResult? {
        { try? await database.completeSignIn(record) }
    }

    @Test("people who sign in together, new or not, each get their own", arguments: engines)
    func manyPeople(isPostgres: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: isPostgres).opened()
        for isNew in [true, false] {
            let before = database.store.statistics
            let records = (0..<30).map { record("person\($0)", at: bench.clock.now()) }
            let results = await together(database, records.map { signIn(database, $0) })
            for (record, result) in zip(records, results) {
                let session = try #require(result?.session)
                #expect(session.tokenHash == record.tokenHash)
                let found = try #require(try await database.signedIn(token: session.tokenHash, at: record.now))
                #expect(found.user.appleSubject == record.claims.subject)
                #expect(found.session == session)
                guard case .signedIn(_, _, isNew) = result else {
                    Issue.record("\(record.claims.subject): \(String(describing: result))")
                    continue
                }
            }
            #expect(database.store.statistics.transactions <= before.transactions + 2)
            #expect(database.store.statistics.lost == before.lost)
        }
        let events = try await database.events(after: nil, limit: 1_000)
        #expect(events.filter { $0.kind == .userCreated }.count == 30)
        #expect(events.filter { $0.kind == .sessionCreated }.count == 60)
    }

    // One batch each: where the database itself refuses the second, it would hide what happens to the others.

    @Test("concurrent sign-ins of a new person create one user", arguments: engines)
    func onePerson(isPostgres: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: isPostgres).opened()
        let records = (0..<4).map { _ in record("ann", at: bench.clock.now()) }
        let results = await together(database, records.map { signIn(database, $0) })
        #expect(Set(results.compactMap { $0?.session?.user }).count == 1)
        #expect(Set(results.compactMap { $0?.session?.id }).count == 4)
        #expect(try await database.events(after: nil, limit: 1_000).filter { $0.kind == .userCreated }.count == 1)
    }

    @Test("concurrent uses of an attempt create one session, which the others return", arguments: engines)
    func oneAttempt(isPostgres: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: isPostgres).opened()
        let attempt = randomDigest()
        let records = (0..<4).map { _ in record("ann", attempt: attempt, at: bench.clock.now()) }
        let results = await together(database, records.map { signIn(database, $0) })
        let sessions = results.compactMap { $0?.session?.id }
        #expect(sessions.count == 1)
        for result in results where result?.session == nil {
            guard case .alreadyUsed(let used) = result else {
                Issue.record("\(String(describing: result))")
                continue
            }
            #expect(used.session == sessions.first)
        }
    }

    /// Nothing in the database refuses this one: only that the second runs after the first.
    @Test("a session that two sign-ins of a batch replace ends once", arguments: engines)
    func replacedTwice(isPostgres: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: isPostgres).opened()
        let now = bench.clock.now()
        let old = try #require(try await database.completeSignIn(record("ann", at: now)).session)
        let records = ["bob", "carl"].map { record($0, replacing: old.id, at: now) }
        let results = await together(database, records.map { signIn(database, $0) })
        #expect(results.compactMap { $0?.session }.count == 2)
        #expect(try await database.signedIn(token: old.tokenHash, at: now) == nil)
        let ends = try await database.events(after: nil, limit: 1_000).filter { $0.kind == .sessionEnded }
        #expect(ends.map(\.session) == [old.id])
    }

    @Test("a write that the database refuses does not affect its batch", arguments: engines)
    func refused(isPostgres: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: isPostgres).opened()
        let now = bench.clock.now()
        let taken = try #require(try await database.completeSignIn(record("first", at: now)).session)
        var records = (0..<10).map { record("person\($0)", at: now) }
        records[6].token = .made(taken.tokenHash)
        let results = await together(database, records.map { signIn(database, $0) })
        for (index, result) in results.enumerated() { #expect((result?.session == nil) == (index == 6)) }
        let people = try await database.events(after: nil, limit: 1_000).filter { $0.kind == .userCreated }
        #expect(people.count == 10)
    }

    /// Its reads go with the begin of the transaction.
    @Test("a write whose read the database refuses does not affect its batch")
    func refusedRead() async throws {
        let (bench, database) = try Bench(isPostgres: true).opened()
        let now = bench.clock.now()
        let impossible: @Sendable () async -> SignInResult? = {
            try? await database.write(at: now) { transaction in
                transaction.claim(.subject(AppleSubject("nobody")))
                _ = try transaction.firstRow("SELECT 1 / count(*) AS none FROM user WHERE id = ?", ["nobody"])
                try transaction.run("DELETE FROM first_consent WHERE subject = ?", ["nobody"])
            }
            return nil
        }
        let records = (0..<4).map { record("person\($0)", at: now) }
        let results = await together(database, records.map { signIn(database, $0) } + [impossible])
        #expect(results.compactMap { $0?.session }.count == 4)
        #expect(results.last == .some(nil))
        #expect(database.store.statistics.pending == 0)
    }

    @Test("consent that ends in the batch of a sign-in leaves no session", arguments: engines)
    func endsTogether(isPostgres: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: isPostgres).opened()
        let now = bench.clock.now()
        _ = try await database.completeSignIn(record("ann", at: now))
        let again = record("ann", at: now)
        let ended = notification(.consentRevoked, time: now)
        let end: @Sendable () async -> SignInResult? = {
            _ = try? await database.apply(ended, team: Bench.team, at: now)
            return nil
        }
        let results = await together(database, [signIn(database, again), end])
        #expect(results.count == 2)
        #expect(try await database.signedIn(token: again.tokenHash, at: now) == nil)
    }

    @Test("a session that two sign-ins of a batch would end ends once", arguments: engines)
    func endsOnce(isPostgres: Bool) async throws {
        let bench = try Bench(isPostgres: isPostgres)
        var options = bench.options()
        options.sessionLimits.perUser = 1
        let database = try bench.open(options)
        let now = bench.clock.now()
        let first = try #require(try await database.completeSignIn(record("ann", at: now)).session)
        let records = [record("ann", at: now), record("bob", replacing: first.id, at: now)]
        let results = await together(database, records.map { signIn(database, $0) })
        #expect(results.compactMap { $0?.session }.count == 2)
        let ended = try await database.events(after: nil, limit: 100).filter { $0.kind == .sessionEnded }
        #expect(ended.map(\.session) == [first.id])
    }

    /// Each try but the last is a trip for all of the batch.
    @Test(
        "after a few tries a sign-in's reads are known, and it runs with others",
        arguments: [(false, false), (true, false), (true, true)])
    func readsAhead(isKnown: Bool, inTheSameBrowser: Bool) async throws {
        let (bench, database) = try Bench(isPostgres: true).opened()
        let now = bench.clock.now()
        let old = isKnown ? try await database.completeSignIn(record("ann", at: now)).session : nil
        let next = record("ann", replacing: inTheSameBrowser ? old?.id : nil, at: now)
        let tries = try database.store.engine.writer.sync { connection in
            let connection = try #require(connection as? PostgresConnection)
            try connection.begin(.write)
            defer { connection.rollBack() }
            let ahead = PostgresReadAhead(connection.statementTables)
            for number in 1...9 {
                let outcome = try ahead.run { connection in
                    _ = try Transaction(connection, database.context, at: now).completeSignIn(next)
                    return FinishedWrite(answer: {}, effect: nil)
                }
                switch outcome {
                case .done: return number
                case .alone: return -1
                case .unknown: try connection.read(for: [ahead])
                }
            }
            return 0
        }
        #expect(tries == (isKnown ? 3 : 2))
    }
}
