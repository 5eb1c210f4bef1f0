import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// The right to send a code, claimed once; and the token that comes with a deletion.
@Suite struct ExchangeTests {
    private typealias Subject = StoreContractTests.Subject

    private func claim(_ attempt: Digest256, request: String = "request", at now: Timestamp) -> ExchangeClaim {
        ExchangeClaim(
            attempt: attempt, request: SHA256.hash(utf8: request), begunAt: now, expiresAt: now.adding(seconds: 600))
    }

    @Test("of many concurrent claims one succeeds; the others learn whose it is", arguments: StoreKind.allCases)
    func isClaimedOnce(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let (attempt, now) = (randomDigest(), subject.now)
        let results = try await withThrowingTaskGroup(of: ExchangeClaim?.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await subject.store.beginExchange(claim(attempt, request: "\(number)", at: now), consent: nil)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 == nil } == 1)
        let others = results.compactMap(\.self)
        #expect(others.count == 19 && Set(others.map(\.request)).count == 1)
        #expect(others.allSatisfy { $0.begunAt == now && !$0.isSpent })
    }

    @Test("a settled claim is free again, or spent for ever", arguments: StoreKind.allCases)
    func settles(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let (attempt, now) = (randomDigest(), subject.now)
        let mine = claim(attempt, at: now)
        #expect(try await subject.store.beginExchange(mine, consent: nil) == nil)
        try await subject.store.settleExchange(attempt, isSpent: false)
        #expect(try await subject.store.beginExchange(mine, consent: nil) == nil)
        try await subject.store.settleExchange(attempt, isSpent: true)
        var taken = mine
        taken.isSpent = true
        #expect(try await subject.store.beginExchange(mine, consent: nil) == taken)
        #expect(try await subject.store.beginExchange(claim(randomDigest(), at: now), consent: nil) == nil)
    }

    @Test("the name is stored only with the claim", arguments: StoreKind.allCases)
    func keepsName(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let attempt = randomDigest()
        func consent(_ given: String) -> FirstConsent {
            FirstConsent(team: Bench.team, subject: AppleSubject("ann"), name: PersonName(given: given))
        }
        _ = try await subject.store.beginExchange(claim(attempt, at: subject.now), consent: consent("Ann"))
        _ = try await subject.store.beginExchange(claim(attempt, at: subject.now), consent: consent("Eve"))
        let session = try await subject.signIn("ann")
        #expect(try await subject.store.user(session.user)?.name == PersonName(given: "Ann"))
    }

    @Test("a claim survives a restart, and expires")
    func outlives() async throws {
        let (bench, database) = try Bench().opened()
        let mine = claim(randomDigest(), at: bench.clock.now())
        _ = try await database.beginExchange(mine, consent: nil)
        database.close()
        let next = try bench.open()
        #expect(try await next.beginExchange(mine, consent: nil) == mine)
        bench.clock.advance(milliseconds: 599_999)
        #expect(try await next.maintain(at: bench.clock.now()).exchanges == 0)
        #expect(try await next.beginExchange(mine, consent: nil) == mine)
        bench.clock.advance(milliseconds: 1)
        #expect(try await next.maintain(at: bench.clock.now()).exchanges == 1)
        #expect(try await next.beginExchange(mine, consent: nil) == nil)
        next.close()
    }

    private func claims(_ subject: String = "ann", at time: Timestamp) -> IdentityClaims {
        IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: ClientID("com.example.app"), subject: AppleSubject(subject),
            issuedAt: time)
    }

    @Test("a token that came with a deletion is stored per app, the latest by Apple's clock")
    func keepsCredential() async throws {
        let (bench, database) = try Bench().opened()
        let now = bench.clock.now()
        _ = try await database.completeSignIn(record(at: now))
        for (token, offset) in [(UInt8(1), Int64(0)), (2, 10), (3, 5)] {
            try await database.keepCredential(
                [token], of: claims(at: now.adding(seconds: offset)), team: Bench.team)
        }
        try await database.keepCredential([4], of: claims("stranger", at: now), team: Bench.team)
        let rows = try bench.stranger().read {
            try $0.rows("SELECT client_id, sealed_refresh_token FROM apple_credential ORDER BY 1")
        }
        #expect(rows.map { $0[0].text } == ["com.example.app", "com.example.web"])
        #expect(rows.first?["sealed_refresh_token"].blob == [2])
    }
}
