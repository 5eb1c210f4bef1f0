import Coding

/// The database's clock, which all machines share: each measures how far its own is from it.
struct SharedClock: WallClock {
    let own: any WallClock
    let engine: any Engine

    func now() -> Timestamp { own.now().adding(milliseconds: engine.clockDifference) }
}
