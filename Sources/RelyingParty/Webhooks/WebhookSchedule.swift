package import Coding

/// When a webhook that failed is tried again, and when it is given up.
package struct WebhookSchedule: Hashable, Sendable {
    /// After the first failure, the second, …, in milliseconds. One failure more makes a dead letter.
    package var delays: [Int64]
    /// Each delay is longer by a random part of this many percent, so that what failed together does not come back
    /// together.
    package var jitter: Int64
    /// The longest `Retry-After` that is honoured, in milliseconds.
    package var longestRetryAfter: Int64

    package init(delays: [Int64], jitter: Int64 = 20, longestRetryAfter: Int64 = 3_600_000) {
        self.delays = delays
        self.jitter = jitter
        self.longestRetryAfter = longestRetryAfter
    }

    /// 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: with the first attempt, ten over three days and a half.
    package static let standard = WebhookSchedule(
        delays: [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map { $0 * 1000 })

    /// The age at which a webhook that fails is given up however often it was tried, in milliseconds. What waited so
    /// long behind an earlier one of the same user is tried once and not for days again: otherwise a user with many
    /// events would wait for the sum of all of them.
    package var lifetime: Int64 {
        let total = delays.reduce(0, +)
        return total + total * jitter / 100
    }

    /// When to try again; nil gives it up.
    /// - Parameters:
    ///   - failures: those so far, at least one.
    ///   - queuedAt: when the event was queued, or replayed by the operator.
    ///   - retryAfter: what a receiver asked for, in milliseconds.
    ///   - fraction: random, of 65536.
    package func next(
        failures: Int, queuedAt: Timestamp, now: Timestamp, retryAfter: Int64?, fraction: UInt16
    ) -> Timestamp? {
        guard failures <= delays.count, now.milliseconds - queuedAt.milliseconds < lifetime else { return nil }
        let delay = delays[max(failures, 1) - 1]
        let longer = delay + delay * jitter / 100 * Int64(fraction) / 65536
        return now.adding(milliseconds: max(longer, pause(retryAfter)))
    }

    /// How long nothing is sent to an endpoint that asked for a pause, in milliseconds.
    package func pause(_ retryAfter: Int64?) -> Int64 {
        min(max(retryAfter ?? 0, 0), longestRetryAfter)
    }
}

/// The bounds of delivery.
package struct WebhookPolicy: Hashable, Sendable {
    package var schedule: WebhookSchedule
    /// Requests in flight to one endpoint.
    package var concurrency: Int
    /// How long a server that was killed keeps others from delivering, in seconds.
    package var lease: Int64
    /// Events queued in one transaction.
    package var batch: Int

    package init(
        schedule: WebhookSchedule = .standard, concurrency: Int = 16, lease: Int64 = 3, batch: Int = 500
    ) {
        self.schedule = schedule
        self.concurrency = concurrency
        self.lease = lease
        self.batch = batch
    }

    package static let standard = WebhookPolicy()
}

/// What came of one attempt.
package enum WebhookAnswer: Hashable, Sendable {
    /// A whole response. `retryAfter` in milliseconds.
    case status(Int, retryAfter: Int64? = nil)
    /// No response, and why: `timeout`, `connection refused`. Nothing of what the receiver said.
    case failure(String)
    /// This process is ending: the attempt counts for nothing and is made again by the next one.
    case abandoned
}

/// What an answer means.
package enum WebhookVerdict: Hashable, Sendable {
    case delivered
    /// 410: the receiver wants no more, ever (Standard Webhooks, "Deliverability and reliability").
    case gone
    /// `retryAfter` in milliseconds, with 429 and 503 only.
    case failed(String, retryAfter: Int64?)
    case abandoned

    package init(_ answer: WebhookAnswer) {
        switch answer {
        case .status(200...299, _): self = .delivered
        case .status(410, _): self = .gone
        case .status(let code, let retryAfter):
            self = .failed("status \(code)", retryAfter: code == 429 || code == 503 ? retryAfter : nil)
        case .failure(let reason): self = .failed(reason, retryAfter: nil)
        case .abandoned: self = .abandoned
        }
    }
}

/// Who is being told something right now. One line a user and endpoint: nothing else of a user goes to an endpoint
/// while one of their events is on its way there. Each endpoint has room of its own.
package struct WebhookLines: Sendable {
    private let capacity: Int
    private var busy: [WebhookEndpointID: Set<UserID>] = [:]
    /// What was finished since the last look began, by its place in the journal.
    private var finished: [WebhookEndpointID: Set<Int64>] = [:]

    package init(capacity: Int) {
        self.capacity = capacity
    }

    package var isIdle: Bool { busy.isEmpty }

    /// Begins a look at what is due. What is finished from now on may still stand in what the look finds, and is not
    /// taken from it: it would be sent once more for nothing.
    /// - Returns: how many entries to look at so that those in flight do not hide the others; zero when there is no room.
    package mutating func prepare(at endpoint: WebhookEndpointID) -> Int {
        finished[endpoint] = nil
        let count = busy[endpoint]?.count ?? 0
        return count < capacity ? capacity + count : 0
    }

    /// Takes what may go now, in the order given, and marks it as on its way.
    package mutating func start(_ due: [WebhookDelivery]) -> [WebhookDelivery] {
        due.filter { delivery in
            guard finished[delivery.endpoint]?.contains(delivery.sequence) != true else { return false }
            guard busy[delivery.endpoint, default: []].count < capacity else { return false }
            return busy[delivery.endpoint, default: []].insert(delivery.entry.user).inserted
        }
    }

    package mutating func finish(_ delivery: WebhookDelivery) {
        finished[delivery.endpoint, default: []].insert(delivery.sequence)
        busy[delivery.endpoint]?.remove(delivery.entry.user)
        if busy[delivery.endpoint]?.isEmpty == true { busy[delivery.endpoint] = nil }
    }
}
