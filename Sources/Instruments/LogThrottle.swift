internal import Synchronization

/// Keeps a trouble that repeats from filling the log: for each key a number of lines at once, then one in each interval.
/// A line says how many it stands for.
package final class LogThrottle: Sendable {
    private struct Bucket {
        /// Lines that may be written, as of `moment`.
        var left: Int
        var moment: Int64
        var untold = 0
    }

    private let burst: Int
    private let interval: Int64
    private let buckets = Mutex<[String: Bucket]>([:])

    /// - Parameters:
    ///   - burst: lines at once when there was none for a while.
    ///   - interval: until there may be one more, in milliseconds.
    package init(burst: Int = 1, interval: Int64) {
        self.burst = burst
        self.interval = interval
    }

    /// Counts one event.
    /// - Parameters:
    ///   - key: of a few; each has lines of its own.
    ///   - now: in milliseconds, by any clock.
    /// - Returns: how many there were since the last line, this one included, when it is time for another; else nil.
    package func count(_ key: String = "", at now: Int64) -> Int? {
        buckets.withLock { buckets in
            var bucket = buckets[key] ?? Bucket(left: burst, moment: now)
            defer { buckets[key] = bucket }
            let gained = max(0, now - bucket.moment) / interval
            // A clock that was set back does not keep lines away.
            if now < bucket.moment || gained >= Int64(burst - bucket.left) {
                (bucket.left, bucket.moment) = (burst, now)
            } else {
                bucket.left += Int(gained)
                bucket.moment += gained * interval
            }
            bucket.untold += 1
            guard bucket.left > 0 else { return nil }
            bucket.left -= 1
            defer { bucket.untold = 0 }
            return bucket.untold
        }
    }
}
