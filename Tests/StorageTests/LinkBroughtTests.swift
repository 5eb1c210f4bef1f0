import Coding
import Crypto
import Gates
import MemoryStores
import RelyingParty
import Storage
import Strangers
import Testing

/// What an identity brings to its user is theirs from the commit on; the end of a conversion, days later, puts nothing
/// of it back.
@Suite struct LinkBroughtTests {
    private func tokens(_ bench: LinkBench) throws -> [String] {
        try bench.dump().filter { $0.hasPrefix("apple_credential") }
    }

    @Test("a token found dead while the application converts stays dead, and makes no session")
    func deadStaysDead() async throws {
        let bench = try LinkBench()
        bench.account()
        _ = await bench.signInWithApple()
        let start = try await bench.upgrade()
        bench.application.gate.shut()
        async let outcome = reason { _ = try await bench.finish(start) }
        await bench.application.gate.arrived(1)
        try bench.bench.stranger().write {
            try $0.execute(
                """
                UPDATE apple_credential SET sealed_refresh_token = NULL, state = 'revoked', cause = 'token_dead',
                next_check_at = NULL;
                UPDATE apple_identity SET credential_state = 'revoked', credential_cause = 'token_dead';
                DELETE FROM session
                """)
        }
        let before = try bench.dump()
        bench.application.gate.open()
        #expect(await outcome == "revoked")
        #expect(try await bench.row(LinkKey(start.id)).state == .done)
        #expect(try bench.dump() == before)
    }

    @Test("an address that changed while the application converts stays")
    func newerAddressStays() async throws {
        let bench = try LinkBench()
        let start = try await bench.converting()
        bench.clock.advance(seconds: 60)
        let later = try await bench.database.completeSignIn(record(email: "new@example.com", at: bench.now))
        #expect(later.user?.email?.address == "new@example.com")
        #expect(try await bench.finish(start).signedIn.user.email?.address == "new@example.com")
        #expect(try await bench.user()?.email?.address == "new@example.com")
    }

    @Test("deleted while the application converts: Apple is told of the newest token too")
    func deletionTellsApple() async throws {
        let bench = try LinkBench()
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw LinkBench.Unexpected() }
        _ = try await bench.converting()
        #expect(try tokens(bench).count == 2)
        #expect(try await bench.database.deleteUser(session.user, at: bench.now) == .deleted(revocations: 2))
    }

    @Test("409 for somebody who was a user before: what Apple gave them stays theirs", arguments: [false, true])
    func credentialStays(isPresent: Bool) async throws {
        let bench = try LinkBench()
        if isPresent { _ = try await bench.linked() } else { _ = await bench.signInWithApple() }
        let user = try #require(
            try await bench.database.user(team: Bench.team, subject: AppleSubject("ann")))
        let before = try tokens(bench)
        bench.clock.advance(seconds: 60)
        bench.application.set { $0.answers = [.success(.refused)] }
        #expect(try await bench.failure(kind: .upgrade) == .conversionFailed(retryAfter: nil))
        let after = try tokens(bench)
        #expect(after.count == (isPresent ? 1 : 2) && after != before)
        #expect(try await bench.database.user(user.id)?.externalID == (isPresent ? "account-1" : nil))
        #expect(try await bench.database.deleteUser(user.id, at: bench.now) == .deleted(revocations: after.count))
    }
}
