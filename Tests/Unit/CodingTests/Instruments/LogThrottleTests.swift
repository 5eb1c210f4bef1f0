import Coding
import Testing

@Suite struct LogThrottleTests {
    @Test func eachKeyHasABurstThenACount() {
        let lines = LogThrottle(burst: 200, interval: 100)
        for _ in 0..<200 { #expect(lines.count("storage", at: 0) == 1) }
        for _ in 0..<25 { #expect(lines.count("storage", at: 99) == nil) }
        // Another key has its own.
        #expect(lines.count("clock", at: 0) == 1)
        #expect(lines.count("storage", at: 1_000) == 26)
        for _ in 1..<10 { #expect(lines.count("storage", at: 1_000) == 1) }
        #expect(lines.count("storage", at: 1_000) == nil)
    }

    @Test func lastingTroubleIsLoggedAtTheRate() {
        let lines = LogThrottle(burst: 200, interval: 100)
        let counts = (0..<60_000).compactMap { lines.count("storage", at: $0) }
        #expect(abs(counts.count - 200 - 600) <= 1)
        let told = counts.reduce(0, +)
        #expect(told <= 60_000 && told > 59_800, "each is written or counted")
        // After a rest, as at the beginning; never more.
        #expect((0..<1_000).count { _ in lines.count("storage", at: 3_600_000) != nil } == 200)
    }

    @Test func firstIsLoggedAtOnceThenOnePerIntervalWithACount() {
        let lines = LogThrottle(interval: 60_000)
        #expect(lines.count(at: 500) == 1)
        #expect(lines.count(at: 600) == nil)
        #expect(lines.count(at: 60_499) == nil)
        #expect(lines.count(at: 60_500) == 3)
        #expect(lines.count(at: 120_499) == nil)
        #expect(lines.count(at: 500_000) == 2)
    }

    @Test func clockSetBackDoesNotSuppressLines() {
        let lines = LogThrottle(interval: 60_000)
        #expect(lines.count(at: 1_000_000) == 1)
        #expect(lines.count(at: 1_001_000) == nil)
        #expect(lines.count(at: 1_000) == 2)
        #expect(lines.count(at: 60_999) == nil)
        #expect(lines.count(at: 61_000) == 2)
    }
}
