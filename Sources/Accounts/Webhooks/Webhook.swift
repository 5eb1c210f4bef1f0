package import Coding
package import Crypto

/// An endpoint's row; never reused for another.
package struct WebhookEndpointID: Hashable, Sendable {
    package let rawValue: Int64
    package init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The address for a client's logout tokens.
package struct LogoutAddress: Hashable, Sendable {
    package var uri: String
    /// Whether it was registered through the API: then this server calls no internal address.
    package var isPublicOnly: Bool
}

/// An event on its way to one endpoint.
package struct WebhookDelivery: Hashable, Sendable {
    package var endpoint: WebhookEndpointID
    package var url: String
    /// Set when the endpoint is an OpenID client: a logout token is sent there instead of the event.
    package var logout: LogoutAddress?
    /// The event's position in the journal.
    package var sequence: Int64
    package var entry: JournalEntry
    /// Deliveries with the same `line` are sent one after another: the person's ID; for a logout token, the session's.
    package var line: String
    /// Failed attempts so far.
    package var attempts: Int
    package var queuedAt: Timestamp
}

package enum WebhookRecord: Hashable, Sendable {
    case delivered
    /// Try again at `next`; a dead letter when nil. Nothing is sent to the endpoint before `pausedUntil`.
    case failed(String, next: Timestamp?, pausedUntil: Timestamp?)
    /// The receiver will never accept this one: it is not sent again, and the endpoint is not failing.
    case refused(String)
    /// Nothing more is sent to the endpoint until the operator resumes it; its queue stays.
    case gone
}

/// A change that recording an attempt caused, for the log.
package enum WebhookTransition: Hashable, Sendable {
    case none
    /// The endpoint's first failure since it last worked.
    case beganFailing
    /// No failed delivery is waiting any more.
    case recovered(failingSince: Timestamp)
    case stopped
}

/// The state of one endpoint, for its operator.
package struct WebhookEndpoint: Hashable, Sendable {
    package var url: String
    package var addedAt: Timestamp
    /// Events that wait, including those not yet queued from the journal.
    package var backlog: Int
    /// When the oldest of them happened.
    package var oldest: Timestamp?
    package var deadLetters: Int
    package var lastSuccessAt: Timestamp?
    package var lastFailureAt: Timestamp?
    package var lastFailure: String?
    package var failingSince: Timestamp?
    /// When it answered 410.
    package var stoppedAt: Timestamp?
    /// Until when it asked us to pause.
    package var pausedUntil: Timestamp?

    /// Followed by the ID of an OpenID client, instead of an address.
    package static let clientPrefix = "client:"

    package static func url(ofClient id: String) -> String { clientPrefix + id }

    /// The client whose endpoint this is; nil for an address.
    package static func client(of url: String) -> String? {
        url.utf8.starts(with: clientPrefix.utf8) ? String(url.dropFirst(clientPrefix.count)) : nil
    }

    /// An endpoint's address for display: without its query, which may contain a secret.
    package static func name(of url: String) -> String { url.firstIndex(of: "?").map { url[..<$0] + "?..." } ?? url }

    /// Whether `text` is this address, as configured or as displayed.
    package static func isNamed(_ url: String, _ text: String) -> Bool {
        [url, name(of: url)].contains { $0.isExactly(text) }
    }
}

package struct DeadWebhookPlace: Hashable, Sendable {
    package var diedAt: Timestamp
    package var sequence: Int64
    package var endpoint: WebhookEndpointID
}

/// A dead letter: an event that was given up for one endpoint.
package struct DeadWebhook: Hashable, Sendable {
    package var place: DeadWebhookPlace
    package var url: String
    package var entry: JournalEntry
    package var attempts: Int
    package var failure: String
    package var diedAt: Timestamp { place.diedAt }
}

package enum WebhookRetry: Hashable, Sendable {
    /// One event, at every endpoint where it waits or is a dead letter.
    case event(EventID)
    case allDead
    /// Everything that waits for an endpoint, and its dead letters; a stopped endpoint resumes.
    case endpoint(url: String)
}

/// One signed request.
package struct WebhookRequest: Hashable, Sendable {
    package var url: String
    package var id: String
    /// Seconds since 1970.
    package var timestamp: Int64
    package var signature: String
    package var body: [UInt8]

    /// The address without its path and query, which may be secret: for logs.
    package static func origin(of url: String) -> String {
        WebhookEndpoint.client(of: url) == nil ? AbsoluteURL(url)?.origin ?? "" : url
    }

    /// The header fields of Standard Webhooks.
    package var fields: [(name: String, value: String)] {
        [("webhook-id", id), ("webhook-timestamp", String(timestamp)), ("webhook-signature", signature)]
    }
}

/// Sends one request with its own deadline, following no redirect.
package protocol WebhookSender: Sendable {
    func send(_ request: WebhookRequest) async -> WebhookAnswer
    /// The same for a logout token (Back-Channel Logout §2.5).
    func send(logoutToken: Secret, to address: LogoutAddress) async -> WebhookAnswer
}
