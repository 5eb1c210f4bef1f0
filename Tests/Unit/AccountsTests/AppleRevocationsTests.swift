import Coding
import Crypto
import LogRecording
import Storage
import Stores
import Synchronization
import Testing

@testable import Accounts

/// An Apple that revokes, or gives the set answers.
private final class RevokingApple: IdentityProvider {
    struct State {
        var answer: TokenFailure?
        var asked: [String] = []
        /// Done while Apple is being asked.
        var meanwhile: (@Sendable (RevokingApple) -> Void)?
    }

    let state = Mutex(State())

    func revoke(_ token: RefreshToken, clientID: ClientID) async throws(TokenFailure) {
        let meanwhile = state.withLock { state in
            state.asked.append("\(clientID.rawValue) \(token.value)")
            return state.meanwhile
        }
        meanwhile?(self)
        if let answer = state.withLock(\.answer) { throw answer }
    }
}

@Suite struct AppleRevocationsTests {
    private let apple = RevokingApple()
    private let clock = ManualClock()
    private let database: TestDatabase
    private let log = LogRecorder()
    private let keyring = SealingKeyring(current: .generate(), previous: [])
    private let revocations: AppleRevocations

    init() {
        database = TestDatabase(limits: SessionLimits(lifetime: 86_400, idleTimeout: 3_600), clock: clock)
        revocations = AppleRevocations(
            database: database.store, provider: apple, keyring: keyring,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: log.logger))
    }

    private func queue(_ id: Int64, token: String = "t0ken", context: [UInt8]? = nil) {
        let hash = [UInt8](repeating: UInt8(id), count: 32)
        let client = ClientID("com.example.web")
        let sealed = keyring.seal(
            Array(token.utf8), purpose: .refreshToken,
            context: context ?? QueuedRevocation.sealingContext(subjectHash: hash, clientID: client))
        database.put(
            QueuedRevocation(
                id: id, subjectHash: hash, clientID: client, sealedRefreshToken: sealed, queuedAt: clock.now(),
                attempts: 0))
    }

    private var asked: [String] { apple.state.withLock(\.asked) }

    @Test func everyQueuedTokenIsRevokedOnce() async {
        for id in 1...3 as ClosedRange<Int64> { queue(id, token: "t\(id)") }
        await revocations.round()
        await revocations.round()
        #expect(asked == ["com.example.web t1", "com.example.web t2", "com.example.web t3"])
        #expect((1...3).allSatisfy { database.revocation($0)?.failure == "done" })
        #expect(log.lines.count == 3)
        #expect(!log.lines.joined().contains("t1"))
    }

    @Test func theEntryIsInFlightBeforeAppleIsAsked() async {
        queue(1)
        let (clock, database) = (clock, database)
        apple.state.withLock {
            $0.meanwhile = { _ in
                let entry = database.revocation(1)
                #expect(entry?.failure == "in_flight")
                #expect(entry?.next == clock.now().adding(seconds: AppleRevocations.flightTime))
            }
        }
        await revocations.round()
        #expect(asked.count == 1)
    }

    @Test func revocationCancelledByASignInIsNotSent() async {
        queue(1)
        queue(2)
        // While Apple is asked about the first, a sign-in removes the second.
        let database = database
        apple.state.withLock { $0.meanwhile = { _ in database.execute("DELETE FROM revocation WHERE id = 2") } }
        await revocations.round()
        #expect(asked.count == 1)
    }

    @Test("Pauses grow from seconds to hours, for seven days, with a last attempt at their end")
    func backOff() async {
        queue(1)
        apple.state.withLock { $0.answer = .unavailable("timeout", mayHaveActed: true) }
        let start = clock.now()
        var moments: [Int64] = []
        var count = 0
        for _ in 0..<100 {
            await revocations.round()
            if asked.count > count {
                count = asked.count
                moments.append((clock.now().milliseconds - start.milliseconds) / 1000)
            }
            guard let next = database.revocation(1)?.next else { break }
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
        #expect(database.revocation(1)?.next == nil)
        #expect(database.revocation(1)?.failure == "provider_unavailable")
        #expect(log.lines.filter { $0.hasPrefix("error token revocation at Apple abandoned") }.count == 1)
        #expect(
            log.lines.filter { $0.hasPrefix("warning token revocation at Apple failed") }.count == moments.count - 1)
    }

    @Test func refusedClientIsLoggedAsErrorAndRetried() async {
        queue(1)
        apple.state.withLock { $0.answer = .clientRefused("invalid_client") }
        await revocations.round()
        #expect(database.revocation(1)?.next == clock.now().adding(seconds: 5))
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error token revocation at Apple failed"))
        #expect(log.lines[0].contains("invalid_client"))
        apple.state.withLock { $0.answer = nil }
        clock.advance(seconds: 5)
        await revocations.round()
        #expect(database.revocation(1)?.failure == "done")
    }

    @Test("A token that no key opens is retried for seven days and logged once, since its key may be restored")
    func unreadable() async {
        queue(1, context: Array("another person's".utf8))
        queue(2)
        await revocations.round()
        #expect(asked.count == 1, "the others are not held up")
        #expect(database.revocation(1)?.failure == "unreadable")
        #expect(database.revocation(1)?.next == clock.now().adding(seconds: 5))
        let start = clock.now()
        var rounds = 0
        while let next = database.revocation(1)?.next {
            clock.advance(milliseconds: next.milliseconds - clock.now().milliseconds)
            await revocations.round()
            rounds += 1
        }
        #expect(asked.count == 1)
        #expect(clock.now() == start.adding(seconds: QueuedRevocation.lifetime))
        #expect(rounds > 20)
        #expect(database.revocation(1)?.failure == "unreadable")
        #expect(log.lines.filter { $0.hasPrefix("error token revocation at Apple failed") }.count == 1)
        #expect(log.lines.filter { $0.hasPrefix("error token revocation at Apple abandoned") }.count == 1)
        #expect(!log.lines.joined().contains("t0ken"))
    }

    @Test func tokenIsRevokedOnceItsKeyIsRestored() async {
        queue(1)
        let without = AppleRevocations(
            database: database.store, provider: apple, keyring: SealingKeyring(current: .generate()),
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: log.logger))
        await without.round()
        #expect(asked.isEmpty)
        #expect(log.lines.contains { $0.contains(keyring.currentKeyID) }, "the missing key is named")
        clock.advance(seconds: 5)
        await revocations.round()
        #expect(asked == ["com.example.web t0ken"])
        #expect(database.revocation(1)?.failure == "done")
    }

    @Test func oneFailureDoesNotStopTheOthers() async {
        queue(1)
        queue(2)
        apple.state.withLock { state in
            state.answer = .unavailable("timeout", mayHaveActed: true)
            state.meanwhile = { apple in
                apple.state.withLock { if $0.asked.count == 2 { $0.answer = nil } }
            }
        }
        await revocations.round()
        #expect(asked.count == 2)
        #expect(database.revocation(1)?.failure == "provider_unavailable")
        #expect(database.revocation(2)?.failure == "done")
    }

    @Test func anotherProcessHasTheLease() async throws {
        queue(1)
        _ = try await database.store.holdLease(.revocations, holder: "another", seconds: 60, at: clock.now())
        await revocations.round()
        #expect(asked.isEmpty)
        #expect(database.revocation(1)?.next == clock.now())
        try await database.store.releaseLease(.revocations, holder: "another")
        await revocations.round()
        #expect(asked.count == 1)
        #expect(!database.isLeased)
    }

    @Test func roundEndsWhenStopped() async {
        for id in 1...3 as ClosedRange<Int64> { queue(id) }
        let apple = apple
        await revocations.round(while: { apple.state.withLock { $0.asked.count < 2 } })
        #expect(asked.count == 2)
        #expect(!database.isLeased)
    }

    @Test func unavailableStoreIsLoggedOnce() async {
        database.faults.fail()
        // Once a second, for a quarter of a minute.
        for _ in 0..<15 {
            await revocations.round()
            clock.advance(seconds: 1)
        }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error revocation queue not readable"))
    }
}
