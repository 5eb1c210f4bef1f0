import Accounts
import HTTP

/// Limits the requests of one client address per minute, over all routes that share it.
struct RateGate: Sendable {
    private let limiter: RateLimiter
    private let stopwatch: Stopwatch
    private let traffic: TrafficSources?

    /// - Parameter traffic: told of every request, including refused ones.
    init(perMinute: Int, stopwatch: Stopwatch, traffic: TrafficSources? = nil) {
        self.traffic = traffic
        limiter = RateLimiter(Self.limit(perMinute: perMinute))
        self.stopwatch = stopwatch
    }

    /// A whole minute's worth at once, then evenly.
    static func limit(perMinute count: Int) -> RateLimit {
        RateLimit(burst: count, interval: 60_000 / Int64(max(1, count)))
    }

    /// Counts only page loads: nginx shows a script this answer instead of each of its 401s, which costs its page
    /// nothing.
    func limitingPageLoads(_ handle: @escaping RouteTable.Handler) -> RouteTable.Handler {
        { request, parameters throws(Failure) in
            if Navigation.holds(request.fields) { try noting(request) }
            return try await handle(request, parameters)
        }
    }

    func limiting(_ handle: @escaping RouteTable.Handler) -> RouteTable.Handler {
        { request, parameters throws(Failure) in
            try noting(request)
            return try await handle(request, parameters)
        }
    }

    /// Counts this request, and records its client.
    /// - Throws: `.tooManyRequests` beyond the limit.
    func noting(_ request: ServerRequest) throws(Failure) {
        traffic?.record("\(request.client)")
        try pass(request)
    }

    /// Counts this request.
    /// - Throws: `.tooManyRequests` beyond the limit.
    func pass(_ request: ServerRequest) throws(Failure) {
        if case .refused(let seconds) = limiter.consume(request.client, now: stopwatch.milliseconds) {
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
