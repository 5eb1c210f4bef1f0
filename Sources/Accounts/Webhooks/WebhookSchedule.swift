package import Coding

/// When a failed webhook is tried again, and when it is given up.
package struct WebhookSchedule: Hashable, Sendable {
    /// Delays after the first failure, the second, …, in milliseconds. One more failure makes a dead letter.
    package var delays: [Int64]
    /// Up to this many percent are added to each delay, so that events that failed together do not return together.
    package var jitter: Int64 = 20
    /// The longest `Retry-After` that is honoured, in milliseconds.
    package var longestRetryAfter: Int64 = 3_600_000

    /// 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: with the first attempt, ten over three and a half days.
    package static let standard = WebhookSchedule(
        delays: [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map { $0 * 1000 })

    /// The age at which a failing webhook is given up however often it was tried, in milliseconds. An event that waited
    /// that long behind an earlier one of the same user is tried once; otherwise the delays of a user's events would add up.
    package var lifetime: Int64 {
        let total = delays.reduce(0, +)
        return total + total * jitter / 100
    }

    /// When to try again after so many `failures`; nil gives up. `queuedAt` is also when the operator replayed the
    /// event, `retryAfter` in milliseconds, `fraction` random, of 65536.
    package func next(
        failures: Int, queuedAt: Timestamp, now: Timestamp, retryAfter: Int64?, fraction: UInt16
    ) -> Timestamp? {
        guard failures <= delays.count, now.milliseconds - queuedAt.milliseconds < lifetime else { return nil }
        let delay = delays[max(failures, 1) - 1]
        let longer = delay + delay * jitter / 100 * Int64(fraction) / 65536
        return now.adding(milliseconds: max(longer, pause(retryAfter)))
    }

    /// How long an endpoint that asked for a pause is left alone, in milliseconds.
    package func pause(_ retryAfter: Int64?) -> Int64 { min(max(retryAfter ?? 0, 0), longestRetryAfter) }
}

package struct WebhookPolicy: Hashable, Sendable {
    package var schedule: WebhookSchedule = .standard
    /// Requests in flight to one endpoint.
    package var concurrency: Int = 16
    /// How long a killed server keeps others from delivering, in seconds.
    package var lease: Int64 = 3
    /// Events queued in one transaction.
    package var batch: Int = 500

    package static let standard = WebhookPolicy()
}

package enum WebhookAnswer: Hashable, Sendable {
    /// A complete response. `retryAfter` in milliseconds.
    case status(Int, retryAfter: Int64? = nil)
    /// No response, and why: `timeout`, `connection refused`. Never the receiver's words.
    case failure(String)
    /// This process is ending: the attempt does not count, and the next process repeats it.
    case abandoned
}

package enum WebhookVerdict: Hashable, Sendable {
    case delivered
    /// 410: the receiver wants no more events (Standard Webhooks, "Deliverability and reliability").
    case gone
    /// `retryAfter` in milliseconds; only with 429 and 503.
    case failed(String, retryAfter: Int64?)
    /// Only of a logout token: see `init(logout:)`.
    case refused(String)
    case abandoned

    /// The answer to a logout token. 400 refuses it (Back-Channel Logout §2.8), as do 501 and all client errors but those
    /// about timing. 410 has a meaning only in Standard Webhooks.
    package init(logout answer: WebhookAnswer) {
        switch answer {
        case .status(let code, _) where code == 501 || (400...499).contains(code) && ![408, 425, 429].contains(code):
            self = .refused("status \(code)")
        default: self.init(answer)
        }
    }

    package init(_ answer: WebhookAnswer) {
        switch answer {
        case .status(200...299, _): self = .delivered
        case .status(410, _): self = .gone
        case .status(let code, let retryAfter):
            self = .failed("\(Self.answered)\(code)", retryAfter: code == 429 || code == 503 ? retryAfter : nil)
        case .failure(let reason): self = .failed(reason, retryAfter: nil)
        case .abandoned: self = .abandoned
        }
    }

    /// The beginning of a reason when there was an answer.
    private static let answered = "status "

    /// An answer's status, otherwise a constant text: more would reveal to the API which hosts this machine can reach.
    package static func outward(_ reason: String) -> String {
        reason.utf8.starts(with: answered.utf8) ? reason : "not reached"
    }
}

/// Deliveries in flight: one in each line (`WebhookDelivery.line`), and `capacity` at each endpoint.
package struct WebhookLines: Sendable {
    private let capacity: Int
    private var busy: [WebhookEndpointID: Set<String>] = [:]
    /// Deliveries finished since the last read began, by position in the journal.
    private var finished: [WebhookEndpointID: Set<Int64>] = [:]

    package init(capacity: Int) { self.capacity = capacity }

    package var isIdle: Bool { busy.isEmpty }

    /// Begins a read of what is due. Deliveries that finish from now on may still appear in the result, and are skipped.
    /// - Returns: how many entries to read, so that those in flight do not hide others; zero when there is no room.
    package mutating func prepare(at endpoint: WebhookEndpointID) -> Int {
        finished[endpoint] = nil
        let count = busy[endpoint]?.count ?? 0
        return count < capacity ? capacity + count : 0
    }

    /// Returns what may be sent now, in the given order, and marks it as in flight.
    package mutating func start(_ due: [WebhookDelivery]) -> [WebhookDelivery] {
        due.filter { delivery in
            guard finished[delivery.endpoint]?.contains(delivery.sequence) != true else { return false }
            guard busy[delivery.endpoint, default: []].count < capacity else { return false }
            return busy[delivery.endpoint, default: []].insert(delivery.line).inserted
        }
    }

    package mutating func finish(_ delivery: WebhookDelivery) {
        finished[delivery.endpoint, default: []].insert(delivery.sequence)
        busy[delivery.endpoint]?.remove(delivery.line)
        if busy[delivery.endpoint]?.isEmpty == true { busy[delivery.endpoint] = nil }
    }
}
