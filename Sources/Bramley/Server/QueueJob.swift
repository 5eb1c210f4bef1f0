internal import RelyingParty
internal import Sockets

/// Works through a queue on one loop: revokes deleted accounts at Apple, or repeats unanswered conversions. Ends when
/// the loop drains; the rest is in the database.
struct QueueJob: Sendable {
    /// How often the queue is read, in milliseconds: one look-up by index.
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
