/// How many rows one transaction changes, so that it takes about as long as others may wait for it.
struct Pace {
    private(set) var limit = 200
    private static let range = 20...1_000
    private static let (short, long) = (Duration.milliseconds(10), Duration.milliseconds(25))
    /// Longer than others wait between two looks (`SQLiteConnection.wait`).
    static let pause = Duration.milliseconds(5)

    /// - Parameter time: of the last one.
    mutating func adapt(to time: Duration) {
        if time > Self.long { limit = max(limit / 2, Self.range.lowerBound) }
        if time < Self.short { limit = min(limit * 3 / 2, Self.range.upperBound) }
    }
}

/// How many pages the log has before it is moved into the database. Writes wait meanwhile, and how long that takes depends
/// on the disk: for 16 MiB 20 ms or 700. The longer the log, the more often a page was changed that moves once.
struct LogPace {
    private(set) var limit = 1_000
    private static let range = 250...4_000
    private static let (short, long) = (Duration.milliseconds(15), Duration.milliseconds(30))

    /// - Parameter time: of the last move.
    mutating func adapt(to time: Duration) {
        if time > Self.long { limit = max(limit / 2, Self.range.lowerBound) }
        if time < Self.short { limit = min(limit * 3 / 2, Self.range.upperBound) }
    }
}
