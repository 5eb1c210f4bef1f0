internal import RelyingParty
internal import Sockets

/// Works through a queue on one loop: tells Apple of deleted accounts, asks the application again about upgrades it has
/// not answered. Ends when the loop drains; what is left is in the database.
struct QueueJob: Sendable {
    /// How often the queue is looked at, in milliseconds: one look-up by index.
    private static let interval: Int64 = 1_000

    let queue: any LeasedQueue
    let draining: DrainingFlag

    func start(on loop: EventLoop) {
        loop.spawn { [self] in
            repeat {
                await queue.round(while: { !draining.isSet })
            } while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval))
            await queue.stop()
        }
    }
}
