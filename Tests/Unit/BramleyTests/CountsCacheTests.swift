import Coding
import Storage
import Synchronization
import Testing

@testable import Accounts
@testable import Bramley

struct CountsCacheTests {
    /// A clock to be moved, and a count that takes some of its time.
    private final class Bench: Sendable {
        private let state = Mutex((now: ContinuousClock.now, counted: 0, fails: false))
        private let cost: Duration

        init(cost: Duration) { self.cost = cost }

        var counted: Int { state.withLock { $0.counted } }
        func advance(_ time: Duration) { state.withLock { $0.now += time } }
        func fail() { state.withLock { $0.fails = true } }

        func cache() -> CountsCache {
            CountsCache(now: { self.state.withLock { $0.now } }) {
                self.state.withLock { state in
                    state.now += self.cost
                    state.counted += 1
                    guard !state.fails else { return nil }
                    var counts = StoreCounts()
                    counts.sessions = state.counted
                    return CountsCache.Counted(counts: counts, at: Timestamp(milliseconds: 0))
                }
            }
        }
    }

    @Test func numbersAreKeptForFifteenSeconds() async {
        let bench = Bench(cost: .milliseconds(1))
        let cache = bench.cache()
        #expect(await cache.current()?.counts.sessions == 1)
        bench.advance(.milliseconds(14_999))
        #expect(await cache.current()?.counts.sessions == 1)
        bench.advance(.milliseconds(1))
        #expect(await cache.current()?.counts.sessions == 2)
        #expect(bench.counted == 2)
    }

    @Test func slowCountsAreRare() async {
        let bench = Bench(cost: .seconds(2))
        let cache = bench.cache()
        _ = await cache.current()
        bench.advance(.seconds(199))
        #expect(await cache.current()?.counts.sessions == 1)
        bench.advance(.seconds(1))
        #expect(await cache.current()?.counts.sessions == 2)
    }

    @Test func failingStoreKeepsTheEarlierNumbers() async {
        let bench = Bench(cost: .zero)
        let cache = bench.cache()
        _ = await cache.current()
        bench.fail()
        bench.advance(.seconds(16))
        #expect(await cache.current()?.counts.sessions == 1)
        #expect(bench.counted == 2)
    }

    @Test func onlyOneReaderWaits() async {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let (entered, entering) = AsyncStream.makeStream(of: Void.self)
        let cache = CountsCache {
            entering.yield()
            for await _ in gate { break }
            return CountsCache.Counted(counts: StoreCounts(), at: Timestamp(milliseconds: 0))
        }
        async let first = cache.current()
        for await _ in entered { break }
        #expect(await cache.current() == nil)
        opener.yield()
        #expect(await first != nil)
    }
}
