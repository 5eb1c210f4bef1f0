import AppleID
import Coding
import IndependentSigning
import LogRecording
import Logging
import Synchronization
import Testing

@testable import Accounts

struct AppleKeySetTests: KeySetTesting {
    let clock = TestClock()

    @Test func fetchesOnceForManyUses() async throws {
        let (source, keys) = try firstPublished()
        for _ in 0..<10 { _ = try await keys.key(for: first) }
        #expect(source.fetches == 1)
    }

    @Test func findsANewKeyAtOnceAfterARotation() async throws {
        let (source, keys) = try firstPublished()
        _ = try await keys.key(for: first)
        source.answer = .success(try published(second))
        _ = try await keys.key(for: second)
        #expect(source.fetches == 2)
        await #expect(throws: Failure.coolingDown) { try await keys.key(for: first) }
    }

    @Test func anUnknownKidCostsAFetchAMinute() async throws {
        let (source, keys) = try firstPublished()
        _ = try await keys.key(for: first)
        await #expect(throws: Failure.unknownKey) { try await keys.key(for: second) }
        clock.advance(seconds: 59)
        await #expect(throws: Failure.coolingDown) { try await keys.key(for: second) }
        #expect(source.fetches == 2)
        clock.advance(seconds: 1)
        source.answer = .success(try published(first, second))
        _ = try await keys.key(for: second)
        #expect(source.fetches == 3)
    }

    @Test func aClockSetBackDoesNotStretchTheCoolDown() async throws {
        let (source, keys) = try firstPublished()
        _ = try await keys.key(for: first)
        await #expect(throws: Failure.unknownKey) { try await keys.key(for: second) }
        clock.advance(seconds: -86_400)
        source.answer = .success(try published(first, second))
        _ = try await keys.key(for: second)
    }

    @Test func renewsHourlyButOnlyWhenAsked() async throws {
        let (source, keys) = try firstPublished()
        await keys.renewIfDue()
        #expect(source.fetches == 0, "nothing to renew")
        _ = try await keys.key(for: first)
        clock.advance(seconds: 3599)
        await keys.renewIfDue()
        #expect(source.fetches == 1)
        clock.advance(seconds: 1)
        source.answer = .failure(.withoutKeys("down"))
        await keys.renewIfDue()
        await keys.renewIfDue()
        #expect(source.fetches == 2, "a failed renewal waits a minute")
        clock.advance(seconds: 60)
        source.answer = .success(try published(second))
        await keys.renewIfDue()
        #expect(source.fetches == 3)
        _ = try await keys.key(for: second)
        #expect(source.fetches == 3)
    }

    @Test func trustsNoSetOlderThanAWeek() async throws {
        let (source, keys) = try firstPublished()
        _ = try await keys.key(for: first)
        source.answer = .failure(.withoutKeys("down"))
        clock.advance(seconds: 7 * 86_400 - 1)
        _ = try await keys.key(for: first)
        clock.advance(seconds: 1)
        await #expect(throws: Failure.self) { try await keys.key(for: first) }
    }

    @Test func theLastGoodSetOutlivesARestart() async throws {
        let archive = MemoryArchive()
        _ = try await keySet(KeySource(try published(first)), archive: archive).key(for: first)
        #expect(archive.kept?.fetchedAt == clock.now())
        clock.advance(seconds: 86_400)
        let source = KeySource(failing: "down")
        let keys = keySet(source, archive: archive)
        await keys.prepare()
        _ = try await keys.key(for: first)
        #expect(source.fetches == 0)
        await keys.renewIfDue()
        #expect(source.fetches == 1, "old as it is, it is renewed when somebody asks")
    }

    @Test(arguments: [(7 * 86_400 - 1, true), (7 * 86_400, false)] as [(Int64, Bool)])
    func theArchivesAgeIsBounded(age: Int64, isTrusted: Bool) async throws {
        let archived = StoredKeySet(document: try published(first), fetchedAt: clock.now().adding(seconds: -age))
        let keys = keySet(KeySource(failing: "down"), archive: MemoryArchive(archived))
        if isTrusted {
            _ = try await keys.key(for: first)
        } else {
            await #expect(throws: Failure.self) { try await keys.key(for: first) }
        }
    }

    @Test(arguments: ["", "garbage", #"{"keys":[]}"#])
    func damagedArchiveIsIgnored(bytes: String) async throws {
        let source = KeySource(try published(first))
        let archive = MemoryArchive(StoredKeySet(document: Array(bytes.utf8), fetchedAt: clock.now()))
        _ = try await keySet(source, archive: archive).key(for: first)
        #expect(source.fetches == 1)
    }

    @Test func preparingFetchesWhenTheArchiveIsEmpty() async throws {
        let (source, keys) = try firstPublished()
        await keys.prepare()
        #expect(source.fetches == 1)
    }

    @Test func aKeyThatDidNotVerifyIsFetchedAgainOnceAMinute() async throws {
        let (source, keys) = try firstPublished()
        let old = try await keys.key(for: first)
        await #expect(throws: Failure.unknownKey) { try await keys.key(for: first, otherThan: old) }
        for _ in 0..<100 {
            await #expect(throws: Failure.coolingDown) { try await keys.key(for: first, otherThan: old) }
            await #expect(throws: Failure.coolingDown) { try await keys.key(for: second) }
        }
        #expect(source.fetches == 2)
        clock.advance(seconds: 60)
        let text = try IndependentSigner.shared.keySet([second]).replacing(second, with: first)
        source.answer = .success(Array(text.utf8))
        let new = try await keys.key(for: first, otherThan: old)
        #expect(new != old)
        #expect(source.fetches == 3)
        #expect(try await keys.key(for: first) == new)
        // Whoever still holds the old one needs no fetch.
        #expect(try await keys.key(for: first, otherThan: old) == new)
        #expect(source.fetches == 3)
    }

    @Test(.timeLimit(.minutes(10))) func aHundredCallersShareOneFetch() async throws {
        let (source, keys) = try firstPublished()
        source.closeGate()
        let found = try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await keys.key(for: first) } }
            await reach { keys.waitingCallers == 99 && source.waiting == 1 }
            source.openGate()
            return try await group.reduce(into: 0) { count, _ in count += 1 }
        }
        #expect(found == 100)
        #expect(source.fetches == 1)
    }

    /// Whoever reads the log finds the cause before the sign-ins it failed.
    @Test(.timeLimit(.minutes(10))) func failedFetchIsLoggedBeforeWaitersResume() async throws {
        let source = KeySource(failing: "down")
        source.closeGate()
        let witness = Witness()
        let keys = AppleKeySet(
            archive: MemoryArchive(), runtime: testRuntime(clock, witness.logger),
            fetch: source.fetch)
        witness.watch(keys)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { _ = try? await keys.key(for: first) } }
            await reach { keys.waitingCallers == 2 && source.waiting == 1 }
            source.openGate()
            await group.waitForAll()
        }
        #expect(witness.waiters == [2])
    }

    @Test(.timeLimit(.minutes(10))) func heldKeyIsReturnedDuringAFetch() async throws {
        let (source, keys) = try firstPublished()
        _ = try await keys.key(for: first)
        source.closeGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await keys.key(for: "unknown") }
            await reach { source.waiting == 1 }
            _ = try await keys.key(for: first)
            source.openGate()
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(10))) func aCancelledLeaderLosesNobody() async throws {
        let (source, keys) = try firstPublished()
        source.closeGate()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            // The leader, in a group of its own so that it can be cancelled alone.
            group.addTask {
                await withTaskGroup(of: Bool.self) { leader in
                    leader.addTask { (try? await keys.key(for: first)) == nil }
                    await reach { keys.waitingCallers == 5 && source.waiting == 1 }
                    leader.cancelAll()
                    return await leader.next() ?? false
                }
            }
            await reach { source.waiting == 1 }
            for _ in 0..<5 {
                group.addTask {
                    _ = try await keys.key(for: first)
                    return true
                }
            }
            #expect(try await group.next() == true, "the leader itself gave up")
            await reach { source.fetches == 2 && keys.waitingCallers == 4 }
            source.openGate()
            for try await wasServed in group { #expect(wasServed) }
        }
        #expect(source.fetches == 2)
    }

    @Test(.timeLimit(.minutes(10))) func aCancelledWaiterLeavesTheOthersAlone() async throws {
        let (source, keys) = try firstPublished()
        source.closeGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await keys.key(for: first) }
            await reach { source.waiting == 1 }
            let gaveUp = await withTaskGroup(of: Bool.self) { waiter in
                waiter.addTask { (try? await keys.key(for: first)) == nil }
                await reach { keys.waitingCallers == 1 }
                waiter.cancelAll()
                return await waiter.next()
            }
            #expect(gaveUp == true)
            #expect(keys.waitingCallers == 0)
            source.openGate()
            try await group.waitForAll()
        }
        #expect(source.fetches == 1)
    }

    /// Yields until it holds: no clock, so a slow machine only takes longer.
    private func reach(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }
}

/// Counts who waits whenever a warning is logged.
private final class Witness: Sendable {
    private struct State {
        /// Weak: they hold the logger, which holds us.
        weak var keys: AppleKeySet?
        var waiters: [Int] = []
    }

    private let state = Mutex(State())

    var waiters: [Int] { state.withLock { $0.waiters } }
    var logger: Logger { LogRecorder { if $0.hasPrefix("warning ") { self.count() } }.logger }
    func watch(_ keys: AppleKeySet) { state.withLock { $0.keys = keys } }

    private func count() {
        guard let keys = state.withLock({ $0.keys }) else { return }
        let waiters = keys.waitingCallers
        state.withLock { $0.waiters.append(waiters) }
    }
}
