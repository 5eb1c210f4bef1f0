import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// The right to send a code, taken once; and the token a deletion brings.
@Suite struct ExchangeTests {
    private typealias Subject = StoreContractTests.Subject

    private func claim(_ attempt: Digest256, request: String = "request", at now: Timestamp) -> ExchangeClaim {
        ExchangeClaim(
            attempt: attempt, request: SHA256.hash(utf8: request), begunAt: now, expiresAt: now.adding(seconds: 600))
    }

    @Test("of many who want a claim at once, one has it; the others learn whose it is", arguments: StoreKind.allCases)
    func isTakenOnce(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let (attempt, now) = (randomDigest(), subject.now)
        let results = try await withThrowingTaskGroup(of: ExchangeClaimResult.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await subject.store.beginExchange(claim(attempt, request: "\(number)", at: now), consent: nil)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 == .begun } == 1)
        let requests = Set(
            results.compactMap { result in
                if case .taken(let request, now, false) = result { request } else { nil }
            })
        #expect(requests.count == 1)
    }

    @Test("a settled claim is free again, or spent for ever", arguments: StoreKind.allCases)
    func settles(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let (attempt, now) = (randomDigest(), subject.now)
        let mine = claim(attempt, at: now)
        #expect(try await subject.store.beginExchange(mine, consent: nil) == .begun)
        try await subject.store.settleExchange(attempt, isSpent: false)
        #expect(try await subject.store.beginExchange(mine, consent: nil) == .begun)
        try await subject.store.settleExchange(attempt, isSpent: true)
        let taken = ExchangeClaimResult.taken(request: mine.request, begunAt: now, isSpent: true)
        #expect(try await subject.store.beginExchange(mine, consent: nil) == taken)
        #expect(try await subject.store.beginExchange(claim(randomDigest(), at: now), consent: nil) == .begun)
    }

    @Test("the name is safe with the claim, and not without it", arguments: StoreKind.allCases)
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

    @Test("a claim outlives the process, and goes at its time")
    func outlives() async throws {
        let bench = try Bench()
        let database = try bench.open()
        let mine = claim(randomDigest(), at: bench.clock.now())
        _ = try await database.beginExchange(mine, consent: nil)
        database.close()
        let next = try bench.open()
        let taken = ExchangeClaimResult.taken(request: mine.request, begunAt: mine.begunAt, isSpent: false)
        #expect(try await next.beginExchange(mine, consent: nil) == taken)
        bench.clock.advance(milliseconds: 599_999)
        #expect(try await next.maintain(at: bench.clock.now()).exchanges == 0)
        #expect(try await next.beginExchange(mine, consent: nil) == taken)
        bench.clock.advance(milliseconds: 1)
        #expect(try await next.maintain(at: bench.clock.now()).exchanges == 1)
        #expect(try await next.beginExchange(mine, consent: nil) == .begun)
        next.close()
    }

    private func credential(_ token: UInt8, _ subject: String = "ann", at time: Timestamp) -> FreshCredential {
        FreshCredential(
            team: Bench.team, subject: AppleSubject(subject), clientID: ClientID("com.example.app"),
            sealedRefreshToken: [token], issuedAt: time)
    }

    @Test("a token of a deletion is kept beside those of other apps, the latest by Apple's clock")
    func keepsCredential() async throws {
        let bench = try Bench()
        let database = try bench.open()
        let now = bench.clock.now()
        _ = try await database.completeSignIn(record(at: now))
        for (token, offset) in [(UInt8(1), Int64(0)), (2, 10), (3, 5)] {
            try await database.keepCredential(credential(token, at: now.adding(seconds: offset)))
        }
        try await database.keepCredential(credential(4, "stranger", at: now))
        let rows = try bench.stranger().read {
            try $0.rows("SELECT client_id, sealed_refresh_token FROM apple_credential ORDER BY 1")
        }
        #expect(rows.map { $0[0].text } == ["com.example.app", "com.example.web"])
        #expect(rows.first?["sealed_refresh_token"].blob == [2])
    }
}
