internal import Accounts
internal import Sockets

/// Revokes deleted accounts at Apple, on one loop. Ends when the loop drains; the rest is in the database.
struct QueueJob: Sendable {
    /// How often the queue is read, in milliseconds: one look-up by index.
    private static let interval: Int64 = 1_000

    let queue: AppleRevocations
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
