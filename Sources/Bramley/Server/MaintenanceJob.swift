internal import Accounts
internal import Coding
internal import Logging
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

    /// Between two lines of a round that takes long.
    private static let patience = Duration.seconds(10)

    /// Says how far it is while there is much to delete, as after a retention was shortened.
    private func maintain(at now: Timestamp) async throws(StoreError) {
        var (rows, toldAt) = (0, ContinuousClock.now)
        _ = try await database.maintain(at: now) { count in
            rows += count
            guard ContinuousClock.now - toldAt >= Self.patience else { return }
            toldAt = .now
            logger.info("expired rows being deleted", metadata: ["rows": "\(rows)"])
        }
    }

    func start(on loop: EventLoop) {
        let watch = ClockWatch(wall: clock.now(), now: .now, logger: logger)
        loop.spawn { [clock] in
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.clockInterval)) {
                watch.check(wall: clock.now(), now: .now)
            }
        }
        // People whom an update found without an index need not wait for the first round.
        loop.spawn { [database] in _ = try? await database.indexPeople() }
        loop.spawn { [self] in
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval)) {
                do {
                    _ = try await database.indexPeople()
                    try await maintain(at: watch.check(wall: clock.now(), now: .now))
                } catch {
                    logger.error("expired rows not deleted", metadata: ["cause": "\(error)"])
                }
            }
        }
    }
}
