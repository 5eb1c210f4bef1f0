package import Coding

/// An endpoint's row; never used again for another.
package struct WebhookEndpointID: Hashable, Sendable {
    package let rawValue: Int64
    package init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// An event on its way to one endpoint.
package struct WebhookDelivery: Hashable, Sendable {
    package var endpoint: WebhookEndpointID
    package var url: String
    /// The event's place in the journal.
    package var sequence: Int64
    package var entry: JournalEntry
    /// Failed attempts so far.
    package var attempts: Int
    package var queuedAt: Timestamp

    package init(
        endpoint: WebhookEndpointID, url: String, sequence: Int64, entry: JournalEntry, attempts: Int,
        queuedAt: Timestamp
    ) {
        self.endpoint = endpoint
        self.url = url
        self.sequence = sequence
        self.entry = entry
        self.attempts = attempts
        self.queuedAt = queuedAt
    }
}

/// How an attempt is recorded.
package enum WebhookRecord: Hashable, Sendable {
    case delivered
    /// Tried again at `next`; a dead letter when nil. Nothing is sent to the endpoint before `pausedUntil`.
    case failed(String, next: Timestamp?, pausedUntil: Timestamp?)
    /// Nothing more is sent to the endpoint until the operator says so; what waits stays.
    case gone
}

/// What recording an attempt changed that an operator wants to know.
package enum WebhookTransition: Hashable, Sendable {
    case none
    /// The endpoint's first failure since all was well.
    case beganFailing
    /// Nothing that failed is left waiting.
    case recovered(failingSince: Timestamp)
    case stopped
}

/// What there is to do.
package struct WebhookWork: Hashable, Sendable {
    /// The journal holds events that some endpoint has not queued.
    package var hasNewEvents: Bool
    /// Endpoints with something due that take it.
    package var due: [WebhookEndpointID]

    package init(hasNewEvents: Bool, due: [WebhookEndpointID]) {
        self.hasNewEvents = hasNewEvents
        self.due = due
    }
}

/// The durable queue between the journal and the endpoints. Each method is one transaction, durable when it returns.
///
/// An event of a user is due only when no earlier one of that user waits for the same endpoint; dead letters wait no
/// more. The journal keeps an event for as long as it waits.
package protocol WebhookStore: Sendable {
    func webhookWork(at now: Timestamp) async throws(StoreError) -> WebhookWork
    /// Queues the next events of the journal for each endpoint, and moves the endpoint's cursor.
    /// - Parameter kinds: by address, what is sent there; an endpoint that is not among them stays where it is.
    /// - Returns: whether more are left.
    func queueWebhooks(
        of kinds: [String: Set<JournalEntry.Kind>], limit: Int, at now: Timestamp
    ) async throws(StoreError) -> Bool
    /// What is due for one endpoint, the longest due first.
    func dueWebhooks(for endpoint: WebhookEndpointID, limit: Int, at now: Timestamp) async throws(StoreError)
        -> [WebhookDelivery]
    func record(_ record: WebhookRecord, of delivery: WebhookDelivery, at now: Timestamp) async throws(StoreError)
        -> WebhookTransition
}

/// One endpoint as its operator sees it.
package struct WebhookEndpoint: Hashable, Sendable {
    package var url: String
    package var addedAt: Timestamp
    /// Events that wait, those still in the journal only included.
    package var backlog: Int
    /// When the oldest of them happened.
    package var oldest: Timestamp?
    package var deadLetters: Int
    package var lastSuccessAt: Timestamp?
    package var lastFailureAt: Timestamp?
    /// Why the last failed attempt failed.
    package var lastFailure: String?
    package var failingSince: Timestamp?
    /// It answered 410: nothing is sent.
    package var stoppedAt: Timestamp?
    /// It asked for a pause.
    package var pausedUntil: Timestamp?

    package init(
        url: String, addedAt: Timestamp, backlog: Int, oldest: Timestamp?, deadLetters: Int, lastSuccessAt: Timestamp?,
        lastFailureAt: Timestamp?, lastFailure: String?, failingSince: Timestamp?, stoppedAt: Timestamp?,
        pausedUntil: Timestamp?
    ) {
        self.url = url
        self.addedAt = addedAt
        self.backlog = backlog
        self.oldest = oldest
        self.deadLetters = deadLetters
        self.lastSuccessAt = lastSuccessAt
        self.lastFailureAt = lastFailureAt
        self.lastFailure = lastFailure
        self.failingSince = failingSince
        self.stoppedAt = stoppedAt
        self.pausedUntil = pausedUntil
    }
}

/// Where a page of dead letters ended.
package struct DeadWebhookPlace: Hashable, Sendable {
    package var diedAt: Timestamp
    package var sequence: Int64
    package var endpoint: WebhookEndpointID

    package init(diedAt: Timestamp, sequence: Int64, endpoint: WebhookEndpointID) {
        self.diedAt = diedAt
        self.sequence = sequence
        self.endpoint = endpoint
    }
}

extension WebhookEndpoint {
    /// An endpoint's address as it is shown: without its query, which may hold a secret.
    package static func name(of url: String) -> String {
        url.firstIndex(of: "?").map { url[..<$0] + "?..." } ?? url
    }

    /// Whether `text` names this address: as it is configured, or as it is shown.
    package static func isNamed(_ url: String, _ text: String) -> Bool {
        [url, name(of: url)].contains { $0.utf8.elementsEqual(text.utf8) }
    }
}

/// An event that was given up for one endpoint.
package struct DeadWebhook: Hashable, Sendable {
    package var place: DeadWebhookPlace
    package var url: String
    package var entry: JournalEntry
    package var attempts: Int
    package var failure: String
    package var diedAt: Timestamp { place.diedAt }

    package init(place: DeadWebhookPlace, url: String, entry: JournalEntry, attempts: Int, failure: String) {
        self.place = place
        self.url = url
        self.entry = entry
        self.attempts = attempts
        self.failure = failure
    }
}

/// What the operator wants sent again now.
package enum WebhookRetry: Hashable, Sendable {
    /// One event, at every endpoint where it waits or is a dead letter.
    case event(EventID)
    case allDead
    /// Everything that waits for an endpoint and its dead letters; one that had stopped goes on.
    case endpoint(url: String)
}

/// The queue as the operator's commands see it.
package protocol WebhookDirectory: Sendable {
    /// In the order they were added.
    func webhookEndpoints() async throws(StoreError) -> [WebhookEndpoint]
    /// The newest first, behind `place`.
    func deadWebhooks(after place: DeadWebhookPlace?, limit: Int) async throws(StoreError) -> [DeadWebhook]
    /// - Returns: how many entries begin anew.
    func retryWebhooks(_ retry: WebhookRetry, at now: Timestamp) async throws(StoreError) -> Int
}

/// One signed request.
package struct WebhookRequest: Hashable, Sendable {
    package var url: String
    /// `webhook-id`, `webhook-timestamp`, `webhook-signature`.
    package var fields: [(name: String, value: String)] {
        Self.fields(id: id, timestamp: timestamp, signature: signature)
    }
    package var id: String
    /// Seconds since 1970.
    package var timestamp: Int64
    package var signature: String
    package var body: [UInt8]

    package init(url: String, id: String, timestamp: Int64, signature: String, body: [UInt8]) {
        self.url = url
        self.id = id
        self.timestamp = timestamp
        self.signature = signature
        self.body = body
    }

    /// The address without its path and query, which may hold what is nobody's business: for logs.
    package static func origin(of url: String) -> String {
        AbsoluteURL(url)?.origin ?? ""
    }

    /// What every request carries that is signed as Standard Webhooks are.
    package static func fields(
        id: String, timestamp: Int64, signature: String
    ) -> [(name: String, value: String)] {
        [("webhook-id", id), ("webhook-timestamp", String(timestamp)), ("webhook-signature", signature)]
    }
}

/// Sends one request, within a time of its own, following no redirect.
package protocol WebhookSender: Sendable {
    func send(_ request: WebhookRequest) async -> WebhookAnswer
}
