import Coding
package import Logging

/// Receives Apple's server-to-server notifications: verified, then recorded and applied in one durable transaction.
/// Only what verified is stored. 200 for every outcome returned, 400 for `.refused`, 503 for the other failures.
package final class Notifications: Sendable {
    private let provider: any IdentityProvider
    private let store: any NotificationStore
    private let clock: any WallClock
    private let logger: Logger
    /// What became of posts.
    package let metrics = NotificationMetrics()

    package init(
        provider: any IdentityProvider, store: any NotificationStore, clock: any WallClock, logger: Logger
    ) {
        self.provider = provider
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter body: the body of `POST /apple/notifications`, bounded by the caller.
    /// - Returns: what the notification changed; sessions it ended are refused by the next check.
    package func receive(_ body: [UInt8]) async throws(NotificationFailure) -> NotificationOutcome {
        let notification: AppleNotification
        do {
            notification = try await provider.verifyNotification(body)
        } catch {
            log(error)
            metrics.count(.unverified, NotificationMetrics.End(error))
            throw error
        }
        do {
            let outcome = try await apply(notification)
            logger.info(
                "notification", metadata: ["type": "\(notification.type)", "outcome": "\(outcome)"])
            metrics.count(NotificationMetrics.Kind(notification.kind), NotificationMetrics.End(outcome))
            return outcome
        } catch {
            let failure = NotificationFailure.storage(error.text)
            log(failure)
            metrics.count(NotificationMetrics.Kind(notification.kind), .storage)
            throw failure
        }
    }

    /// By Apple, whoever carried it here.
    private func apply(_ notification: AppleNotification) async throws(StoreError) -> NotificationOutcome {
        let result = await AuditActor.$current.withValue(.apple) { () -> Result<NotificationOutcome, StoreError> in
            do throws(StoreError) {
                return .success(try await store.apply(notification, team: provider.team, at: clock.now()))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func log(_ failure: NotificationFailure) {
        switch failure {
        case .refused(let detail):
            // Anyone can post here; at most a debug line and the caller's counter.
            logger.debug("notification refused", metadata: metadata(.notificationRefused, detail))
        case .keysUnavailable(let detail):
            logger.warning("notification not verified", metadata: metadata(.keysUnavailable, detail))
        case .storage(let detail):
            logger.error("notification not stored", metadata: metadata(.storage, detail))
        }
    }

    private func metadata(_ reason: ReasonCode, _ detail: String) -> Logger.Metadata {
        ["reason": "\(reason.rawValue)", "detail": "\(detail)"]
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String { text }

    /// The case's name and what the store said, for the operator's log.
    package var text: String {
        switch self {
        case .unavailable(let detail): "unavailable: \(detail)"
        case .busy(let detail): "busy: \(detail)"
        case .corrupt(let detail): "corrupt: \(detail)"
        case .inconsistent(let detail): "inconsistent: \(detail)"
        }
    }
}
