package import Coding
package import Crypto
import Logging
package import Storage
import Synchronization

/// Makes a logout token; without a session, for all of the person's sessions at the client.
package typealias LogoutTokens =
    @Sendable (
        _ client: String, _ user: UserID, _ session: SessionID?, _ now: Timestamp
    ) async throws(Failure) -> Secret

/// Delivers events from the journal to the endpoints.
///
/// All state is in the store: waiting deliveries, their failures, when each is due. A process that is killed at any
/// point causes at most one event to be sent again, under the same id.
package final class WebhookDispatcher: Sendable {
    private let database: Database
    private let sender: any WebhookSender
    private let targets: [String: WebhookTarget]
    private let logoutTokens: LogoutTokens
    private let policy: WebhookPolicy
    private let clock: any WallClock
    private let random: any RandomSource
    private let logger: Logger
    private let lease: LeaseHold
    private let rest = StoreRest()
    private let lines: Mutex<WebhookLines>

    /// - Parameter targets: other endpoints in the store are left to the process that created them.
    package init(
        database: Database, sender: any WebhookSender, targets: [WebhookTarget], logoutTokens: @escaping LogoutTokens,
        policy: WebhookPolicy = .standard, runtime: Runtime
    ) {
        self.database = database
        self.sender = sender
        self.targets = Dictionary(targets.map { ($0.url, $0) }) { first, _ in first }
        self.logoutTokens = logoutTokens
        self.policy = policy
        clock = runtime.clock
        random = runtime.random
        logger = runtime.logger
        lease = LeaseHold(.webhooks, in: database, seconds: policy.lease, random: runtime.random)
        lines = Mutex(WebhookLines(capacity: policy.concurrency))
    }

    /// Delivers until `pause`, which waits well below a second, returns false; deliveries in flight are answered first.
    package func run(pause: @escaping @Sendable () async -> Bool) async {
        await lease.work(pause: pause, round: round, each: deliver)
    }

    /// Queues new journal entries, and returns what may be sent now, and whether to call again at once.
    package func round() async -> (deliveries: [WebhookDelivery], hasMore: Bool) {
        let now = clock.now()
        guard rest.isOver(at: now) else { return ([], false) }
        var deliveries: [WebhookDelivery] = []
        do throws(Failure) {
            let work = try await database.webhookWork(at: now)
            guard work.hasNewEvents || !work.due.isEmpty || !lines.withLock({ $0.isIdle }) else {
                await lease.release()
                return ([], false)
            }
            guard try await lease.acquire(at: now) else { return ([], false) }
            var due = work.due
            var hasMore = false
            if work.hasNewEvents {
                hasMore = try await database.queueWebhooks(of: targets.mapValues(\.kinds), limit: policy.batch, at: now)
                due = try await database.webhookWork(at: now).due
            }
            for endpoint in due {
                let limit = lines.withLock { $0.prepare(at: endpoint) }
                guard limit > 0 else { continue }
                let found = try await database.dueWebhooks(for: endpoint, limit: limit, at: now)
                    // Other endpoints belong to another process.
                    .filter { targets[$0.url] != nil || $0.logout != nil }
                deliveries += lines.withLock { $0.start(found) }
            }
            if rest.end() { logger.info("webhooks resumed") }
            return (deliveries, hasMore)
        } catch {
            failed(error)
            // The deliveries are marked as in flight.
            return (deliveries, false)
        }
    }

    package func deliver(_ delivery: WebhookDelivery) async {
        defer { lines.withLock { $0.finish(delivery) } }
        let now = clock.now()
        // Another process may have taken over while this one was suspended.
        guard lease.isHeld(at: now) else { return }
        if let address = delivery.logout {
            await sendLogoutToken(delivery, to: address, at: now)
        } else if let target = targets[delivery.url] {
            let request = target.request(delivery.entry.id, delivery.entry.webhookBody, at: now)
            await record(WebhookVerdict(await sender.send(request)), of: delivery)
        }
    }

    /// Each attempt has a new token: an earlier one may have expired, or been seen (Back-Channel Logout §2.6).
    private func sendLogoutToken(_ delivery: WebhookDelivery, to address: LogoutAddress, at now: Timestamp) async {
        guard let client = WebhookEndpoint.client(of: delivery.url) else { return }
        let token: Secret
        do throws(Failure) {
            token = try await logoutTokens(client, delivery.entry.user, delivery.entry.session, now)
        } catch {
            return failed(error)
        }
        await record(WebhookVerdict(logout: await sender.send(logoutToken: token, to: address)), of: delivery)
    }

    private func record(_ verdict: WebhookVerdict, of delivery: WebhookDelivery) async {
        let now = clock.now()
        let record: WebhookRecord
        switch verdict {
        case .abandoned: return
        case .delivered: record = .delivered
        case .gone: record = .gone
        case .refused(let reason): record = .refused(reason)
        case .failed(let reason, let retryAfter):
            let bytes = random.bytes(2)
            let next = policy.schedule.next(
                failures: delivery.attempts + 1, queuedAt: delivery.queuedAt, now: now, retryAfter: retryAfter,
                fraction: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
            let pause = policy.schedule.pause(retryAfter)
            record = .failed(reason, next: next, pausedUntil: pause > 0 ? now.adding(milliseconds: pause) : nil)
        }
        do throws(Failure) {
            let transition = try await database.record(record, of: delivery, at: now)
            log(record, transition, delivery, at: now)
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: Failure) {
        if rest.begin(at: clock.now()) {
            logger.error("webhooks paused: database error", metadata: ["cause": "\(error)"])
        }
    }

    /// Names the endpoint by its origin: its path may be secret.
    private func log(
        _ record: WebhookRecord, _ transition: WebhookTransition, _ delivery: WebhookDelivery, at now: Timestamp
    ) {
        func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
            more.merging(["endpoint": .string(WebhookRequest.origin(of: delivery.url))]) { $1 }
        }
        switch (transition, record) {
        case (.beganFailing, .failed(let reason, _, _)):
            logger.warning("webhook endpoint failing", metadata: metadata(["cause": .string(reason)]))
        case (.recovered(let since), _):
            let seconds = (now.milliseconds - since.milliseconds) / 1000
            logger.info("webhook endpoint recovered", metadata: metadata(["seconds": .stringConvertible(seconds)]))
        case (.stopped, _): logger.error("webhook endpoint gone; deliveries stopped", metadata: metadata())
        default: break
        }
        let event = Logger.MetadataValue.string(delivery.entry.id.rawValue)
        switch record {
        case .refused(let reason):
            logger.warning("logout token refused", metadata: metadata(["event": event, "cause": .string(reason)]))
        case .failed(let reason, next: nil, _):
            logger.warning(
                "webhook event moved to dead letters", metadata: metadata(["event": event, "cause": .string(reason)]))
        default: break
        }
    }
}
