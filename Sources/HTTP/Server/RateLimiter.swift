package import Sockets
import Synchronization

/// How often each client may do something: a bucket of `burst` tokens that gains one every `interval`. The table is
/// bounded: when it is full, the least recently seen client is forgotten, which can only be in that client's favour.
package final class RateLimiter: Sendable {
    private let table: Mutex<BucketTable>

    /// - Parameters:
    ///   - burst: at least 1.
    ///   - interval: milliseconds per token, at least 1.
    ///   - capacity: clients remembered at once, at least 1.
    package init(burst: Int, interval: Int64, capacity: Int = 16_384) {
        table = Mutex(BucketTable(burst: max(1, burst), interval: max(1, interval), capacity: max(1, capacity)))
    }

    /// Takes a token if there is one.
    /// - Parameter now: milliseconds of a monotonic clock.
    /// - Returns: nil when there was one; otherwise the value of `Retry-After`: whole seconds, at least 1.
    package func consume(_ client: IPAddress, now: Int64) -> Int? {
        table.withLock { $0.consume(client.subscriber, now: now) }
    }

    package var count: Int { table.withLock { $0.count } }
}

/// The buckets in the order of their last use: a dictionary finds them, a doubly linked list in an array orders them.
private struct BucketTable {
    fileprivate struct Entry {
        var key: IPAddress
        /// When the bucket will be full again: the whole state of a token bucket. A past time means full.
        var fullAt: Int64
        var newer: Int
        var older: Int
    }

    private static let none = -1

    let burst: Int
    let interval: Int64
    let capacity: Int
    fileprivate var indices: [IPAddress: Int] = [:]
    fileprivate var entries: [Entry] = []
    fileprivate var newest = none
    fileprivate var oldest = none

    var count: Int { entries.count }

    mutating func consume(_ key: IPAddress, now: Int64) -> Int? {
        let index = indices[key] ?? insert(key, now)
        moveToFront(index)
        let after = max(entries[index].fullAt, now) + interval
        let missing = after - now - Int64(burst) * interval
        guard missing <= 0 else { return Int((missing + 999) / 1000) }
        entries[index].fullAt = after
        return nil
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
