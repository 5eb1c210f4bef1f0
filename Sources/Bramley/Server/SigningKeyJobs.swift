internal import Accounts
internal import Logging
internal import Sockets
internal import Synchronization

/// Maintains the keys for assertions and ID tokens: makes the first one at once and later ones when due, and notices other
/// processes' changes within a second.
struct SigningKeyJobs: Sendable {
    /// Milliseconds.
    private static let lookInterval: Int64 = 250
    private static let maintenanceInterval: Int64 = 60_000

    let keys: SigningKeys
    let logger: Logger

    func start(on loop: EventLoop) {
        loop.spawn {
            repeat {
                do {
                    try await keys.maintain()
                } catch {
                    logger.error("signing keys not renewed", metadata: ["cause": "\(error)"])
                }
            } while await loop.sleep(until: loop.now.adding(milliseconds: Self.maintenanceInterval))
        }
        loop.spawn {
            var isFailing = false
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.lookInterval)) {
                guard keys.areInUse else { continue }
                do {
                    try await keys.refresh()
                    isFailing = false
                } catch {
                    // Logged once, not four times a second.
                    if !isFailing { logger.error("signing keys not readable", metadata: ["cause": "\(error)"]) }
                    isFailing = true
                }
            }
        }
    }
}
