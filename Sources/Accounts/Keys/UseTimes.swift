package import Coding
import Synchronization

/// When this process last wrote each key's use, so that concurrent requests write it once a minute. Callers name only keys
/// that exist.
package final class UseTimes<Key: Hashable & Sendable>: Sendable {
    /// Seconds.
    private static var interval: Int64 { 60 }

    private let written = Mutex<[Key: Timestamp]>([:])

    package init() {}

    /// Whether to write a use of `key` at `now`; from then on it counts as written.
    /// - Parameter last: the use that is stored.
    package func isDue(_ key: Key, last: Timestamp?, at now: Timestamp) -> Bool {
        if let last, now < last.adding(seconds: Self.interval) { return false }
        return written.withLock { written in
            if let last = written[key], last <= now, now < last.adding(seconds: Self.interval) { return false }
            written[key] = now
            return true
        }
    }
}
