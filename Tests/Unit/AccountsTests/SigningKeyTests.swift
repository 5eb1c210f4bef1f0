import Coding
import Crypto
import LogRecording
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct SigningKeyTests {
    static let sealingKey = SealingKey.generate()

    private static let limits = SessionLimits(lifetime: 60, idleTimeout: 60)

    let clock: ManualClock
    let database: TestDatabase
    var store: Database { database.store }

    init() {
        clock = ManualClock()
        database = TestDatabase(limits: Self.limits, clock: clock)
    }

    /// One more process on the same database.
    func process(
        _ schedule: SigningKeySchedule = SigningKeySchedule(),
        keyring: SealingKeyring = SealingKeyring(current: sealingKey), store: Database? = nil
    ) -> SigningKeys {
        SigningKeys(
            database: store ?? self.store, keyring: keyring, schedule: schedule,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: .silent))
    }

    /// What a verifier has fetched: kid and key.
    private static func keys(_ document: [UInt8]?) throws -> [String: P256PublicKey] {
        let set = try JWKSet.parse(#require(document))
        var keys: [String: P256PublicKey] = [:]
        for key in set.keys {
            #expect(key.keyID == key.thumbprint)
            keys[try #require(key.keyID)] = try key.es256Key()
        }
        return keys
    }

    // MARK: Rotation

    @Test(
        "During two rotations every unexpired token verifies with the current and the cached key set",
        arguments: [
            (SigningKeySchedule(period: 7_200, publishAhead: 1_200, retention: 1_500, hurriedAhead: 600), 7),
            (SigningKeySchedule(), 0),
        ] as [(SigningKeySchedule, Int64)])
    func rotationLeavesNoGap(schedule: SigningKeySchedule, step: Int64) async throws {
        let (first, second) = (process(schedule), process(schedule))
        var fetched: [(at: Int64, keys: [String: P256PublicKey])] = []
        var issued: [(at: Int64, keyID: String, signature: [UInt8])] = []
        var signers: [String] = []
        let begin = clock.now().milliseconds
        let end = begin + (2 * schedule.period + schedule.publishAhead) * 1000
        var now = begin
        var lastMaintenance = Int64.min
        while now <= end {
            clock.advance(milliseconds: now - clock.now().milliseconds)
            if now - 60_000 >= lastMaintenance {
                // Whichever comes first; and both look as often as they do.
                try await [first, second][signers.count % 2].maintain()
                lastMaintenance = now
            }
            try await first.refresh()
            try await second.refresh()
            for process in [first, second] {
                let signer = try await process.signer(at: clock.now())
                if signers.last != signer.keyID { signers.append(signer.keyID) }
                issued.append((now, signer.keyID, try signer.key.sign(Array("\(now)".utf8))))
            }
            fetched.append((now, try Self.keys(await second.document(at: clock.now()))))
            #expect(try await first.document(at: clock.now()) == second.document(at: clock.now()))
            issued.removeAll { now >= $0.at + SigningKeySchedule.assertionLifetime * 1000 }
            fetched.removeAll { now > $0.at + SigningKeySchedule.cacheLifetime * 1000 }
            for assertion in issued {
                for cached in [fetched[0], fetched[fetched.count - 1]] {
                    let key = try #require(cached.keys[assertion.keyID], "at \(now): no key of \(assertion.at)")
                    guard assertion.at == now else { continue }
                    #expect(key.verifyES256(signature: assertion.signature, message: Array("\(now)".utf8)))
                }
            }
            now += try await self.step(step, schedule, now: now)
        }
        #expect(signers.count == 3)
        #expect(Set(signers).count == 3)
        #expect(store.store.statistics.transactions <= 8, "one of them makes each key and erases each half")
    }

    /// Uniform, or (0) an hour where nothing happens and seconds around each change.
    private func step(_ step: Int64, _ schedule: SigningKeySchedule, now: Int64) async throws -> Int64 {
        let keys = try await store.signingKeys()
        let exact = keys.map(\.signsFrom.milliseconds).flatMap { [$0 - 1, $0, $0 + 1] }
        let wanted: Int64
        if step > 0 {
            wanted = step * 1000
        } else {
            let isNear = keys.contains { abs($0.signsFrom.milliseconds - now) < (schedule.retention + 900) * 1000 }
            wanted = isNear ? 20_000 : 3_600_000
        }
        // Never past the very millisecond of a change.
        return min(wanted, exact.filter { $0 > now }.map { $0 - now }.min() ?? wanted)
    }

    @Test func theFirstKeySignsAtOnce_andOnlyOneProcessMakesIt() async throws {
        let (first, second) = (process(), process())
        async let one = first.signer(at: clock.now())
        async let two = second.signer(at: clock.now())
        let ids = try await [one.keyID, two.keyID]
        #expect(ids[0] == ids[1])
        #expect(try await store.signingKeys().count == 1)
        #expect(first.knownSigner(at: clock.now())?.keyID == ids[0])
    }

    @Test("One of four processes creates the next key when it is due")
    func oneNextKey() async throws {
        let processes = (0..<4).map { _ in process() }
        try await processes[0].maintain()
        clock.advance(seconds: 29 * 86_400 - 1)
        for process in processes { try await process.maintain() }
        #expect(try await store.signingKeys().count == 1)
        clock.advance(seconds: 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for process in processes { group.addTask { try await process.maintain() } }
            try await group.waitForAll()
        }
        let keys = try await store.signingKeys()
        #expect(keys.count == 2)
        #expect(keys[1].signsFrom == keys[0].signsFrom.adding(seconds: 30 * 86_400))
        for process in processes { #expect(try await process.signer(at: clock.now()).keyID == keys[0].keyID) }
    }

    @Test("Retired keys: the private half goes after a minute, the public one after an hour")
    func retirement() async throws {
        let process = process()
        try await process.maintain()
        clock.advance(seconds: 29 * 86_400)
        try await process.maintain()
        let next = try await store.signingKeys()[1]
        func state(atOffset milliseconds: Int64) async throws -> (kept: Int, halves: Int) {
            clock.advance(milliseconds: next.signsFrom.milliseconds + milliseconds - clock.now().milliseconds)
            try await process.maintain()
            let keys = try await store.signingKeys()
            return (keys.count, keys.count { $0.sealedPrivateKey != nil })
        }
        #expect(try await state(atOffset: 59_999) == (2, 2))
        #expect(try await state(atOffset: 60_000) == (2, 1))
        #expect(try await state(atOffset: 3_599_999) == (2, 1))
        #expect(try await state(atOffset: 3_600_000) == (1, 1))
        #expect(try await process.signer(at: clock.now()).keyID == next.keyID)
    }

    @Test("After two months off, a server signs with a known key and publishes the next one")
    func longAbsence() async throws {
        let before = process()
        try await before.maintain()
        let old = try await before.signer(at: clock.now()).keyID
        clock.advance(seconds: 60 * 86_400)
        let after = process()
        try await after.maintain()
        let keys = try await store.signingKeys()
        #expect(keys.count == 2)
        #expect(keys[1].signsFrom == clock.now().adding(seconds: 86_400))
        #expect(try await after.signer(at: clock.now()).keyID == old)
    }

    @Test(
        "After a large change of the clock a published key signs", arguments: [-400, -1, 400] as [Int64])
    func clockIsSet(days: Int64) async throws {
        let process = process()
        try await process.maintain()
        clock.advance(seconds: 29 * 86_400)
        try await process.maintain()
        clock.advance(seconds: days * 86_400)
        #expect(process.knownSigner(at: clock.now()) == nil)
        for _ in 0..<3 {
            let signer = try await process.signer(at: clock.now())
            #expect(try Self.keys(await process.document(at: clock.now()))[signer.keyID] != nil)
            try await process.maintain()
            clock.advance(seconds: 90_000)
        }
        #expect(try await store.signingKeys().count <= 3)
    }

    // MARK: Several processes

    @Test("A key revoked by another process is dropped at the next refresh; without refreshes keys are soon distrusted")
    func followsOthers() async throws {
        let (here, there) = (process(), process())
        try await here.maintain()
        let old = try await here.signer(at: clock.now()).keyID
        let new = try #require(try await there.rotate(revoking: true).first).keyID
        #expect(new != old)
        clock.advance(milliseconds: 1_000)
        #expect(here.knownSigner(at: clock.now())?.keyID == old)
        clock.advance(milliseconds: 1)
        #expect(here.knownSigner(at: clock.now()) == nil)
        #expect(try await here.signer(at: clock.now()).keyID == new)
        #expect(try Self.keys(await here.document(at: clock.now())).keys.sorted() == [new])
    }

    @Test func aStoreThatDoesNotAnswer_endsSigningWithinASecond_andLeavesThePublicKeys() async throws {
        let process = process()
        try await process.maintain()
        let published = try await process.document(at: clock.now())
        database.faults.fail(with: .unavailable("disk"))
        clock.advance(milliseconds: 1_000)
        _ = try await process.signer(at: clock.now())
        clock.advance(milliseconds: 1)
        await #expect(throws: Failure(store: .unavailable("disk"))) { try await process.signer(at: clock.now()) }
        #expect(try await process.document(at: clock.now()) == published)
        database.faults.heal()
        _ = try await process.signer(at: clock.now())
    }

    @Test("A requested rotation publishes one key at once, and signs with it when all caches have it")
    func hurried() async throws {
        let process = process()
        try await process.maintain()
        let old = try await process.signer(at: clock.now()).keyID
        let next = try #require(try await process.rotate(revoking: false).first)
        #expect(next.signsFrom == clock.now().adding(seconds: 600))
        clock.advance(seconds: 60)
        #expect(try await process.rotate(revoking: false) == [next])
        #expect(try await process.signer(at: clock.now()).keyID == old)
        clock.advance(seconds: 540)
        try await process.refresh()
        #expect(try await process.signer(at: clock.now()).keyID == next.keyID)
        #expect(try Self.keys(await process.document(at: clock.now())).count == 2)
    }

    // MARK: Sealing

    @Test("Keys are resealed under a new sealing key, which then suffices")
    func newSealingKey() async throws {
        let before = process()
        try await before.maintain()
        let id = try await before.signer(at: clock.now()).keyID
        let new = SealingKey.generate()
        let both = process(keyring: SealingKeyring(current: new, previous: [Self.sealingKey]))
        try await both.maintain()
        #expect(try await both.signer(at: clock.now()).keyID == id)
        let alone = process(keyring: SealingKeyring(current: new))
        try await alone.maintain()
        #expect(try await alone.signer(at: clock.now()).keyID == id)
        // The process with only the old one continues with the keys it has.
        clock.advance(seconds: 2)
        #expect(try await before.signer(at: clock.now()).keyID == id)
        try await before.maintain()
        #expect(try await store.signingKeys().count == 1)
    }

    @Test("A key that does not open is replaced at once, and stays published")
    func foreignSealingKey() async throws {
        let before = process()
        try await before.maintain()
        let lost = try await before.signer(at: clock.now()).keyID
        clock.advance(seconds: 10)
        let after = process(keyring: SealingKeyring(current: .generate()))
        let signer = try await after.signer(at: clock.now())
        #expect(signer.keyID != lost)
        #expect(try Self.keys(await after.document(at: clock.now())).keys.sorted() == [lost, signer.keyID].sorted())
    }

    @Test("A private half under another key's ID does not sign")
    func swappedHalves() async throws {
        let other = TestDatabase(limits: Self.limits, clock: clock)
        try await process().maintain()
        try await process(store: other.store).maintain()
        let half = try await other.store.signingKeys()[0].sealedPrivateKey
        var mixed = try await store.signingKeys()[0]
        mixed.sealedPrivateKey = half
        let changed = mixed
        _ = try await store.changeSigningKeys { _ in [changed] }
        let signer = try await process().signer(at: clock.now())
        #expect(signer.keyID != mixed.keyID)
    }

    @Test func theDefaultsFollowTheRule() {
        let schedule = SigningKeySchedule()
        let cache = SigningKeySchedule.cacheLifetime
        #expect(schedule.publishAhead > 2 * cache && schedule.publishAhead >= 86_400)
        #expect(schedule.hurriedAhead >= 2 * cache)
        // A minute of tolerance for a verifier's clock.
        #expect(schedule.retention >= SigningKeySchedule.assertionLifetime + cache + 60)
        #expect(schedule.period > schedule.publishAhead + schedule.retention)
    }

    // MARK: Two algorithms

    private func both(_ algorithms: [SigningAlgorithm] = [.es256, .rs256]) -> SigningKeys {
        SigningKeys(
            database: store, keyring: SealingKeyring(current: Self.sealingKey), algorithms: algorithms,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: .silent))
    }

    @Test("Each algorithm has keys of its own, and the set holds both")
    func bothAlgorithms() async throws {
        let keys = both()
        try await keys.maintain()
        let message = Array("header.claims".utf8)
        let set = try JWKSet.parse(#require(await keys.document(at: clock.now())))
        #expect(set.keys.map { $0.object["alg"] } == ["ES256", "RS256"])
        #expect(set.keys.allSatisfy { $0.keyID == $0.thumbprint && !$0.holdsSecretMembers })
        let elliptic = try await keys.signer(.es256, at: clock.now())
        let rsa = try await keys.signer(.rs256, at: clock.now())
        #expect(elliptic.key.algorithm == .es256 && rsa.key.algorithm == .rs256)
        #expect([elliptic.keyID, rsa.keyID] == set.keys.map(\.keyID))
        #expect(try set.keys[0].es256Key().verifyES256(signature: elliptic.key.sign(message), message: message))
        #expect(try set.keys[1].rs256Key().verifyRS256(signature: rsa.key.sign(message), message: message))
        // A key belongs to one algorithm.
        #expect(throws: JOSEError.self) { try set.keys[1].es256Key() }
        #expect(throws: JOSEError.self) { try set.keys[0].rs256Key() }
    }

    @Test("RSA and elliptic keys rotate independently")
    func rotatesApart() async throws {
        let keys = both()
        try await keys.maintain()
        let first = try await store.signingKeys()
        #expect(first.map(\.algorithm).sorted { $0.rawValue < $1.rawValue } == [.es256, .rs256])
        clock.advance(seconds: 29 * 86_400)
        try await keys.maintain()
        let later = try await store.signingKeys()
        #expect(later.count == 4)
        #expect(Set(later.filter { clock.now() < $0.signsFrom }.map(\.algorithm)) == [.es256, .rs256])
        for algorithm in SigningAlgorithm.allCases {
            let old = try #require(first.first { $0.algorithm == algorithm })
            #expect(try await keys.signer(algorithm, at: clock.now()).keyID == old.keyID)
        }
        clock.advance(seconds: 86_400)
        try await keys.maintain()
        for algorithm in SigningAlgorithm.allCases {
            let next = try #require(later.first { $0.algorithm == algorithm && !first.contains($0) })
            #expect(try await keys.signer(algorithm, at: clock.now()).keyID == next.keyID)
        }
        clock.advance(seconds: 3_600)
        try await keys.maintain()
        // The retired RSA key still verifies hints, and neither signs nor is published.
        let kept = try await store.signingKeys()
        let retired = kept.filter { $0.sealedPrivateKey == nil }
        #expect(kept.count == 3 && retired.map(\.algorithm) == [.rs256])
        let document = String(decoding: try #require(await keys.document(at: clock.now())), as: UTF8.self)
        #expect(!document.contains(retired[0].keyID))
        #expect(try await keys.publicKey(retired[0].keyID, at: clock.now()) != nil)
    }

    @Test("rotate --revoke leaves one new key for each algorithm in use")
    func revokesBoth() async throws {
        let keys = both()
        try await keys.maintain()
        let old = Set(try await store.signingKeys().map(\.keyID))
        let fresh = try await keys.rotate(revoking: true)
        #expect(fresh.map(\.algorithm) == [.es256, .rs256])
        #expect(Set(try await store.signingKeys().map(\.keyID)) == Set(fresh.map(\.keyID)))
        #expect(old.isDisjoint(with: fresh.map(\.keyID)))
        let one = try await both([.es256]).rotate(revoking: true)
        #expect(one.map(\.algorithm) == [.es256])
        #expect(try await store.signingKeys() == one)
    }

    @Test("Keys of an unused algorithm get no successor and are dropped after their time")
    func runsOut() async throws {
        try await both().maintain()
        let rsa = try #require(try await store.signingKeys().first { $0.algorithm == .rs256 })
        let alone = both([.es256])
        clock.advance(seconds: 60)
        try await alone.maintain()
        #expect(try await store.signingKeys().contains(rsa))
        #expect(
            String(decoding: try #require(await alone.document(at: clock.now())), as: UTF8.self).contains(rsa.keyID))
        clock.advance(seconds: 30 * 86_400)
        try await alone.maintain()
        let erased = try #require(try await store.signingKeys().first { $0.keyID == rsa.keyID })
        #expect(erased.sealedPrivateKey == nil)
        #expect(try await store.signingKeys().filter { $0.algorithm == .rs256 }.count == 1)
        clock.advance(seconds: 3_600)
        try await alone.maintain()
        #expect(try await store.signingKeys().allSatisfy { $0.algorithm == .es256 })
    }
}

extension JWK {
    fileprivate var holdsSecretMembers: Bool {
        ["d", "p", "q", "dp", "dq", "qi"].contains { object[$0] != nil }
    }
}
