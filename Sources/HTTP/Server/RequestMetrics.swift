package import Coding
package import HTTPTypes
package import Sockets
internal import Synchronization

/// Counts requests by route pattern, method and status, and measures how long routes took.
///
/// Every number exists from the start: routes are the router's, methods and statuses are in the tables here, and
/// everything else is `other`. No request can add one.
package final class RequestMetrics: Sendable {
    /// The name for unknown routes, methods and statuses.
    package static let other = "other"
    /// Requests that only the fast path answers are counted there.
    private static var methods: [HTTPRequest.Method] { Router.methods }
    package static var methodNames: [String] { methods.map(\.rawValue) + [other] }
    package static var statusNames: [String] { StatusCounts.statuses.map { String($0) } + [other] }

    private struct Pattern: Sendable {
        var pattern: String
        /// By method; nil where none is registered.
        var counts: [StatusCounts?]
        var durations: Histogram
    }

    private let patterns: [Pattern]
    /// From a route's `id` to its index in `patterns`.
    private let indices: [Int]
    private let unknown: Pattern
    private let immediate = Mutex<[ImmediateMetrics]>([])
    private let http2Begun = Counter()
    private let http2Ended = Counter()

    package init(_ routes: [Route]) {
        var patterns: [Pattern] = []
        var indices: [Int] = []
        for route in routes {
            let position = patterns.firstIndex { $0.pattern == route.pattern } ?? patterns.count
            if position == patterns.count { patterns.append(Self.pattern(route.pattern, [])) }
            // The GET route also answers HEAD.
            for method in route.method == .get ? [.get, .head] : [route.method] {
                let index = Self.index(of: method)
                if patterns[position].counts[index] == nil { patterns[position].counts[index] = StatusCounts() }
            }
            indices.append(position)
        }
        self.patterns = patterns
        self.indices = indices
        unknown = Self.pattern(Self.other, Array(0...Self.methods.count))
    }

    private static func pattern(_ name: String, _ methods: [Int]) -> Pattern {
        Pattern(
            pattern: name, counts: (0...Self.methods.count).map { methods.contains($0) ? StatusCounts() : nil },
            durations: Histogram(.seconds, bounds: HistogramBounds.work))
    }

    private static func index(of method: HTTPRequest.Method) -> Int {
        methods.firstIndex(of: method) ?? methods.count
    }

    // MARK: Counting

    /// Counts a response.
    /// - Parameters:
    ///   - route: nil when no route made it.
    ///   - start: when the handler was called.
    package func count(
        _ route: Route?, _ method: HTTPRequest.Method, _ status: HTTPResponse.Status,
        since start: ContinuousClock.Instant
    ) {
        let pattern = route.flatMap { indices.indices.contains($0.id) ? patterns[indices[$0.id]] : nil } ?? unknown
        let index = Self.index(of: method)
        (pattern.counts[index] ?? unknown.counts[index])?.increment(status.code)
        pattern.durations.record(since: start)
    }

    /// Counts a response that the server sent before the request was complete: its method and path are not used.
    func countRefusal(_ status: HTTPResponse.Status) {
        unknown.counts[Self.methods.count]?.increment(status.code)
    }

    func http2Began() { http2Begun.increment() }
    func http2Finished() { http2Ended.increment() }

    /// Where one loop counts the answers of its fast path.
    /// - Parameter pattern: of the route it replaces.
    package func makeImmediate(_ pattern: String) -> ImmediateMetrics {
        let metrics = ImmediateMetrics(pattern)
        immediate.withLock { $0.append(metrics) }
        return metrics
    }

    // MARK: Reading

    /// Connections that chose HTTP/2, and those still open.
    package var http2: (begun: Int, open: Int) {
        let ended = http2Ended.value
        let begun = http2Begun.value
        return (begun, max(0, begun - ended))
    }

    /// Calls `body` for every count that is not 0.
    package func forEachCount(_ body: (_ pattern: String, _ method: String, _ status: String, _ count: Int) -> Void) {
        for pattern in patterns + [unknown] {
            for (method, counts) in zip(Self.methodNames, pattern.counts) {
                var added = (status: 0, count: 0)
                if method == HTTPRequest.Method.get.rawValue {
                    let answers = readings(of: pattern.pattern).reduce(0) { $0 + $1.count }
                    added = (ImmediateMetrics.status, answers)
                }
                counts?.forEach(adding: added) { body(pattern.pattern, method, $0, $1) }
            }
        }
    }

    /// Calls `body` for every pattern that was requested.
    package func forEachDuration(_ body: (_ pattern: String, _ reading: HistogramReading) -> Void) {
        for pattern in patterns + [unknown] {
            var reading = pattern.durations.reading
            for other in readings(of: pattern.pattern) { reading.add(other) }
            if reading.count > 0 { body(pattern.pattern, reading) }
        }
    }

    private func readings(of pattern: String) -> [HistogramReading] {
        immediate.withLock { all in all.filter { $0.pattern == pattern }.map(\.durations.reading) }
    }
}

/// The answers of one loop's fast path: all of them 204 to GET.
package final class ImmediateMetrics: Sendable {
    static let status = 204

    let pattern: String
    let durations = Histogram(.seconds, bounds: HistogramBounds.work)

    fileprivate init(_ pattern: String) { self.pattern = pattern }

    /// Counts an answer. Measured from when the loop learnt of its input, so that waiting behind others shows; that
    /// time is known, so the clock is read only once.
    package func count(since wake: Deadline) { durations.record(Deadline.now.nanoseconds &- wake.nanoseconds) }
}

/// Responses of one pattern and method, by status.
private final class StatusCounts: Sendable {
    /// The statuses we answer with, and a few more.
    static let statuses = [
        200, 201, 202, 204, 206, 302, 303, 304, 400, 401, 403, 404, 405, 408, 409, 410, 411, 412, 413, 414, 415, 416,
        417, 421, 422, 426, 429, 431, 500, 501, 502, 503, 504, 505,
    ]

    private let counts: InlineArray<40, Atomic<Int>>

    init() { counts = InlineArray { _ in Atomic<Int>(0) } }

    func increment(_ status: Int) {
        let index = Self.statuses.firstIndex(of: status) ?? Self.statuses.count
        counts[index].wrappingAdd(1, ordering: .relaxed)
    }

    func forEach(adding added: (status: Int, count: Int), _ body: (String, Int) -> Void) {
        for (index, name) in RequestMetrics.statusNames.enumerated() {
            var count = counts[index].load(ordering: .relaxed)
            if index < Self.statuses.count, Self.statuses[index] == added.status { count += added.count }
            if count > 0 { body(name, count) }
        }
    }
}
