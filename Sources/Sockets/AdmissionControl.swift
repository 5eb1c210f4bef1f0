internal import Synchronization

/// How many connections are open, in all and from each address, across the loops of a process.
package final class AdmissionControl: Sendable {
    private struct Counts {
        var total = 0
        var perAddress: [IPAddress: Int] = [:]
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

    package var total: Int { counts.withLock { $0.total } }

    /// Counts a connection in, or refuses it.
    package func admit(_ address: IPAddress) -> Bool {
        let isExempt = exempt(address)
        return counts.withLock { counts in
            let key = Self.key(address)
            let here = counts.perAddress[key, default: 0]
            guard counts.total < maximum, isExempt || here < maximumPerAddress else { return false }
            counts.total += 1
            counts.perAddress[key] = here + 1
            return true
        }
    }

    func release(_ address: IPAddress) {
        counts.withLock { counts in
            let key = Self.key(address)
            counts.total -= 1
            if let here = counts.perAddress[key], here > 1 {
                counts.perAddress[key] = here - 1
            } else {
                counts.perAddress[key] = nil
            }
        }
    }

    /// One subscriber holds a whole IPv6 /64.
    private static func key(_ address: IPAddress) -> IPAddress {
        switch address {
        case .v4: address
        case .v6(let high, _): .v6(high, 0)
        }
    }
}
