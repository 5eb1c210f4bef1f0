internal import Logging
internal import RelyingParty
internal import Sockets
internal import Storage

/// Deletes what has expired, on one loop, by a watched clock. Ends when the loop drains.
struct MaintenanceJob: Sendable {
    /// Milliseconds.
    private static let interval: Int64 = 60_000
    private static let clockInterval: Int64 = 1_000

    let database: Database
    let clock: any WallClock
    let logger: Logger

    func start(on loop: EventLoop) {
        let watch = ClockWatch(wall: clock.now(), now: .now, logger: logger)
        loop.spawn { [clock] in
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.clockInterval)) {
                watch.check(wall: clock.now(), now: .now)
            }
        }
        loop.spawn { [self] in
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval)) {
                do {
                    _ = try await database.maintain(at: watch.check(wall: clock.now(), now: .now))
                } catch {
                    logger.error("expired rows not deleted", metadata: ["cause": "\(error)"])
                }
            }
        }
    }
}
