package import Coding
import HTTP
import HTTPTypes
import Synchronization

/// Counts requests to Apple by endpoint and outcome, and measures how long they took.
package final class AppleCallMetrics: Sendable {
    /// The value of the label `endpoint`.
    package enum Endpoint: String, Sendable, CaseIterable {
        case keys, token, revoke
        case migration = "usermigrationinfo"
        case other

        init(path: String) {
            self = Self.allCases.first { path.isExactly("/auth/\($0.rawValue)") } ?? .other
        }
    }

    /// The value of the label `outcome`.
    package enum Outcome: String, Sendable, CaseIterable {
        case success
        /// 400 to 403: a refusal by Apple, such as `invalid_grant` for a dead token.
        case refused
        /// 429.
        case throttled
        case unexpected
        case unknownHost = "unknown_host"
        case connect, tls, timeout, closed, malformed
        case tooLarge = "too_large"
        case proxy

        init(_ response: ClientResponse) {
            self =
                switch response.status.code {
                case 200: .success
                case 429: .throttled
                default: response.isRefusalStatus ? .refused : .unexpected
                }
        }

        init(_ error: HTTPClientError) {
            self =
                switch error {
                case .unknownHost: .unknownHost
                case .inside, .connect: .connect
                case .tls: .tls
                case .timeout: .timeout
                case .closed: .closed
                case .malformed: .malformed
                case .tooLarge: .tooLarge
                case .proxy: .proxy
                }
        }
    }

    private let counts = CounterGrid<Endpoint, Outcome>()
    private let durations: [Endpoint: Histogram]
    private let offset = Mutex<ClockOffset?>(nil)

    package init() {
        durations = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map {
                ($0, Histogram(.seconds, bounds: HistogramBounds.calls))
            })
    }

    func count(_ endpoint: Endpoint, _ outcome: Outcome, since start: ContinuousClock.Instant) {
        counts.increment(endpoint, outcome)
        durations[endpoint]?.record(since: start)
    }

    func record(_ offset: ClockOffset) { self.offset.withLock { $0 = offset } }

    package func count(of endpoint: Endpoint, _ outcome: Outcome) -> Int { counts[endpoint, outcome] }

    package func durations(of endpoint: Endpoint) -> HistogramReading? { durations[endpoint]?.reading }

    /// How far this machine's clock is ahead of Apple's, by the last answer; nil before the first.
    package var clockOffset: ClockOffset? { offset.withLock { $0 } }
}
