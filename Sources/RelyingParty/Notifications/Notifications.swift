package import Coding
internal import Instruments
package import Logging
internal import Synchronization

/// Receives Apple's server-to-server notifications: verified, then recorded and applied in one durable transaction.
/// Only what verified is stored. 200 for every outcome returned, 400 for `.refused` and `.otherAudience`, 503 for the other failures.
package final class Notifications: Sendable {
    private let provider: any IdentityProvider
    private let store: any NotificationStore
    private let clock: any WallClock
    private let logger: Logger
    /// The operator is told of the first at once, then at most once a minute.
    private let throttle = LogThrottle(interval: 60_000)
    private let unlisted = Mutex<UnlistedAudience?>(nil)
    /// What became of posts.
    package let metrics = NotificationMetrics()
    /// The last that Apple signed for an app that is none of ours, since the start.
    package var lastUnlisted: UnlistedAudience? { unlisted.withLock(\.self) }

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
        case .otherAudience(let audience):
            let now = clock.now()
            unlisted.withLock { $0 = UnlistedAudience(audience: audience, at: now) }
            guard let count = throttle.count("audience", at: now.milliseconds) else { break }
            var metadata = metadata(
                .notificationRefused,
                "aud is not in apple.bundleIDs: if it is your team's primary App ID, or an app grouped with it, add it "
                    + "there and restart. Until then whoever withdraws their consent stays signed in")
            metadata["aud"] = "\(audience)"
            metadata["count"] = "\(count)"
            logger.warning("notification for another app", metadata: metadata)
        case .keysUnavailable(let detail):
            // Anyone can make up a kid, which is told from a new one only by the next fetch.
            guard let count = throttle.count("keys", at: clock.now().milliseconds) else { break }
            var metadata = metadata(.keysUnavailable, detail)
            metadata["count"] = "\(count)"
            logger.warning("notification not verified", metadata: metadata)
        case .storage(let detail):
            logger.error("notification not stored", metadata: metadata(.storage, detail))
        }
    }

    private func metadata(_ reason: ReasonCode, _ detail: String) -> Logger.Metadata {
        ["reason": "\(reason.rawValue)", "detail": "\(detail)"]
    }
}

/// A notification of Apple's that was refused because `apple.bundleIDs` does not name its app.
package struct UnlistedAudience: Hashable, Sendable {
    /// The bundle ID: printable ASCII, at most 255 bytes. Anybody with an app at Apple can have one sent here.
    package var audience: String
    package var at: Timestamp
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

/// Why a notification was not accepted.
package enum NotificationFailure: Error, Hashable, Sendable {
    /// Not Apple's, or not a notification: 400.
    case refused(String)
    /// Apple's, and addressed to an app that is not configured: 400. At most 255 printable ASCII characters.
    case otherAudience(String)
    /// The key set is unavailable, or the kid is unknown within the cool-down: 503, so that Apple may retry.
    case keysUnavailable(String)
    /// The durable write failed: 503.
    case storage(String)
}

package protocol NotificationStore: Sendable {
    /// Records and applies in one transaction; a jti seen within 30 days is `.duplicate`, without effect.
    func apply(_ notification: AppleNotification, team: TeamID, at now: Timestamp) async throws(StoreError)
        -> NotificationOutcome
}

/// Recorded by its case's name.
package enum NotificationOutcome: String, Sendable, CaseIterable {
    case applied, duplicate
    /// An older e-mail event than the last one applied: recorded only.
    case stale
    case unknownSubject, unknownType
}
