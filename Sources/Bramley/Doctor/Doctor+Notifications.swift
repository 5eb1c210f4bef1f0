internal import Accounts
internal import Coding
internal import Storage
import Web

/// When Apple last sent a notification.
extension Doctor {
    /// How many ended sessions are examined.
    private static let endings = 1000

    func notifications() async -> [Diagnosis] {
        guard let database else { return [] }
        let now = clock.now()
        let latest: RecordedNotification?
        let ended: JournalEntry?
        do {
            latest = try await database.notifications(outcome: nil, after: nil, limit: 1).items.first
            ended = try await database.lastEvents(JournalFilter(kinds: [.sessionEnded]), limit: Self.endings).entries
                .last {
                    $0.cause == .tokenDead
                }
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "The notifications cannot be read: \(error.text).",
                    next: configuration.storage.advice)
            ]
        }
        let told =
            latest.map { latest in
                let age = Self.words(max(0, (now.milliseconds - latest.receivedAt.milliseconds) / 1000))
                return "Apple's last notification came \(age) ago, at \(latest.receivedAt.rfc3339)."
            } ?? "Apple has sent no notification in the last 30 days. It sends one when somebody stops using the site."
        // The daily check found what a notification should have reported.
        guard let ended, latest.map({ $0.receivedAt < ended.time }) ?? true else {
            return [.good(.lastNotification, told)]
        }
        return [
            .unsure(
                .noNotification,
                told + " The daily check ended a session at \(ended.time.rfc3339) because Apple no longer accepts its "
                    + "token, and no notification has come since.",
                next: "In Apple's portal, Identifiers, the primary App ID, Sign in with Apple: the Server-to-Server "
                    + "Notification Endpoint must be \(configuration.web.publicURL.notificationURL). If it is, the person may "
                    + "have changed their password, which Apple does not report.")
        ]
    }

    private static func words(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) minutes"
        case ..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }
}
