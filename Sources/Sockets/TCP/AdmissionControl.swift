internal import Synchronization

/// What became of connections that were not kept, since the start.
package struct AdmissionTally: Hashable, Sendable {
    /// Closed at accept: as many as there may be in all are open.
    package var refused = 0
    /// Closed at accept, or when a PROXY header named their address: as many as one address may have are open.
    package var refusedByAddress = 0
    /// Closed while they waited for a request, to make room for others.
    package var shed = 0
    /// Closed at accept: the process has no descriptor left for them, or none to spare.
    package var withoutDescriptor = 0

    package init() {}
}

/// How many connections are open, in all and from each address, across the loops of a process.
package final class AdmissionControl: Sendable {
    private struct Counts {
        var total = 0
        var perAddress: [IPAddress: Int] = [:]
        var admitted = 0
        var tally = AdmissionTally()
        /// How many there are descriptors for, where that is fewer than the maximum.
        var room = Int.max
    }

    private let counts = Mutex(Counts())
    private let maximum: Int
    private let maximumPerAddress: Int
    private let exempt: @Sendable (IPAddress) -> Bool

    /// - Parameters:
    ///   - maximum: connections open at once.
    ///   - maximumPerAddress: of them, from one IPv4 address or one IPv6 /64.
    ///   - exempt: addresses the second limit does not hold for: trusted proxies.
    package init(
        maximum: Int, maximumPerAddress: Int, exempt: @escaping @Sendable (IPAddress) -> Bool = { _ in false }
    ) {
        self.maximum = maximum
        self.maximumPerAddress = maximumPerAddress
        self.exempt = exempt
    }

    /// - Parameter count: as many connections as the process has descriptors for.
    package func setRoom(_ count: Int) {
        counts.withLock { $0.room = count }
    }

    /// As many connections are open as there are descriptors for.
    var isWithoutRoom: Bool { counts.withLock { $0.total >= $0.room } }

    package var total: Int { counts.withLock { $0.total } }
    /// Connections let in since the start.
    package var admitted: Int { counts.withLock { $0.admitted } }
    package var tally: AdmissionTally { counts.withLock { $0.tally } }

    /// How many connections that wait for a request have to make room, so that whoever sends one is not refused for the
    /// sake of whoever sends none: those beyond seven eighths of the most there may be, and a few more, since looking
    /// for one costs as much as looking for many. 0 below that.
    var crowd: Int {
        let (total, maximum) = counts.withLock { ($0.total, min(self.maximum, $0.room)) }
        let excess = total - (maximum - max(1, maximum / 8))
        return excess > 0 ? excess + min(32, maximum / 16) : 0
    }

    func record(shed count: Int) {
        counts.withLock { $0.tally.shed += count }
    }

    func recordMissingDescriptor() {
        counts.withLock { $0.tally.withoutDescriptor += 1 }
    }

    /// Counts a connection in, or refuses it.
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

    /// Counts an open connection under another address, since its PROXY header named it, or refuses to: then it stays
    /// counted as it was.
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
