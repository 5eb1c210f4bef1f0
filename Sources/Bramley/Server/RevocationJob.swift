internal import RelyingParty
internal import Sockets

/// Tells Apple of deleted accounts, on one loop. Ends when the loop drains; what was not told yet is in the database.
struct RevocationJob: Sendable {
    /// How often the queue is looked at, in milliseconds: one look-up by index.
    private static let interval: Int64 = 1_000

    let revocations: AppleRevocations
    let draining: DrainingFlag

    func start(on loop: EventLoop) {
        loop.spawn { [self] in
            repeat {
                await revocations.round(while: { !draining.isSet })
            } while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval))
        }
    }
}
