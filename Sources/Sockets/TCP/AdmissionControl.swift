internal import Synchronization

/// Connections that were not kept, since the start.
package struct AdmissionTally: Hashable, Sendable {
    /// Closed at accept: the total limit is reached.
    package var refused = 0
    /// Closed at accept, or when a PROXY header named their address: the limit per address is reached.
    package var refusedByAddress = 0
    /// Closed while they waited for a request, to make room for others.
    package var shed = 0
    /// Closed at accept: the process has no descriptor left, or none to spare.
    package var withoutDescriptor = 0

    package init() {}
}

/// Counts open connections, in total and per address, across the loops of a process.
package final class AdmissionControl: Sendable {
    private struct Counts {
        var total = 0
        var perAddress: [IPAddress: Int] = [:]
        var admitted = 0
        var tally = AdmissionTally()
        /// The number of connections there are descriptors for, where that is less than the maximum.
        var room = Int.max
    }

    private let counts = Mutex(Counts())
    private let maximum: Int
    private let maximumPerAddress: Int
    private let exempt: @Sendable (IPAddress) -> Bool

    /// - Parameters:
    ///   - maximum: open connections.
    ///   - maximumPerAddress: of these, from one IPv4 address or one IPv6 /64.
    ///   - exempt: addresses to which the second limit does not apply: trusted proxies.
    package init(
        maximum: Int, maximumPerAddress: Int, exempt: @escaping @Sendable (IPAddress) -> Bool = { _ in false }
    ) {
        self.maximum = maximum
        self.maximumPerAddress = maximumPerAddress
        self.exempt = exempt
    }

    /// - Parameter count: the number of connections the process has descriptors for.
    package func setRoom(_ count: Int) { counts.withLock { $0.room = count } }

    /// Whether all descriptors for connections are in use.
    var isWithoutRoom: Bool { counts.withLock { $0.total >= $0.room } }
    package var total: Int { counts.withLock { $0.total } }
    package var admitted: Int { counts.withLock { $0.admitted } }
    package var tally: AdmissionTally { counts.withLock { $0.tally } }

    /// How many connections that wait for a request must make room, so that clients with a request are not refused
    /// because of clients without one: those beyond seven eighths of the maximum, and a few more, since searching for
    /// one costs as much as for many. 0 below that.
    var connectionsToShed: Int {
        let (total, maximum) = counts.withLock { ($0.total, min(self.maximum, $0.room)) }
        let excess = total - (maximum - max(1, maximum / 8))
        return excess > 0 ? excess + min(32, maximum / 16) : 0
    }

    func record(shed count: Int) { counts.withLock { $0.tally.shed += count } }
    func recordMissingDescriptor() { counts.withLock { $0.tally.withoutDescriptor += 1 } }

    package func admit(_ address: IPAddress) -> Bool {
        let isExempt = exempt(address)
        return counts.withLock { counts in
            let key = address.subscriber
            let here = counts.perAddress[key, default: 0]
            guard counts.total < maximum else {
                counts.tally.refused += 1
                return false
            }
            guard counts.total < counts.room else {
                counts.tally.withoutDescriptor += 1
                return false
            }
            guard isExempt || here < maximumPerAddress else {
                counts.tally.refusedByAddress += 1
                return false
            }
            counts.total += 1
            counts.admitted += 1
            counts.perAddress[key] = here + 1
            return true
        }
    }

    /// Counts an open connection under the address its PROXY header named; false, changing nothing, at the limit.
    package func move(from old: IPAddress, to new: IPAddress) -> Bool {
        let isExempt = exempt(new)
        return counts.withLock { counts in
            let key = new.subscriber
            guard isExempt || counts.perAddress[key, default: 0] < maximumPerAddress else {
                counts.tally.refusedByAddress += 1
                return false
            }
            Self.remove(old.subscriber, &counts)
            counts.perAddress[key, default: 0] += 1
            return true
        }
    }

    func release(_ address: IPAddress) {
        counts.withLock { counts in
            counts.total -= 1
            Self.remove(address.subscriber, &counts)
        }
    }

    private static func remove(_ key: IPAddress, _ counts: inout Counts) {
        if let here = counts.perAddress[key], here > 1 {
            counts.perAddress[key] = here - 1
        } else {
            counts.perAddress[key] = nil
        }
    }
}
