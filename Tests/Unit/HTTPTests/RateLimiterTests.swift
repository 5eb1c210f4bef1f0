import HTTP
import Sockets
import Testing

@Suite struct RateLimiterTests {
    private let client = IPAddress.v4(1)

    @Test func burst_isAllowedThenRefused() {
        let limiter = RateLimiter(burst: 3, interval: 2000)
        for _ in 0..<3 { #expect(limiter.consume(client, now: 0) == nil) }
        #expect(limiter.consume(client, now: 0) == 2)
        #expect(limiter.consume(client, now: 999) == 2)
        #expect(limiter.consume(client, now: 1000) == 1)
        #expect(limiter.consume(client, now: 1999) == 1)
        #expect(limiter.consume(client, now: 2000) == nil)
        #expect(limiter.consume(client, now: 2000) == 2)
    }

    @Test func refusals_consumeNoToken() {
        let limiter = RateLimiter(burst: 1, interval: 1000)
        #expect(limiter.consume(client, now: 0) == nil)
        for now in 1..<1000 { #expect(limiter.consume(client, now: Int64(now)) == 1) }
        #expect(limiter.consume(client, now: 1000) == nil)
    }

    @Test func bucket_neverHoldsMoreThanItsBurst() {
        let limiter = RateLimiter(burst: 2, interval: 10)
        let later: Int64 = 1_000_000
        #expect(limiter.consume(client, now: 0) == nil)
        #expect(limiter.consume(client, now: later) == nil)
        #expect(limiter.consume(client, now: later) == nil)
        #expect(limiter.consume(client, now: later) == 1)
    }

    @Test func clients_haveTheirOwnBuckets() throws {
        let limiter = RateLimiter(burst: 1, interval: 1000)
        let pairs: [(String, Bool)] = [
            ("192.0.2.1", true), ("192.0.2.2", true), ("192.0.2.1", false), ("2001:db8::1", true),
            ("2001:db8::ffff:1:2:3", false), ("2001:db8:0:1::1", true), ("::ffff:192.0.2.2", false),
        ]
        for (text, allowed) in pairs {
            let decision = limiter.consume(try #require(IPAddress(text)), now: 0)
            #expect((decision == nil) == allowed, "\(text)")
        }
        #expect(limiter.consume(.v6(0, 0xffff_c000_0201), now: 0) != nil)
    }

    @Test func table_isBoundedAndForgetsTheLeastRecent() {
        let limiter = RateLimiter(burst: 1, interval: 1_000_000, capacity: 3)
        for value in 1...3 { #expect(limiter.consume(.v4(UInt32(value)), now: Int64(value)) == nil) }
        // The first is used again, so the second is the quietest.
        #expect(limiter.consume(.v4(1), now: 10) != nil)
        #expect(limiter.consume(.v4(4), now: 11) == nil)
        #expect(limiter.count == 3)
        for value in [1, 3, 4] { #expect(limiter.consume(.v4(UInt32(value)), now: 12) != nil, "\(value)") }
        #expect(limiter.consume(.v4(2), now: 12) == nil)
    }

    @Test func churn_keepsTheTableConsistent() {
        let limiter = RateLimiter(burst: 1, interval: 1_000_000_000, capacity: 7)
        var recent: [UInt32] = []
        var state: UInt32 = 12_345
        for step in 0..<5000 {
            state = state &* 1_664_525 &+ 1_013_904_223
            let value = state >> 28
            let known = recent.contains(value)
            #expect((limiter.consume(.v4(value), now: Int64(step)) == nil) != known)
            recent.removeAll { $0 == value }
            recent.append(value)
            if recent.count > 7 { recent.removeFirst() }
        }
        #expect(limiter.count == 7)
    }

    @Test func everyParameter_isAtLeastOne() {
        let limiter = RateLimiter(burst: 0, interval: 0, capacity: 0)
        #expect(limiter.consume(.v4(1), now: 0) == nil)
        #expect(limiter.consume(.v4(1), now: 0) == 1)
        #expect(limiter.consume(.v4(2), now: 0) == nil)
        #expect(limiter.count == 1)
    }
}
