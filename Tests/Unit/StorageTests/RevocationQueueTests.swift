import Coding
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

@Suite struct RevocationQueueTests {
    private func delete(_ subject: String, _ database: Accounts.Database, _ bench: Bench) async throws {
        let signIn = try await database.completeSignIn(record(subject, at: bench.clock.now()))
        let user = try #require(signIn.user)
        #expect(try await database.deleteUser(user.id, at: bench.clock.now()) != .unknown)
    }

    @Test("a postponed revocation waits; a given-up one loses its token and is never due")
    func postpones() async throws {
        let (bench, database) = try Bench().opened()
        try await delete("ann", database, bench)
        let entry = try #require(try await database.dueRevocations(at: bench.clock.now(), limit: 10).first)
        let next = bench.clock.now().adding(seconds: 60)
        try await database.postponeRevocation(entry.id, until: next, failure: "timeout")
        #expect(try await database.dueRevocations(at: next.adding(milliseconds: -1), limit: 10).isEmpty)
        let again = try await database.dueRevocations(at: next, limit: 10)
        #expect(again.map(\.attempts) == [1])
        #expect(again.first?.sealedRefreshToken == entry.sealedRefreshToken)
        try await database.postponeRevocation(entry.id, until: nil, failure: "expired")
        #expect(try await database.dueRevocations(at: next.adding(seconds: 1_000_000), limit: 10).isEmpty)
        let kept = try bench.stranger().read {
            try $0.row("SELECT sealed_refresh_token IS NULL, failure FROM revocation")
        }
        #expect(kept?[0].integer == 1)
        #expect(kept?[1].text == "expired")
    }

    @Test("a sign-in cancels only the person's queued revocation, also under a new sealing key")
    func signInCancels() async throws {
        let bench = try Bench()
        let first = try bench.open()
        try await delete("ann", first, bench)
        try await delete("bob", first, bench)
        first.close()
        let database = try bench.openAfterKeyRotation()
        _ = try await database.completeSignIn(record("ann", at: bench.clock.now()))
        #expect(try await database.dueRevocations(at: bench.clock.now(), limit: 10).count == 1)
        _ = try await database.completeSignIn(record("bob", at: bench.clock.now()))
        #expect(try await database.dueRevocations(at: bench.clock.now(), limit: 10).isEmpty)
    }
}
