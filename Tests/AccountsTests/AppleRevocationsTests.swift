import Coding
import Crypto
import LogRecording
import Storage
import Stores
import Synchronization
import Testing

@testable import Accounts

/// The queue, a lease and Apple in memory.
private final class FakeRevocations: RevocationQueue, LeaseStore, TokenRevoker {
    struct Entry {
        var revocation: QueuedRevocation
        var next: Timestamp?
        var failure: String?
    }

    struct State {
        var entries: [Int64: Entry] = [:]
        var answer: TokenRevocationFailure?
        var asked: [String] = []
        var leaseIsOurs = true
        var released = 0
        var fails = false
        /// Done while Apple is being asked.
        var meanwhile: (@Sendable (FakeRevocations) -> Void)?
    }

    let state = Mutex(State())

    func dueRevocations(at now: Timestamp, limit: Int) async throws(StoreError) -> [QueuedRevocation] {
        if state.withLock(\.fails) { throw .unavailable("disk full") }
        return state.withLock { state in
            state.entries.values.filter { $0.next.map { $0 <= now } ?? false }
                .map { entry in
                    var revocation = entry.revocation
                    revocation.failure = entry.failure
                    return revocation
                }
                .sorted { $0.id < $1.id }.prefix(limit).map { $0 }
        }
    }

    func beginRevocation(
        _ id: Int64, at now: Timestamp, until deadline: Timestamp
    ) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard let next = state.entries[id]?.next, next <= now else { return false }
            state.entries[id]?.next = deadline
            state.entries[id]?.failure = "in_flight"
            return true
        }
    }

    func finishRevocation(_ id: Int64, at now: Timestamp) async throws(StoreError) -> Bool {
        state.withLock { $0.entries.removeValue(forKey: id) != nil }
    }

    func postponeRevocation(_ id: Int64, until next: Timestamp?, failure: String) async throws(StoreError) {
        state.withLock { state in
            state.entries[id]?.next = next
            state.entries[id]?.failure = failure
            state.entries[id]?.revocation.attempts += 1
        }
    }

    func holdLease(
        _ job: LeasedJob, holder: String, seconds: Int64, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        state.withLock(\.leaseIsOurs)
    }

    func releaseLease(_ job: LeasedJob, holder: String) async throws(StoreError) {
        state.withLock { $0.released += 1 }
    }

    func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenRevocationFailure) {
        let (answer, meanwhile) = state.withLock { state in
            state.asked.append("\(clientID.rawValue) \(token.value)")
            return (state.answer, state.meanwhile)
        }
        meanwhile?(self)
        if let answer { throw answer }
    }
}

@Suite struct AppleRevocationsTests {
    private let fake = FakeRevocations()
    private let clock = ManualClock()
    private let log = LogRecorder()
    private let keyring = SealingKeyring(current: .generate(), previous: [])
    private let revocations: AppleRevocations

    init() {
        revocations = AppleRevocations(
            queue: fake, leases: fake, revoker: fake, keyring: keyring, clock: clock, random: SystemRandom(),
            logger: log.logger)
    }

    private func queue(_ id: Int64, token: String = "t0ken", context: [UInt8]? = nil) {
        let hash = [UInt8](repeating: UInt8(id), count: 32)
        let client = ClientID("com.example.web")
        let sealed = keyring.seal(
            Array(token.utf8), purpose: .refreshToken,
            context: context ?? QueuedRevocation.sealingContext(subjectHash: hash, clientID: client))
        fake.state.withLock {
            $0.entries[id] = .init(
                revocation: QueuedRevocation(
                    id: id, subjectHash: hash, clientID: client, sealedRefreshToken: sealed, queuedAt: clock.now(),
                    attempts: 0),
                next: clock.now())
        }
    }

    private func entry(_ id: Int64) -> FakeRevocations.Entry? { fake.state.withLock { $0.entries[id] } }
    private var asked: [String] { fake.state.withLock(\.asked) }

    @Test func everyQueuedTokenIsRevokedOnce() async {
        for id in 1...3 as ClosedRange<Int64> { queue(id, token: "t\(id)") }
        await revocations.round()
        await revocations.round()
        #expect(asked == ["com.example.web t1", "com.example.web t2", "com.example.web t3"])
        #expect(fake.state.withLock { $0.entries.isEmpty })
        #expect(log.lines.count == 3)
        #expect(!log.lines.joined().contains("t1"))
    }

    @Test func theEntryIsInFlightBeforeAppleIsAsked() async {
        queue(1)
        let clock = clock
        fake.state.withLock {
            $0.meanwhile = { fake in
                let entry = fake.state.withLock { $0.entries[1] }
                #expect(entry?.failure == "in_flight")
                #expect(entry?.next == clock.now().adding(seconds: AppleRevocations.flightTime))
            }
        }
        await revocations.round()
        #expect(asked.count == 1)
    }

    @Test func whatASignInTookOutIsNotSent() async {
        queue(1)
        queue(2)
        // While Apple is asked of the first, a sign-in takes out the second.
        fake.state.withLock { $0.meanwhile = { fake in fake.state.withLock { $0.entries[2] = nil } } }
        await revocations.round()
        #expect(asked.count == 1)
    }

    @Test("Pauses grow from seconds to hours, for seven days, with a last attempt at their end")
    func backOff() async {
        queue(1)
        fake.state.withLock { $0.answer = .unavailable("timeout") }
        let start = clock.now()
        var moments: [Int64] = []
        var count = 0
        for _ in 0..<100 {
            await revocations.round()
            if asked.count > count {
                count = asked.count
                moments.append((clock.now().milliseconds - start.milliseconds) / 1000)
            }
            guard let next = entry(1)?.next else { break }
            let wait = next.milliseconds - clock.now().milliseconds
            // A millisecond early it is not due.
            clock.advance(milliseconds: wait - 1)
            await revocations.round()
            #expect(asked.count == count)
            clock.advance(milliseconds: 1)
        }
        #expect(moments.prefix(8) == [0, 5, 25, 105, 425, 1_705, 6_825, 28_425])
        #expect(moments.last == QueuedRevocation.lifetime)
        #expect(zip(moments, moments.dropFirst()).allSatisfy { $1 - $0 <= 21_600 })
        #expect(entry(1)?.next == nil)
        #expect(entry(1)?.failure == "provider_unavailable")
        #expect(log.lines.filter { $0.hasPrefix("error token revocation at Apple abandoned") }.count == 1)
        #expect(
            log.lines.filter { $0.hasPrefix("warning token revocation at Apple failed") }.count == moments.count - 1)
    }

    @Test func ourOwnMistakeIsAnErrorAndTriedOn() async {
        queue(1)
        fake.state.withLock { $0.answer = .clientRefused("invalid_client") }
        await revocations.round()
        #expect(entry(1)?.next == clock.now().adding(seconds: 5))
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error token revocation at Apple failed"))
        #expect(log.lines[0].contains("invalid_client"))
        fake.state.withLock { $0.answer = nil }
        clock.advance(seconds: 5)
        await revocations.round()
        #expect(entry(1) == nil)
    }

    @Test("A token no key opens waits like any other, said once, for seven days; another server's key may be missing")
    func unreadable() async {
        queue(1, context: Array("another person's".utf8))
        queue(2)
        await revocations.round()
        #expect(asked.count == 1, "the others are not held up")
        #expect(entry(1)?.failure == "unreadable")
        #expect(entry(1)?.next == clock.now().adding(seconds: 5))
        let start = clock.now()
        var rounds = 0
        while let next = entry(1)?.next {
            clock.advance(milliseconds: next.milliseconds - clock.now().milliseconds)
            await revocations.round()
            rounds += 1
        }
        #expect(asked.count == 1)
        #expect(clock.now() == start.adding(seconds: QueuedRevocation.lifetime))
        #expect(rounds > 20)
        #expect(entry(1)?.failure == "unreadable")
        #expect(log.lines.filter { $0.hasPrefix("error token revocation at Apple failed") }.count == 1)
        #expect(log.lines.filter { $0.hasPrefix("error token revocation at Apple abandoned") }.count == 1)
        #expect(!log.lines.joined().contains("t0ken"))
    }

    @Test func aTokenWhoseKeyComesBackIsRevoked() async {
        queue(1)
        let without = AppleRevocations(
            queue: fake, leases: fake, revoker: fake, keyring: SealingKeyring(current: .generate()), clock: clock,
            random: SystemRandom(), logger: log.logger)
        await without.round()
        #expect(asked.isEmpty)
        #expect(log.lines.contains { $0.contains(keyring.currentKeyID) }, "the missing key is named")
        clock.advance(seconds: 5)
        await revocations.round()
        #expect(asked == ["com.example.web t0ken"])
        #expect(entry(1) == nil)
    }

    @Test func oneFailureDoesNotStopTheOthers() async {
        queue(1)
        queue(2)
        fake.state.withLock { state in
            state.answer = .unavailable("timeout")
            state.meanwhile = { fake in
                fake.state.withLock { if $0.asked.count == 2 { $0.answer = nil } }
            }
        }
        await revocations.round()
        #expect(asked.count == 2)
    }

    @Test func anotherProcessHasTheLease() async {
        queue(1)
        fake.state.withLock { $0.leaseIsOurs = false }
        await revocations.round()
        #expect(asked.isEmpty)
        #expect(entry(1)?.next == clock.now())
        fake.state.withLock { $0.leaseIsOurs = true }
        await revocations.round()
        #expect(asked.count == 1)
        #expect(fake.state.withLock(\.released) == 1)
    }

    @Test func aRoundEndsWhenItIsTold() async {
        for id in 1...3 as ClosedRange<Int64> { queue(id) }
        let fake = fake
        await revocations.round(while: { fake.state.withLock { $0.asked.count < 2 } })
        #expect(asked.count == 2)
        #expect(fake.state.withLock(\.released) == 1)
    }

    @Test func aStoreThatDoesNotAnswerIsOneLine() async {
        fake.state.withLock { $0.fails = true }
        // Once a second, for a quarter of a minute.
        for _ in 0..<15 {
            await revocations.round()
            clock.advance(seconds: 1)
        }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error revocation queue not readable"))
    }
}
