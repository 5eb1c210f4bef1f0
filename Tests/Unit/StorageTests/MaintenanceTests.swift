import Coding
import Crypto
import Foundation
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

@Suite struct MaintenanceTests {
    @Test("expired sessions end with their event, however many; live ones stay")
    func endsExpiredSessions() async throws {
        let (bench, database) = try Bench().opened()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<450 {
                group.addTask { _ = try await database.completeSignIn(record(at: bench.clock.now())) }
            }
            try await group.waitForAll()
        }
        bench.clock.advance(seconds: 3_599)
        let live = try #require(try await database.completeSignIn(record(at: bench.clock.now())).session)
        #expect(try await database.maintain(at: bench.clock.now()).sessions == 0)
        bench.clock.advance(seconds: 1)
        #expect(try await database.maintain(at: bench.clock.now()).sessions == 450)
        #expect(try bench.count("session") == 1)
        #expect(try await database.signedIn(token: live.tokenHash, at: bench.clock.now()) != nil)
        let ended = try await database.events(after: nil, limit: 10_000).filter { $0.kind == .sessionEnded }
        #expect(ended.count == 450)
        #expect(ended.allSatisfy { $0.cause == .expired })
        #expect(try await database.maintain(at: bench.clock.now()) == MaintenanceReport())
    }

    @Test(
        "old rows are deleted at their time and not before",
        arguments: [
            ("used_attempt", 600), ("first_consent", 30 * 86_400), ("notification", 30 * 86_400),
        ] as [(String, Int64)])
    func deletes(table: String, age: Int64) async throws {
        let (bench, database) = try Bench().opened()
        let now = bench.clock.now()
        _ = try await database.completeSignIn(record("ann", policy: .approval, at: now))
        try await database.saveFirstConsent(
            team: Bench.team, subject: AppleSubject("bob"), name: PersonName(given: "Bob"), at: now)
        _ = try await database.apply(notification(.unknown, subject: nil, time: now), team: Bench.team, at: now)
        bench.clock.advance(milliseconds: age * 1_000 - 1)
        _ = try await database.maintain(at: bench.clock.now())
        #expect(try bench.count(table) == 1)
        bench.clock.advance(milliseconds: 1)
        _ = try await database.maintain(at: bench.clock.now())
        #expect(try bench.count(table) == 0)
        #expect(try bench.count("user") == 1)
    }

    /// A reader knows by the first entry that is left whether it missed any: there is no gap behind it.
    @Test("an entry after a kept one is kept too, when the clock was set back between them")
    func keepsNoGap() async throws {
        let (bench, database) = try Bench().opened()
        let retention = RetentionPolicy().events
        for step in [0, 7_200, -3_600, 7_200] as [Int64] {
            bench.clock.advance(seconds: step)
            _ = try await database.completeSignIn(record("p\(abs(step))", at: bench.clock.now()))
        }
        let all = try await database.events(after: nil, limit: 100).map(\.id)
        // The third is old enough, the second, before it, is not.
        bench.clock.advance(seconds: retention - 7_200)
        _ = try await database.maintain(at: bench.clock.now())
        let kept = Set(try await database.events(after: nil, limit: 100).map(\.id))
        let left = all.filter(kept.contains)
        #expect(left == all.suffix(left.count))
        // The first one's two entries are gone, nobody else's.
        #expect(left.count == all.count - 2)
    }
}

@Suite struct CredentialTests {
    private func credentials(_ bench: Bench) throws -> [StrangerRow] {
        try bench.stranger().read { try $0.rows("SELECT * FROM apple_credential") }
    }

    @Test("the refresh token of the latest sign-in by Apple's clock is kept, whatever the order of arrival")
    func keepsLatest() async throws {
        let (bench, database) = try Bench().opened()
        let now = bench.clock.now()
        for (offset, token) in [(Int64(0), UInt8(1)), (10, 2), (5, 3)] {
            var sign = record(issuedAt: now.adding(seconds: offset), at: now)
            sign.sealedRefreshToken = [token]
            _ = try await database.completeSignIn(sign)
        }
        let rows = try credentials(bench)
        #expect(rows.count == 1)
        #expect(rows.first?["sealed_refresh_token"].blob == [2])
    }

    @Test("a revocation ends refresh tokens up to its time, ties included", arguments: [(0, true), (1, false)])
    func endsTokens(offset: Int64, isEnded: Bool) async throws {
        let (bench, database) = try Bench().opened()
        let now = bench.clock.now()
        _ = try await database.completeSignIn(record(issuedAt: now.adding(milliseconds: offset), at: now))
        _ = try await database.apply(notification(.consentRevoked, time: now), team: Bench.team, at: now)
        let row = try #require(try credentials(bench).first)
        #expect((row["sealed_refresh_token"] == .null) == isEnded)
        #expect(row["state"].text == (isEnded ? "revoked" : "authorized"))
    }
}
