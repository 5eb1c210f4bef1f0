package import Coding
package import Logging
import Storage
internal import Synchronization

/// Receives Apple's server-to-server notifications; records and applies verified ones in one durable transaction.
package final class Notifications: Sendable {
    private let provider: any IdentityProvider
    private let database: Database
    private let clock: any WallClock
    private let logger: Logger
    /// Milliseconds: logs the first at once, then at most one a minute.
    private let throttle = LogThrottle(interval: 60_000)
    private let unlisted = Mutex<[UnlistedAudience]>([])
    package let metrics = CounterGrid<NotificationMetrics.Kind, NotificationMetrics.End>()

    /// Apps for which notifications were refused in the last day, since the start.
    package func unlistedAudiences() -> [UnlistedAudience] {
        let now = clock.now()
        return unlisted.withLock { list in
            list.dropOld(at: now)
            return list
        }
    }

    package init(provider: any IdentityProvider, database: Database, clock: any WallClock, logger: Logger) {
        self.provider = provider
        self.database = database
        self.clock = clock
        self.logger = logger
    }

    /// Receives the body of `POST /apple/notifications`, bounded by the caller. Nil for an app that is not configured.
    /// Throws as `verifyNotification`, and `.unavailable` when the durable write failed.
    package func receive(_ body: [UInt8]) async throws(Failure) -> NotificationOutcome? {
        let notification: AppleNotification
        do throws(Failure) {
            switch try await provider.verifyNotification(body) {
            case .ours(let verified): notification = verified
            case .ofOtherApp(let audience):
                report(otherApp: audience)
                metrics.increment(.unverified, .otherAudience)
                return nil
            }
        } catch {
            log(error)
            metrics.increment(.unverified, error.code == .keysUnavailable ? .keysUnavailable : .refused)
            throw error
        }
        let kind = NotificationMetrics.Kind(notification.kind)
        do throws(Failure) {
            let outcome = try await apply(notification)
            logger.info("notification", metadata: ["type": "\(notification.type)", "outcome": "\(outcome)"])
            metrics.increment(kind, NotificationMetrics.End(outcome))
            return outcome
        } catch {
            logger.error("notification not stored", metadata: metadata(.storage, "\(error)"))
            metrics.increment(kind, .storage)
            throw error
        }
    }

    /// The actor is Apple, whoever delivered the notification.
    private func apply(_ notification: AppleNotification) async throws(Failure) -> NotificationOutcome {
        try await AuditActor.$current.withValue(.apple) {
            await Result { () async throws(Failure) in
                try await database.apply(notification, team: provider.team, at: clock.now())
            }
        }.get()
    }

    private func log(_ failure: Failure) {
        var metadata = metadata(failure.code, "\(failure)")
        guard failure.code == .keysUnavailable else {
            // Anyone can post here.
            return logger.debug("notification refused", metadata: metadata)
        }
        // Anyone can invent a `kid`.
        guard let count = throttle.count("keys", at: clock.now().milliseconds) else { return }
        metadata["count"] = "\(count)"
        logger.warning("notification not verified", metadata: metadata)
    }

    private func report(otherApp audience: String) {
        let now = clock.now()
        unlisted.withLock { $0.record(audience, at: now) }
        guard let count = throttle.count("audience", at: now.milliseconds) else { return }
        var metadata = metadata(
            .notificationRefused,
            "aud is not in apple.bundleIDs: if it is your team's primary App ID, or an app grouped with it, add it "
                + "there and restart; until then, people who withdraw their consent stay signed in. Never add another "
                + "team's app: its owner could sign in here")
        metadata["aud"] = "\(audience)"
        metadata["count"] = "\(count)"
        logger.warning("notification refused for an unlisted app", metadata: metadata)
    }

    private func metadata(_ reason: ReasonCode, _ detail: String) -> Logger.Metadata {
        ["reason": "\(reason.rawValue)", "detail": "\(detail)"]
    }
}

/// An app whose notifications were refused because `apple.bundleIDs` does not list it.
package struct UnlistedAudience: Hashable, Sendable {
    /// The bundle ID: printable ASCII, at most 255 bytes. Anybody with an app at Apple can cause such a notification.
    package var audience: String
    package var count: Int
    /// Of the last one.
    package var at: Timestamp
}

/// The first such apps of a day. Later ones do not displace them: any app's owner can repeat notifications.
extension [UnlistedAudience] {
    static let maximumCount = 8
    /// Seconds after its last notification until an app is forgotten.
    private static let lifetime: Int64 = 86_400

    mutating func record(_ audience: String, at now: Timestamp) {
        dropOld(at: now)
        if let index = firstIndex(where: { $0.audience.isExactly(audience) }) {
            self[index].count += 1
            self[index].at = now
        } else if count < Self.maximumCount {
            append(UnlistedAudience(audience: audience, count: 1, at: now))
        }
    }

    mutating func dropOld(at now: Timestamp) { removeAll { now >= $0.at.adding(seconds: Self.lifetime) } }
}

/// Stored by its case's name.
package enum NotificationOutcome: String, Sendable, CaseIterable {
    case applied
    /// Of a `jti` seen before: not recorded again.
    case duplicate
    /// An email event older than the last one applied: only recorded.
    case stale
    case unknownSubject, unknownType

    /// Those of recorded notifications, by which they can be found.
    package static let recorded = allCases.filter { $0 != .duplicate }

    package init?(recorded text: String) {
        guard let outcome = Self(rawValue: text), Self.recorded.contains(outcome) else { return nil }
        self = outcome
    }
}
