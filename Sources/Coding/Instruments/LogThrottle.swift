internal import Synchronization

/// Keeps a repeating problem from filling the log: for each key a number of lines at once, then one per interval. A
/// line says how many events it represents.
package final class LogThrottle: Sendable {
    private struct Bucket {
        /// Lines that may be written, as of `moment`.
        var left: Int
        var moment: Int64
        var suppressed = 0
    }

    private let burst: Int
    private let interval: Int64
    private let buckets = Mutex<[String: Bucket]>([:])

    /// - Parameters:
    ///   - burst: lines at once after a quiet time.
    ///   - interval: until one more is allowed, in milliseconds.
    package init(burst: Int = 1, interval: Int64) {
        self.burst = burst
        self.interval = interval
    }

    /// Counts one event.
    /// - Parameters:
    ///   - key: one of a few; each has its own lines.
    ///   - now: in milliseconds, by any clock.
    /// - Returns: when another line is due, the number of events since the last one, including this one; otherwise nil.
    package func count(_ key: String = "", at now: Int64) -> Int? {
        buckets.withLock { buckets in
            var bucket = buckets[key] ?? Bucket(left: burst, moment: now)
            defer { buckets[key] = bucket }
            let gained = max(0, now - bucket.moment) / interval
            // A clock that was set back does not suppress lines.
            if now < bucket.moment || gained >= Int64(burst - bucket.left) {
                (bucket.left, bucket.moment) = (burst, now)
            } else {
                bucket.left += Int(gained)
                bucket.moment += gained * interval
            }
            bucket.suppressed += 1
            guard bucket.left > 0 else { return nil }
            bucket.left -= 1
            defer { bucket.suppressed = 0 }
            return bucket.suppressed
        }
    }
}
