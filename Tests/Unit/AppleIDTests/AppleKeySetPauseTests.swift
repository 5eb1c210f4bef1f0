import Accounts
import AppleID
import Coding
import Synchronization
import Testing

/// What happens between a fetch that failed and the next one.
struct AppleKeySetPauseTests: KeySetTesting {
    private let source = KeySource(failing: "down")
    let clock = TestClock()

    /// Regression: a server that started before Apple could be reached refused sign-ins though Apple answered by then.
    @Test func callersOfAMissingKeyWaitForTheNextFetch() async throws {
        let good = try published(first)
        let keys = keySet(
            source,
            pause: { [clock] milliseconds in
                clock.advance(milliseconds: milliseconds)
                if milliseconds == 400 { source.answer = .success(good) }
                return true
            })
        _ = try await keys.key(for: first)
        #expect(source.fetches == 4)
        #expect(clock.now() == TestClock.start.adding(milliseconds: 700))
    }

    @Test func nobodyWaitsLongerThanTheDeadline() async throws {
        let keys = keySet(source)
        await #expect(throws: Failure.self) { try await keys.key(for: first) }
        #expect(source.fetches == 6)
        #expect(clock.now() == TestClock.start.adding(milliseconds: 3_100))
        // The next one is 3.2 s away; everybody who comes has one fetch made for them.
        for round in 1...10 {
            await #expect(throws: Failure.self) { try await keys.key(for: first) }
            #expect(source.fetches == 6 + round)
        }
        source.answer = .success(try published(first))
        _ = try await keys.key(for: first)
    }

    /// Regression: callers that had waited for a hanging fetch were refused without another.
    @Test func oneMoreFetchFollowsOneThatHung() async throws {
        let source = HangingSource(clock: clock, hanging: 1, then: try published(first))
        _ = try await keySet(source).key(for: first)
        #expect(source.fetches == 2)
        let dead = HangingSource(clock: clock, hanging: .max, then: [])
        await #expect(throws: Failure.self) { try await keySet(dead).key(for: first) }
        #expect(dead.fetches == 2)
    }

    /// A fetch takes as long as the client allows, and fails, the first times.
    private final class HangingSource: KeySetSource {
        private let clock: TestClock
        private let hanging: Int
        private let answer: [UInt8]
        private let count = Atomic(0)

        init(clock: TestClock, hanging: Int, then answer: [UInt8]) {
            self.clock = clock
            self.hanging = hanging
            self.answer = answer
        }

        var fetches: Int { count.load(ordering: .sequentiallyConsistent) }

        func fetch() async throws(Failure) -> [UInt8] {
            let number = count.add(1, ordering: .sequentiallyConsistent).newValue
            guard number > hanging else {
                clock.advance(milliseconds: 10_000)
                throw .withoutKeys("timeout")
            }
            return answer
        }
    }

    /// By only the clock, or only the pauses: a clock that stops causes no more fetches and blocks nobody.
    @Test(.timeLimit(.minutes(10))) func aHundredWaitersCauseOneFetchPerPause() async throws {
        let good = try published(first)
        let keys = keySet(
            source,
            pause: { milliseconds in
                if milliseconds == 200 { source.answer = .success(good) }
                await Task.yield()
                return true
            })
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { (try? await keys.key(for: first)) != nil } }
            for await wasServed in group { #expect(wasServed) }
        }
        #expect(source.fetches == 3)
    }

    /// Whoever may not wait, or is stopped, is refused.
    @Test func aPauseThatIsRefusedEndsTheCall() async throws {
        let keys = keySet(source, pause: { _ in false })
        await #expect(throws: Failure.self) { try await keys.key(for: first) }
        await keys.prepare()
        #expect(source.fetches == 1)
    }

    /// Milliseconds at which fetches were made in five minutes by a caller who comes every 100 ms and does not wait.
    private func fetches(_ source: KeySource, _ keys: AppleKeySet, of kid: String) async -> [Int64] {
        var fetchedAt: [Int64] = []
        for step in 0..<3000 as Range<Int64> {
            let before = source.fetches
            _ = try? await keys.key(for: kid)
            if source.fetches > before { fetchedAt.append(step * 100) }
            clock.advance(milliseconds: 100)
        }
        return fetchedAt
    }

    @Test func pausesGrowToFiveSecondsWithoutASet() async throws {
        let found = await fetches(source, keySet(source, pause: { _ in false }), of: first)
        #expect(found.prefix(9) == [0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300, 16_300])
        #expect(found.count == 65)
    }

    @Test func pausesGrowToAMinuteWithASet() async throws {
        let source = KeySource(try published(first))
        let keys = keySet(source, pause: { _ in false })
        _ = try await keys.key(for: first)
        source.answer = .failure(.withoutKeys("down"))
        let found = await fetches(source, keys, of: second)
        #expect(
            found == [
                0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 25_500, 51_100, 102_300, 162_300, 222_300, 282_300,
            ])
    }

    /// A fetch that failed says nothing of the kid: the minute of unknown kids does not begin with it.
    @Test func aRotationDuringAnOutageIsOverWithTheOutage() async throws {
        let source = KeySource(try published(first))
        let good = try published(first, second)
        let keys = keySet(
            source,
            pause: { [clock] milliseconds in
                clock.advance(milliseconds: milliseconds)
                source.answer = .success(good)
                return true
            })
        _ = try await keys.key(for: first)
        source.answer = .failure(.withoutKeys("down"))
        _ = try await keys.key(for: second)
        #expect(source.fetches == 3)
        await #expect(throws: Failure.coolingDown) { try await keys.key(for: "unknown") }
    }

    /// In the background, however late Apple can be reached; the pauses grow to a minute when nobody waits.
    @Test func preparingContinuesUntilAppleAnswers() async throws {
        let good = try published(first)
        let pauses = Mutex<[Int64]>([])
        let keys = keySet(
            source,
            pause: { [clock] milliseconds in
                clock.advance(milliseconds: milliseconds)
                let count = pauses.withLock { pauses in
                    pauses.append(milliseconds)
                    return pauses.count
                }
                if count == 13 { source.answer = .success(good) }
                return true
            })
        await keys.prepare()
        #expect(
            pauses.withLock { $0 } == [
                100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000,
            ])
        #expect(source.fetches == 14)
        _ = try await keys.key(for: first)
    }
}
