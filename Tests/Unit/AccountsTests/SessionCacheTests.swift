import Coding
import Crypto
import Foundation
import Randomness
import Storage
import Stores
import Synchronization
import Testing

@testable import Accounts

/// Sessions that can be changed from any thread, and what was read of them.
private final class FakeSessions: Sendable {
    let sessions = Mutex<[Digest256: SignedIn]>([:])
    let reads = Mutex(0)
    let invalidations = SessionInvalidations(capacity: 64)

    func set(_ signedIn: SignedIn) { sessions.withLock { $0[signedIn.session.tokenHash] = signedIn } }
    func remove(_ token: Digest256) { sessions.withLock { $0[token] = nil } }
    var readCount: Int { reads.withLock { $0 } }

    func makeCache(capacity: Int = 100, limits: SessionLimits = SessionCacheTests.limits) -> SessionCache {
        SessionCache(reader: Reader(self).reader, invalidations: invalidations, limits: limits, capacity: capacity)
    }

    final class Reader {
        let source: FakeSessions
        /// Runs after the row was read and before it is answered.
        var afterRead: () -> Void = {}
        var failure: StoreError?
        /// What others have read.
        var found: [(found: SignedIn, readAt: UInt64)] = []
        init(_ source: FakeSessions) { self.source = source }
        var reader: SessionReader {
            SessionReader(takeFound: takeFound) { token, now throws(StoreError) in try self.signedIn(token) }
        }
        private func takeFound() -> [(found: SignedIn, readAt: UInt64)] {
            defer { found = [] }
            return found
        }
        private func signedIn(_ token: Digest256) throws(StoreError) -> SignedIn? {
            source.reads.withLock { $0 += 1 }
            if let failure { throw failure }
            let found = source.sessions.withLock { $0[token] }
            afterRead()
            return found
        }
    }
}

@Suite struct SessionCacheTests {
    private let sessions = FakeSessions()
    static let limits = SessionLimits(lifetime: 86_400, idleTimeout: 3_600)
    static let start = Timestamp(seconds: 1_800_000_000)

    private func signedIn(_ name: String, user: String = "usr_1", seen: Timestamp = start) -> SignedIn {
        SignedIn(
            session: Session(
                id: SessionID(unchecked: "ses_\(name)"), tokenHash: SHA256.hash(utf8: name), kind: .browser,
                user: UserID(unchecked: user), clientID: ClientID("web"), device: Device(userAgent: "", address: ""),
                issuedAt: Self.start, createdAt: Self.start, lastSeenAt: seen,
                expiresAt: Self.start.adding(seconds: 86_400)),
            user: User(
                id: UserID(unchecked: user), state: .active, appleSubject: AppleSubject("s"), createdAt: Self.start))
    }

    private func look(_ cache: SessionCache, _ name: String, at now: Timestamp = start) throws -> String? {
        try cache.text(of: SHA256.hash(utf8: name), at: now) { "value of \($0.session.id)" }?.text
    }

    @Test("a session read elsewhere is kept for the loop, unless it was invalidated since")
    func keepsWhatOthersRead() throws {
        let reader = FakeSessions.Reader(sessions)
        let cache = SessionCache(
            reader: reader.reader, invalidations: sessions.invalidations, limits: Self.limits, capacity: 10)
        let before = sessions.invalidations.generation
        reader.found = [(signedIn("a"), before), (signedIn("b"), before)]
        #expect(try look(cache, "c") == nil)
        #expect(sessions.readCount == 1)
        #expect(try look(cache, "a") == "value of ses_a")
        #expect(try look(cache, "b") == "value of ses_b")
        #expect(sessions.readCount == 1)
        sessions.invalidations.append([.user(UserID(unchecked: "usr_2"))])
        reader.found = [(signedIn("d"), before)]
        #expect(try look(cache, "e") == nil)
        #expect(try look(cache, "d") == nil, "it may have ended since it was read")
    }

    @Test("a session is read once and answered from memory after")
    func answersFromMemory() throws {
        sessions.set(signedIn("a"))
        let cache = sessions.makeCache()
        for _ in 0..<10 { #expect(try look(cache, "a") == "value of ses_a") }
        #expect(sessions.readCount == 1)
    }

    @Test("unknown tokens are not remembered")
    func forgetsStrangers() throws {
        let cache = sessions.makeCache()
        for number in 0..<1_000 { #expect(try look(cache, "\(number)") == nil) }
        #expect(cache.count == 0)
        sessions.set(signedIn("7"))
        #expect(try look(cache, "7") != nil)
    }

    @Test("an invalidated token is refused by the next check; others stay in memory")
    func evictsTokens() throws {
        for name in ["a", "b"] { sessions.set(signedIn(name)) }
        let cache = sessions.makeCache()
        _ = (try look(cache, "a"), try look(cache, "b"))
        sessions.remove(SHA256.hash(utf8: "a"))
        sessions.invalidations.append([.token(SHA256.hash(utf8: "a"))])
        #expect(try look(cache, "a") == nil)
        let reads = sessions.readCount
        #expect(try look(cache, "b") != nil)
        #expect(sessions.readCount == reads)
    }

    @Test("an invalidated user loses every session, and no one else's")
    func evictsUsers() throws {
        for (name, user) in [("a", "usr_1"), ("b", "usr_1"), ("c", "usr_2")] {
            sessions.set(signedIn(name, user: user))
        }
        let cache = sessions.makeCache()
        for name in ["a", "b", "c"] { _ = try look(cache, name) }
        sessions.invalidations.append([.user(UserID(unchecked: "usr_1"))])
        let reads = sessions.readCount
        for name in ["a", "b", "c"] { _ = try look(cache, name) }
        #expect(sessions.readCount == reads + 2)
    }

    @Test("a loop that fell too far behind drops everything")
    func dropsAllWhenBehind() throws {
        sessions.set(signedIn("a"))
        let cache = sessions.makeCache()
        _ = try look(cache, "a")
        sessions.remove(SHA256.hash(utf8: "a"))
        sessions.invalidations.append([.token(SHA256.hash(utf8: "a"))])
        for number in 0..<100 { sessions.invalidations.append([.token(SHA256.hash(utf8: "x\(number)"))]) }
        #expect(try look(cache, "a") == nil)
    }

    @Test("a fill is not kept when something was invalidated since before its read")
    func discardsRacingFill() throws {
        sessions.set(signedIn("a"))
        let reader = FakeSessions.Reader(sessions)
        let cache = SessionCache(
            reader: reader.reader, invalidations: sessions.invalidations, limits: Self.limits, capacity: 10)
        reader.afterRead = {
            // The revocation commits while the old row is on its way.
            sessions.remove(SHA256.hash(utf8: "a"))
            sessions.invalidations.append([.token(SHA256.hash(utf8: "a"))])
            reader.afterRead = {}
        }
        #expect(try look(cache, "a") != nil)
        #expect(cache.count == 0)
        #expect(try look(cache, "a") == nil)
    }

    @Test("a session seen by another loop outlives this loop's idle end")
    func asksTheStoreAtIdleEnd() throws {
        sessions.set(signedIn("a"))
        let cache = sessions.makeCache()
        _ = try look(cache, "a")
        sessions.set(signedIn("a", seen: Self.start.adding(seconds: 3_000)))
        #expect(try look(cache, "a", at: Self.start.adding(seconds: 3_700)) != nil)
    }

    @Test("a touch is due at most once a minute, and use keeps the session alive in memory")
    func touchesLazily() throws {
        sessions.set(signedIn("a"))
        let cache = sessions.makeCache()
        var touches: [Int64] = []
        for second in stride(from: Int64(0), through: 7_200, by: 10) {
            let found = try #require(
                try cache.text(of: SHA256.hash(utf8: "a"), at: Self.start.adding(seconds: second)) { _ in "" })
            if found.isTouchDue { touches.append(second) }
        }
        #expect(touches == Array(stride(from: Int64(60), through: 7_200, by: 60)))
        #expect(sessions.readCount == 1)
    }

    @Test("the cache is bounded and prefers used entries")
    func isBounded() throws {
        for number in 0..<50 { sessions.set(signedIn("\(number)", user: "usr_\(number % 5)")) }
        let cache = sessions.makeCache(capacity: 10)
        for number in 0..<50 {
            _ = try look(cache, "0")
            _ = try look(cache, "\(number)")
            #expect(cache.count <= 10)
        }
        let reads = sessions.readCount
        #expect(try look(cache, "0") != nil)
        #expect(sessions.readCount == reads)
        #expect(reads == 50)
    }

    @Test(
        "without a check of other processes for a second, memory answers nothing",
        arguments: [(1_000, 1), (1_001, 2), (-1_001, 2)])
    func bypassesWithoutTrust(milliseconds: Int64, reads: Int) throws {
        sessions.set(signedIn("a"))
        sessions.invalidations.trust.renew(at: Self.start)
        let cache = sessions.makeCache()
        _ = try look(cache, "a")
        #expect(try look(cache, "a", at: Self.start.adding(milliseconds: milliseconds)) != nil)
        #expect(sessions.readCount == reads)
    }

    @Test("a failing read is an error, never a sign-out")
    func failsLoudly() throws {
        let reader = FakeSessions.Reader(sessions)
        reader.failure = .busy("locked")
        let cache = SessionCache(
            reader: reader.reader, invalidations: sessions.invalidations, limits: Self.limits, capacity: 10)
        #expect(throws: StoreError.busy("locked")) { try look(cache, "a") }
    }

    /// Held against what is really so, in a ring that has long been full, with values of very different lengths.
    @Test(
        "the cache always answers with the newest state, whatever is changed, revoked or evicted",
        arguments: [1, 12, 300])
    func answersTheNewest(capacity: Int) throws {
        let cache = sessions.makeCache(capacity: capacity)
        var random = SeededRandom(seed: UInt64(capacity))
        for step in 0..<20_000 {
            let number = Int.random(in: 0..<(2 * capacity + 5), using: &random)
            let (name, user) = ("\(number)", "usr_\(number % 7)")
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                // Another user agent, of another length, stands for any change of what is shown.
                var changed = signedIn(name, user: user)
                let length = Int.random(in: 0..<(step % 50 == 0 ? 5_000 : 300), using: &random)
                changed.session.device.userAgent = "\(step)" + String(repeating: "x", count: length)
                sessions.set(changed)
                sessions.invalidations.append([.user(UserID(unchecked: user))])
            case 1:
                sessions.remove(SHA256.hash(utf8: name))
                sessions.invalidations.append([.token(SHA256.hash(utf8: name))])
            case 2 where step % 100 == 0: sessions.invalidations.append([.all])
            default: break
            }
            let token = SHA256.hash(utf8: name)
            let real = sessions.sessions.withLock { $0[token]?.session.device.userAgent }
            #expect(try cache.text(of: token, at: Self.start) { $0.session.device.userAgent }?.text == real)
            #expect(cache.count <= capacity)
        }
        #expect(sessions.readCount < 20_000)
    }

    /// Loop A revokes and acknowledges; loop B, on another thread, never says yes to a token whose revocation was
    /// acknowledged before it asked. In groups, so that the two threads seldom wait for each other.
    @Test("revoke on loop A, check on loop B, 100,000 times")
    func revocationsAreSeenAtOnce() {
        let rounds = 100_000
        let groupSize = 50
        let prototype = signedIn("x")
        /// The last revocation that was acknowledged, and the number of groups B has in memory.
        let acknowledged = Atomic<Int>(-1)
        let warmed = Atomic<Int>(0)
        let wrong = Atomic<Int>(0)
        let refused = Atomic<Int>(0)
        let done = DispatchSemaphore(value: 0)
        for number in 0..<groupSize { sessions.set(Self.numbered(number, prototype)) }
        let thread = Thread {
            let cache = sessions.makeCache(capacity: 1_000)
            func isLive(_ number: Int) -> Bool {
                (try? cache.text(of: Self.token(number), at: Self.start) { $0.session.id.rawValue }) != nil
            }
            for start in stride(from: 0, to: rounds, by: groupSize) {
                // Every one is in memory before any of them is revoked.
                for number in start..<(start + groupSize) where !isLive(number) { wrong.add(1, ordering: .relaxed) }
                warmed.add(1, ordering: .releasing)
                var number = start
                while number < start + groupSize {
                    let last = acknowledged.load(ordering: .acquiring)
                    let answer = isLive(number)
                    if last >= number {
                        if answer { wrong.add(1, ordering: .relaxed) } else { refused.add(1, ordering: .relaxed) }
                        number += 1
                    } else {
                        sched_yield()
                    }
                }
            }
            done.signal()
        }
        thread.start()
        for start in stride(from: 0, to: rounds, by: groupSize) {
            for number in start..<(start + groupSize) { sessions.set(Self.numbered(number + groupSize, prototype)) }
            while warmed.load(ordering: .acquiring) <= start / groupSize { sched_yield() }
            for number in start..<(start + groupSize) {
                sessions.remove(Self.token(number))
                sessions.invalidations.append([.token(Self.token(number))])
                acknowledged.store(number, ordering: .releasing)
            }
        }
        done.wait()
        #expect(wrong.load(ordering: .acquiring) == 0)
        #expect(refused.load(ordering: .acquiring) == rounds)
    }

    private static func token(_ number: Int) -> Digest256 {
        Digest256(words: (UInt64(number), 1, 2, 3))
    }

    private static func numbered(_ number: Int, _ prototype: SignedIn) -> SignedIn {
        var signedIn = prototype
        signedIn.session.tokenHash = token(number)
        return signedIn
    }
}
