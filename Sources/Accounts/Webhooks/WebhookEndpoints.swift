package import Coding
package import Crypto
import Storage
import Synchronization

/// A configured address that events are sent to.
package struct WebhookTarget: Sendable {
    package let url: String
    package let kinds: Set<JournalEntry.Kind>
    /// Called for each request: secrets may be rotated.
    package let secrets: @Sendable () -> WebhookSecrets

    package init(url: String, kinds: Set<JournalEntry.Kind>, secrets: @escaping @Sendable () -> WebhookSecrets) {
        self.url = url
        self.kinds = kinds
        self.secrets = secrets
    }

    /// One attempt to send this body, signed for it.
    func request(_ id: EventID, _ body: [UInt8], at now: Timestamp) -> WebhookRequest {
        let (id, seconds) = (id.rawValue, now.seconds)
        return WebhookRequest(
            url: url, id: id, timestamp: seconds,
            signature: secrets().signatures(id: id, timestamp: seconds, body: body), body: body)
    }
}

package struct WebhookTestResult: Hashable, Sendable {
    /// The `webhook-id` that was sent.
    package var id: EventID
    package var verdict: WebhookVerdict
    /// Of the receiver's answer; nil without one.
    package var status: Int?
    /// From the request to the end of the answer.
    package var milliseconds: Int64
}

/// This server's configured endpoints, and their test.
package final class WebhookEndpoints: Sendable {
    /// `Retry-After` while another test of the endpoint runs, in seconds.
    private static let pause = 15

    package let targets: [WebhookTarget]
    package let database: Database
    private let sender: any WebhookSender
    private let clock: any WallClock
    private let random: any RandomSource
    /// The addresses under test.
    private let testing = Mutex<Set<String>>([])

    package init(
        targets: [WebhookTarget], database: Database, sender: any WebhookSender, clock: any WallClock,
        random: any RandomSource
    ) {
        self.targets = targets
        self.database = database
        self.sender = sender
        self.clock = clock
        self.random = random
    }

    /// - Parameter url: as configured, or as displayed if that is unambiguous.
    package func target(_ url: String) -> WebhookTarget? {
        if let exact = targets.first(where: { $0.url.isExactly(url) }) { return exact }
        let shown = targets.filter { WebhookEndpoint.name(of: $0.url).isExactly(url) }
        return shown.count == 1 ? shown[0] : nil
    }

    /// Sends one event of type `webhook.test`, signed like every event for this endpoint, whatever its filter and
    /// state. It is in no journal and not repeated. One at a time, so that requests cannot be amplified.
    package func test(_ url: String) async throws(Failure) -> WebhookTestResult {
        guard let target = target(url) else { throw Failure(.webhookNotFound) }
        guard testing.withLock({ $0.insert(target.url).inserted }) else {
            var busy = Failure(.tooManyRequests)
            busy.retryAfter = Self.pause
            throw busy
        }
        defer { testing.withLock { _ = $0.remove(target.url) } }
        let now = clock.now()
        let id: EventID = RandomIdentifier(random: random).make()
        let body = webhookBody(Self.testType, at: now) { $0.member("id", id.rawValue) }
        let answer = await sender.send(target.request(id, body, at: now))
        var status: Int?
        if case .status(let code, _) = answer { status = code }
        try await database.record(
            .webhookTested, user: nil, object: WebhookRequest.origin(of: target.url), at: clock.now())
        return WebhookTestResult(
            id: id, verdict: WebhookVerdict(answer), status: status,
            milliseconds: max(0, clock.now().milliseconds - now.milliseconds))
    }

    package static let testType = "webhook.test"
}
