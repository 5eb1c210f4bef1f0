internal import RelyingParty
internal import Sockets

/// Asks the application again about upgrades it has not answered, on one loop. Ends when the loop drains; what is not
/// answered yet is in the database.
struct ConversionJob: Sendable {
    /// How often the queue is looked at, in milliseconds: one look-up by index.
    private static let interval: Int64 = 1_000

    let conversions: Conversions
    let draining: DrainingFlag

    func start(on loop: EventLoop) {
        loop.spawn { [self] in
            repeat {
                await conversions.round(while: { !draining.isSet })
            } while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval))
            await conversions.stop()
        }
    }
}
