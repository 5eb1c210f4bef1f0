import HTTP

/// Holds one client address to a number of requests a minute, over all routes it stands before.
struct RateGate: Sendable {
    private let limiter: RateLimiter
    private let stopwatch: Stopwatch
    private let traffic: TrafficSources?

    /// - Parameter traffic: is told of every request, those beyond the limit too.
    init(perMinute: Int, stopwatch: Stopwatch, traffic: TrafficSources? = nil) {
        self.traffic = traffic
        limiter = RateLimiter(Self.limit(perMinute: perMinute))
        self.stopwatch = stopwatch
    }

    /// A whole minute's worth at once, then evenly.
    static func limit(perMinute count: Int) -> RateLimit {
        RateLimit(burst: count, interval: 60_000 / Int64(max(1, count)))
    }

    /// Counts page loads only: what nginx shows a script in place of each of its 401s costs its page nothing.
    func limitingPageLoads(_ handle: @escaping RouteTable.Handler) -> RouteTable.Handler {
        { request, parameters throws(WebFailure) in
            if Navigation.holds(request.fields) { try noting(request) }
            return try await handle(request, parameters)
        }
    }

    func limiting(_ handle: @escaping RouteTable.Handler) -> RouteTable.Handler {
        { request, parameters throws(WebFailure) in
            try noting(request)
            return try await handle(request, parameters)
        }
    }

    /// Counts this request, and tells of it.
    /// - Throws: `.tooManyRequests` when it is one too many.
    func noting(_ request: ServerRequest) throws(WebFailure) {
        traffic?.record("\(request.client)")
        try pass(request)
    }

    /// Counts this request.
    /// - Throws: `.tooManyRequests` when it is one too many.
    func pass(_ request: ServerRequest) throws(WebFailure) {
        if case .refused(let seconds) = limiter.consume(request.client, now: stopwatch.milliseconds) {
            throw .tooManyRequests(retryAfter: seconds)
        }
    }
}

/// Milliseconds since it was made, by a clock that never goes back.
struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    var milliseconds: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
