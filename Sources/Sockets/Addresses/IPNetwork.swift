/// A block of addresses: an address and the number of its leading bits that count (CIDR, RFC 4632 §3.1, RFC 4291 §2.3).
package struct IPNetwork: Hashable, Sendable {
    /// The first address of the block.
    package let address: IPAddress
    /// 0...32 for IPv4, 0...128 for IPv6.
    package let prefixLength: Int

    /// - Returns: nil when the length is out of range. Bits beyond it are cleared.
    package init?(address: IPAddress, prefixLength: Int) {
        let bits =
            switch address {
            case .v4: 32
            case .v6: 128
            }
        guard prefixLength >= 0, prefixLength <= bits else { return nil }
        self.address = address.masked(to: prefixLength)
        self.prefixLength = prefixLength
    }

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or a single address. Nil for anything else, when bits beyond the prefix
    /// are set (probably a typing error), or when the length is not plain decimal.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let head = parts.first, let address = IPAddress(String(head)) else { return nil }
        guard parts.count == 2 else {
            self.init(address: address, prefixLength: address.bitWidth)
            return
        }
        let digits = parts[1].utf8
        guard (1...3).contains(digits.count), digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            digits.count == 1 || digits.first != 0x30, var length = Int(parts[1])
        else { return nil }
        // `::ffff:192.0.2.0/120` counts the 96 bits that `normalized` removes.
        if address.bitWidth == 32, head.utf8.contains(0x3a) {
            guard length >= 96 else { return nil }
            length -= 96
        }
        guard length <= address.bitWidth, address.masked(to: length) == address else { return nil }
        self.init(address: address, prefixLength: length)
    }

    package func contains(_ other: IPAddress) -> Bool {
        let candidate = other.normalized
        return candidate.bitWidth == address.bitWidth && candidate.masked(to: prefixLength) == address
    }
}

extension IPNetwork: CustomStringConvertible {
    package var description: String { "\(address)/\(prefixLength)" }
}

extension IPAddress {
    /// 32 or 128.
    package var bitWidth: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    /// The address with all but the first `length` bits cleared.
    /// - Parameter length: 0...`bitWidth`; more changes nothing.
    package func masked(to length: Int) -> IPAddress {
        switch self {
        case .v4(let value):
            // Swift's smart shift gives zero for a whole word's width.
            return .v4(value & (UInt32.max << UInt32(max(0, 32 - length))))
        case .v6(let high, let low):
            let highMask = UInt64.max << UInt64(max(0, 64 - length))
            let lowMask = UInt64.max << UInt64(min(64, max(0, 128 - length)))
            return .v6(high & highMask, low & lowMask)
        }
    }
}
