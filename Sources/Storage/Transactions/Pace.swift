/// How much work to do at once while others wait, adapted to how long it takes.
package struct Pace {
    package private(set) var limit: Int
    private let range: ClosedRange<Int>
    private let aim: ClosedRange<Duration>

    package static var rows: Pace { Pace(limit: 200, range: 20...1_000, aim: .milliseconds(8)...(.milliseconds(16))) }
    /// Pages of the log that are moved into the database. How long that takes depends on the disk: for 16 MiB 20 ms or
    /// 700. The longer the log, the more often a page was changed that moves once.
    static var logPages: Pace {
        Pace(limit: 1_000, range: 250...4_000, aim: .milliseconds(15)...(.milliseconds(30)))
    }

    /// Longer than others wait between two tries (`SQLiteConnection.wait`).
    package static let pause = Duration.milliseconds(5)

    package mutating func adapt(to time: Duration) {
        if time > aim.upperBound { limit = max(limit / 2, range.lowerBound) }
        if time < aim.lowerBound { limit = min(limit * 3 / 2, range.upperBound) }
    }
}
