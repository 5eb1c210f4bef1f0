import Accounts
import HTTP

/// Limits the requests of one client address per minute, over all routes that share it.
struct RateGate: Sendable {
    private let limiter: RateLimiter
    private let stopwatch = Stopwatch()
    private let traffic: TrafficSources?

    /// - Parameter traffic: told of every request, including refused ones.
    init(perMinute: Int, traffic: TrafficSources? = nil) {
        self.traffic = traffic
        // A whole minute's worth at once, then evenly.
        limiter = RateLimiter(burst: perMinute, interval: 60_000 / Int64(max(1, perMinute)))
    }

    /// Counts this request, and records its client; throws `.tooManyRequests` beyond the limit.
    func record(_ request: ServerRequest) throws(Failure) {
        traffic?.record("\(request.client)")
        try pass(request)
    }

    /// Counts this request; throws `.tooManyRequests` beyond the limit.
    func pass(_ request: ServerRequest) throws(Failure) {
        if let seconds = limiter.consume(request.client, now: stopwatch.milliseconds) {
            throw .tooManyRequests(retryAfter: seconds)
        }
    }
}

/// Milliseconds since it was made, by a monotonic clock.
struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    var milliseconds: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
