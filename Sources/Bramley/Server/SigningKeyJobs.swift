internal import Logging
internal import RelyingParty
internal import Sockets
internal import Synchronization

/// Looks after the keys that sign assertions: the first one at once, every later one when it is due, and what other
/// processes did to them within a second.
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
                do {
                    try await keys.refresh()
                    isFailing = false
                } catch {
                    // Once, not four times a second.
                    if !isFailing { logger.error("signing keys not readable", metadata: ["cause": "\(error)"]) }
                    isFailing = true
                }
            }
        }
    }
}
