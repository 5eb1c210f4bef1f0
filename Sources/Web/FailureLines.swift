import Synchronization

/// Keeps what fails every request, such as a full disk, from filling the log, and that disk with it: for one reason so
/// many lines at once, and so many a second after those. The next one has the number of those that were left out.
final class FailureLines: Sendable {
    /// Lines at once with one reason: what a small trouble says is said whole.
    static let burst = 200
    /// Lines a second with one reason after those.
    static let rate = 10

    private struct Bucket {
        /// Lines that may be written, as of `at`.
        var left = Double(FailureLines.burst)
        var at: ContinuousClock.Instant
        var unlogged = 0
    }

    private let buckets = Mutex<[String: Bucket]>([:])

    /// - Parameter code: of the reason; there are few of them.
    /// - Returns: how many lines were left out since the last; nil when this one is to be as well.
    func take(_ code: String, at now: ContinuousClock.Instant) -> Int? {
        buckets.withLock { buckets in
            var bucket = buckets[code] ?? Bucket(at: now)
            defer { buckets[code] = bucket }
            let gained = max(0, (now - bucket.at) / .milliseconds(1)) * Double(Self.rate) / 1000
            bucket.left = min(Double(Self.burst), bucket.left + gained)
            bucket.at = now
            guard bucket.left >= 1 else {
                bucket.unlogged += 1
                return nil
            }
            bucket.left -= 1
            defer { bucket.unlogged = 0 }
            return bucket.unlogged
        }
    }
}
