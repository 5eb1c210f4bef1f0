import Coding
import Crypto
import Foundation
import LogRecording
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// A new sealing key, and everything the old one sealed put under it while the server works.
@Suite struct ResealingTests {
    private let bench: Bench
    private let new = SealingKey.generate()

    init() throws { bench = try Bench() }

    private var rotated: SealingKeyring { SealingKeyring(current: new, previous: [Bench.key]) }

    private func open(
        _ ring: SealingKeyring, use: StoreOptions.Use = .server, retention: RetentionPolicy = RetentionPolicy()
    ) throws -> Accounts.Database {
        var bench = bench
        bench.keyring = ring
        // Two processes on one file wait for each other here, as they do in life.
        var options = bench.options(busyTimeout: 30_000, retention: retention)
        options.store.use = use
        return try bench.open(options)
    }

    private func reseal(
        _ database: Accounts.Database, _ ring: SealingKeyring, progress: (Int, Int) -> Void = { _, _ in }
    ) async throws(Failure) -> ResealReport? {
        try await database.reseal(ring, clock: bench.clock, progress: progress)
    }

    private func sealed(_ subject: String, by ring: SealingKeyring) -> SignInRecord {
        var new = record(subject, at: bench.clock.now())
        new.sealedRefreshToken = ring.seal(
            Array("token of \(subject)".utf8), purpose: .refreshToken,
            context: RefreshToken.sealingContext(
                team: Bench.team, subject: AppleSubject(subject), clientID: Bench.web))
        return new
    }

    @discardableResult
    private func signIn(_ count: Int, _ name: String, in database: Accounts.Database, by ring: SealingKeyring)
        async throws
        -> [UserID]
    {
        var users: [UserID] = []
        for number in 0..<count {
            users.append(try #require(try await database.completeSignIn(sealed("\(name)\(number)", by: ring)).user).id)
        }
        return users
    }

    /// Opens every token with only this ring; the texts, in the store's order.
    private func opened(_ database: Accounts.Database, by ring: SealingKeyring) async throws -> [String] {
        var texts: [String] = []
        var place: SealedToken.Place?
        while true {
            // An odd size, so that pages end within both tables.
            let tokens = try await database.sealedTokens(after: place, limit: 37)
            guard let last = tokens.last else { return texts }
            for token in tokens {
                let plain = try ring.open(token.sealed, purpose: .refreshToken, context: token.context)
                texts.append(String(decoding: plain, as: UTF8.self))
            }
            place = last.place
        }
    }

    @Test("afterwards the new key opens every token, including those of deleted people, and the signing keys")
    func everything() async throws {
        let count = ResealReport.batch * 2 + 3
        let first = try open(bench.keyring)
        let users = try await signIn(count, "p", in: first, by: bench.keyring)
        for user in users.suffix(2) { #expect(try await first.deleteUser(user, at: bench.clock.now()) != .unknown) }
        let signing = SigningKeys(
            database: first, keyring: bench.keyring,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: .silent))
        let signer = try await signing.signer(at: bench.clock.now()).keyID
        first.close()

        let server = try open(rotated)
        try await signIn(4, "late", in: server, by: rotated)
        let command = try open(rotated, use: .command)
        var seen: [(looked: Int, total: Int)] = []
        let found = try await reseal(command, rotated) { seen.append(($0, $1)) }
        let report = try #require(found)
        #expect(report.keyID == new.id)
        #expect(report.isComplete)
        #expect(report.tokens == count)
        #expect(report.current == 4)
        #expect(report.signingKeys == 1)
        #expect(report.unreadable.isEmpty)
        #expect(seen.first?.looked == 0 && seen.first?.total == count + 4)
        #expect(seen.last?.looked == count + 4 && seen.last?.total == count + 4)
        #expect(seen.count >= 4)

        let alone = SealingKeyring(current: new)
        let texts = try await opened(server, by: alone)
        #expect(texts.count == count + 4)
        #expect(Set(texts).count == count + 4)
        let record = try #require(try await server.signingKeys().first)
        #expect(record.keyID == signer)
        let reader = SigningKeys(
            database: server, keyring: alone,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: .silent))
        #expect(try await reader.signer(at: bench.clock.now()).keyID == signer)

        // Once more: nothing left to do, and nothing written.
        let before = try await server.sealedTokens(after: nil, limit: 1000)
        let again = try #require(await reseal(command, rotated))
        #expect(again.tokens == 0 && again.signingKeys == 0 && again.current == count + 4)
        #expect(try await server.sealedTokens(after: nil, limit: 1000) == before)
    }

    @Test("nothing is resealed until a server was started with the same key")
    func otherKey() async throws {
        let server = try open(bench.keyring)
        try await signIn(3, "p", in: server, by: bench.keyring)
        let before = try await server.sealedTokens(after: nil, limit: 10)
        #expect(try await reseal(server, rotated) == nil)
        #expect(try await server.sealedTokens(after: nil, limit: 10) == before)
        server.close()
        _ = try open(rotated)
        // A command with the old order of keys, after the server's change: it would seal with the old key again.
        let backwards = SealingKeyring(current: Bench.key, previous: [new])
        #expect(try await reseal(try open(backwards, use: .command), backwards) == nil)
    }

    @Test("tokens that no key opens, and those in another person's row, stay and are counted by their key")
    func unreadable() async throws {
        let lost = SealingKey.generate()
        let first = try open(bench.keyring)
        try await signIn(2, "p", in: first, by: bench.keyring)
        try await signIn(3, "lost", in: first, by: SealingKeyring(current: lost))
        first.close()
        // A token moved into another person's row does not open there, and must not be sealed for them.
        try bench.stranger().write { connection in
            try connection.execute(
                """
                UPDATE apple_credential SET sealed_refresh_token =
                (SELECT sealed_refresh_token FROM apple_credential ORDER BY identity LIMIT 1)
                WHERE identity = (SELECT identity FROM apple_credential ORDER BY identity LIMIT 1 OFFSET 1)
                """)
        }
        let server = try open(rotated)
        let report = try #require(await reseal(server, rotated))
        #expect(report.tokens == 1)
        #expect(report.unreadable == [lost.id: 3, Bench.key.id: 1])
        #expect(report.isComplete)
        let wider = SealingKeyring(current: new, previous: [Bench.key, lost])
        #expect(try await reseal(server, wider)?.tokens == 3)
    }

    /// The texts of what is queued, by this ring, as the job that asks Apple opens them.
    private func queued(_ database: Accounts.Database, by ring: SealingKeyring) async throws -> [String] {
        var texts: [String] = []
        for entry in try await database.dueRevocations(at: bench.clock.now(), limit: 100) {
            let context = QueuedRevocation.sealingContext(subjectHash: entry.subjectHash, clientID: entry.clientID)
            let plain = try QueuedToken.open(entry.sealedRefreshToken, context: context, keyring: ring)
            texts.append(String(decoding: plain, as: UTF8.self))
        }
        return texts
    }

    @Test("tokens of people deleted while the key was missing open once it is restored, even after a rotation")
    func deletedWithoutTheirKey() async throws {
        let lost = SealingKey.generate()
        let first = try open(bench.keyring)
        let users = try await signIn(2, "lost", in: first, by: SealingKeyring(current: lost))
        for user in users { #expect(try await first.deleteUser(user, at: bench.clock.now()) != .unknown) }
        await #expect(throws: SealingError.unknownKey) {
            try await queued(first, by: bench.keyring)
        }
        // Nothing in the row names the person: the seal with their context is in a second seal.
        let row = try #require(try await first.sealedTokens(after: nil, limit: 1).first)
        #expect(SealingKeyring.keyID(of: row.sealed) == Bench.key.id)
        #expect(QueuedToken.keyID(of: row.sealed, context: row.context, keyring: bench.keyring) == lost.id)
        first.close()

        // The key that seals changes before the missing one is back.
        let second = try open(rotated)
        let without = try #require(await reseal(second, rotated))
        #expect(without.tokens == 0 && without.unreadable == [lost.id: 2] && without.isComplete)
        let moved = try #require(try await second.sealedTokens(after: nil, limit: 1).first)
        #expect(SealingKeyring.keyID(of: moved.sealed) == new.id, "the old key is needed for it no more")
        #expect(try await reseal(second, rotated)?.unreadable == [lost.id: 2])
        // It is back: the job opens them, and sealed again they need it no more.
        let back = SealingKeyring(current: new, previous: [lost])
        #expect(try await queued(second, by: back) == ["token of lost0", "token of lost1"])
        #expect(try await reseal(second, back)?.tokens == 2)
        let alone = SealingKeyring(current: new)
        #expect(try await queued(second, by: alone) == ["token of lost0", "token of lost1"])
        let last = try #require(await reseal(second, alone))
        #expect(last.tokens == 0 && last.current == 2 && last.unreadable.isEmpty)
    }

    @Test("a second seal opens only for its own entry")
    func secondSealIsBound() throws {
        let lost = SealingKey.generate()
        let sealed = SealingKeyring(current: lost).seal(Array("t".utf8), purpose: .refreshToken, context: [1])
        let kept = QueuedToken.seal(sealed, from: [1], context: [2], keyring: bench.keyring)
        let ring = SealingKeyring(current: Bench.key, previous: [lost])
        #expect(try QueuedToken.open(kept, context: [2], keyring: ring) == Array("t".utf8))
        for (value, context, keys) in [(kept, [3], ring), (sealed, [2], ring), (kept, [2], bench.keyring)]
            as [([UInt8], [UInt8], SealingKeyring)]
        {
            #expect(throws: SealingError.self) {
                try QueuedToken.open(value, context: context, keyring: keys)
            }
        }
    }

    @Test("after an interruption at any batch, a second run completes")
    func resumes() async throws {
        let count = ResealReport.batch * 3
        let first = try open(bench.keyring)
        try await signIn(count, "p", in: first, by: bench.keyring)
        first.close()
        let server = try open(rotated)
        let task = Task {
            try await reseal(server, rotated) { looked, _ in
                if looked >= ResealReport.batch { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
        }
        let cut = try #require(await task.value)
        #expect(!cut.isComplete)
        #expect(cut.tokens == ResealReport.batch)
        let rest = try #require(await reseal(server, rotated))
        #expect(rest.isComplete)
        #expect(rest.tokens == count - ResealReport.batch)
        #expect(rest.current == ResealReport.batch)
        #expect(try await opened(server, by: SealingKeyring(current: new)).count == count)
    }

    @Test("a token that changed since it was read is not replaced: after a sign-in, a deletion or a revocation")
    func newerTokensStay() async throws {
        let first = try open(bench.keyring)
        let users = try await signIn(3, "p", in: first, by: bench.keyring)
        #expect(try await first.deleteUser(users[2], at: bench.clock.now()) != .unknown)
        first.close()
        let server = try open(rotated)
        let read = try await server.sealedTokens(after: nil, limit: 2)
        let queued = try await server.sealedTokens(after: read.last?.place, limit: 2)
        try #require(read.count == 2 && queued.count == 1)
        // Meanwhile: a sign-in, a deletion, and Apple's answer.
        _ = try await server.completeSignIn(sealed("p0", by: rotated))
        #expect(try await server.deleteUser(users[1], at: bench.clock.now()) != .unknown)
        let due = try await server.dueRevocations(at: bench.clock.now(), limit: 10)
        for entry in due { #expect(try await server.finishRevocation(entry.id, at: bench.clock.now())) }

        let stale = (read + queued).map { (token: $0, sealed: Array("stale".utf8)) }
        #expect(try await server.replaceSealedTokens(stale) == 0)
        #expect(try await opened(server, by: SealingKeyring(current: new)) == ["token of p0"])
        #expect(try await server.sealedTokenCount() == 1)
    }

    @Test("sign-ins and deletions beside it lose nothing")
    func besideTraffic() async throws {
        let first = try open(bench.keyring)
        let users = try await signIn(300, "p", in: first, by: bench.keyring)
        first.close()
        let server = try open(rotated)
        let command = try open(rotated, use: .command)
        async let traffic: Void = {
            for number in 0..<60 {
                _ = try await server.completeSignIn(sealed("p\(number * 3)", by: rotated))
                _ = try await server.deleteUser(users[number * 3 + 1], at: bench.clock.now())
            }
        }()
        var reports = [try #require(await reseal(command, rotated))]
        try await traffic
        // Whoever was deleted behind the cursor is in the queue now, sealed by the server: nothing is left for a second run.
        reports.append(try #require(await reseal(command, rotated)))
        #expect(reports[1].tokens == 0)
        let texts = try await opened(server, by: SealingKeyring(current: new))
        #expect(Set(texts).count == 300 && texts.count == 300)
    }

    @Test("reports how long the old key is still needed")
    func previousKeysUntil() async throws {
        let first = try open(bench.keyring)
        let users = try await signIn(2, "p", in: first, by: bench.keyring)
        #expect(try await first.deleteUser(users[0], at: bench.clock.now()) != .unknown)
        let deletedAt = bench.clock.now()
        first.close()
        bench.clock.advance(seconds: 3_600)
        var retention = RetentionPolicy()
        retention.audit = 86_400
        let server = try open(rotated, retention: retention)
        let changedAt = bench.clock.now()
        #expect(try await server.sealingKeyStamp() == SealingKeyStamp(keyID: new.id, since: changedAt))
        bench.clock.advance(seconds: 60)
        // One made under the new key is found by it: it does not count.
        #expect(try await server.deleteUser(users[1], at: bench.clock.now()) != .unknown)
        let report = try #require(await reseal(server, rotated))
        #expect(report.previousKeysUntil == deletedAt.adding(seconds: RetentionPolicy.revocations))
        // Without an old key listed there is nothing to say.
        #expect(try await reseal(server, SealingKeyring(current: new))?.previousKeysUntil == nil)

        // When those entries are gone, what browsers were given before the change is left.
        bench.clock.advance(seconds: RetentionPolicy.revocations + 1)
        try bench.stranger().write { try $0.execute("DELETE FROM revocation") }
        let later = try #require(await reseal(server, rotated))
        #expect(later.previousKeysUntil == changedAt.adding(seconds: ResealReport.browserTime))
        server.close()
        // Another start with the same key does not move the time.
        let usual = try open(rotated)
        #expect(try await usual.sealingKeyStamp()?.since == changedAt)
        // The lines of the audit log from before have hashes by the old key.
        let audited = changedAt.adding(seconds: RetentionPolicy().audit)
        let last = try #require(await reseal(usual, rotated))
        #expect(last.previousKeysUntil == audited)
        #expect(!last.isOver(at: audited.adding(seconds: -1)) && last.isOver(at: audited))
    }

    @Test("the old seals are in neither file of the database", .onSQLite)
    func leavesNoOldSeal() async throws {
        let first = try open(bench.keyring)
        try await signIn(20, "p", in: first, by: bench.keyring)
        let old = try await first.sealedTokens(after: nil, limit: 1).first?.sealed ?? []
        first.close()
        #expect(try bench.databaseBytes().firstRange(of: old) != nil)
        let server = try open(rotated)
        _ = try await reseal(server, rotated)
        #expect(try bench.databaseBytes().firstRange(of: old) == nil)
    }
}
