package import Sockets
import Synchronization

/// How often one client may do something: a bucket of `burst` tokens that gains one every `interval`.
package struct RateLimit: Hashable, Sendable {
    /// At least 1.
    package var burst: Int
    /// Milliseconds per token, at least 1.
    package var interval: Int64

    package init(burst: Int, interval: Int64) {
        self.burst = max(1, burst)
        self.interval = max(1, interval)
    }
}

package enum RateDecision: Hashable, Sendable {
    case allowed
    /// - Parameter retryAfter: whole seconds until a token is available, at least 1: the value of `Retry-After`.
    case refused(retryAfter: Int)
}

/// A token bucket per client. The table is bounded: when it is full, the least recently seen client is forgotten, which
/// can only be in that client's favour.
package final class RateLimiter: Sendable {
    private let table: Mutex<BucketTable>

    /// - Parameter capacity: clients remembered at once, at least 1.
    package init(_ limit: RateLimit, capacity: Int = 16_384) {
        table = Mutex(BucketTable(limit: limit, capacity: max(1, capacity)))
    }

    /// Takes a token if there is one.
    /// - Parameter now: milliseconds of a monotonic clock.
    package func consume(_ client: IPAddress, now: Int64) -> RateDecision {
        table.withLock { $0.consume(client.subscriber, now: now) }
    }

    /// Whether there is a token, without taking it: for routes that charge only failures.
    package func check(_ client: IPAddress, now: Int64) -> RateDecision {
        table.withLock { $0.check(client.subscriber, now: now) }
    }

    /// Clients remembered now.
    package var count: Int { table.withLock { $0.count } }
}

/// The buckets in the order of their last use: a dictionary finds them, a doubly linked list in an array orders them.
private struct BucketTable {
    private struct Entry {
        var key: IPAddress
        /// When the bucket will be full again: this one time is the whole state of a token bucket. A past time means
        /// full.
        var fullAt: Int64
        var newer: Int
        var older: Int
    }

    private static let none = -1

    private let limit: RateLimit
    private let capacity: Int
    private var indices: [IPAddress: Int] = [:]
    private var entries: [Entry] = []
    private var newest = none
    private var oldest = none

    init(limit: RateLimit, capacity: Int) {
        self.limit = limit
        self.capacity = capacity
    }

    var count: Int { entries.count }

    func check(_ key: IPAddress, now: Int64) -> RateDecision {
        decide(fullAt: indices[key].map { entries[$0].fullAt } ?? now, now).decision
    }

    mutating func consume(_ key: IPAddress, now: Int64) -> RateDecision {
        let index = indices[key] ?? insert(key, now)
        let (decision, fullAt) = decide(fullAt: entries[index].fullAt, now)
        entries[index].fullAt = fullAt
        moveToFront(index)
        return decision
    }

    private func decide(fullAt: Int64, _ now: Int64) -> (decision: RateDecision, fullAt: Int64) {
        let after = max(fullAt, now) + limit.interval
        let missing = after - now - Int64(limit.burst) * limit.interval
        guard missing > 0 else { return (.allowed, after) }
        return (.refused(retryAfter: Int((missing + 999) / 1000)), fullAt)
    }

    private mutating func insert(_ key: IPAddress, _ now: Int64) -> Int {
        let index: Int
        if entries.count < capacity {
            index = entries.count
            entries.append(Entry(key: key, fullAt: now, newer: Self.none, older: Self.none))
        } else {
            index = oldest
            indices[entries[index].key] = nil
            unlink(index)
            entries[index] = Entry(key: key, fullAt: now, newer: Self.none, older: Self.none)
        }
        indices[key] = index
        linkAsNewest(index)
        return index
    }

    private mutating func moveToFront(_ index: Int) {
        guard index != newest else { return }
        unlink(index)
        linkAsNewest(index)
    }

    private mutating func unlink(_ index: Int) {
        let (newer, older) = (entries[index].newer, entries[index].older)
        if newer == Self.none { newest = older } else { entries[newer].older = older }
        if older == Self.none { oldest = newer } else { entries[older].newer = newer }
    }

    private mutating func linkAsNewest(_ index: Int) {
        entries[index].newer = Self.none
        entries[index].older = newest
        if newest == Self.none { oldest = index } else { entries[newest].newer = index }
        newest = index
    }
}
