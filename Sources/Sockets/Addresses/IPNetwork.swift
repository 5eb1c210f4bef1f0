/// A block of addresses: an address and the number of its leading bits that count (CIDR, RFC 4632 §3.1, RFC 4291 §2.3).
package struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    package let address: IPAddress
    /// 0...32 for IPv4, 0...128 for IPv6.
    package let prefixLength: Int

    /// - Returns: nil when the length is out of range. Bits beyond it are cleared.
    package init?(address: IPAddress, prefixLength: Int) {
        guard (0...address.bitWidth).contains(prefixLength) else { return nil }
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

    package var description: String { "\(address)/\(prefixLength)" }
}

extension IPAddress {
    package var bitWidth: Int { if case .v4 = self { 32 } else { 128 } }

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

    /// Whether this is a public address of the internet: not of this host, of a private network or a link, not
    /// reserved, and not such an address embedded in another one (IANA's special-purpose registries, RFC 6890).
    package var isPublic: Bool {
        let address = normalized
        if let inner = address.translated { return inner.isPublic }
        return switch address {
        case .v4: !SpecialPurpose.v4.contains { $0.contains(address) }
        case .v6:
            SpecialPurpose.global.contains { $0.contains(address) }
                && !SpecialPurpose.v6.contains { $0.contains(address) }
        }
    }

    /// The IPv4 address embedded in one of NAT64's `64:ff9b::/96` (RFC 6052 §2.1).
    private var translated: IPAddress? {
        guard case .v6(0x0064_ff9b_0000_0000, let low) = self, low >> 32 == 0 else { return nil }
        return .v4(UInt32(truncatingIfNeeded: low))
    }
}

/// Blocks of addresses that are not public on the internet.
private enum SpecialPurpose {
    static let v4 = [
        // "This network", private (RFC 1918), carriers (RFC 6598), loopback, link-local with clouds' metadata.
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
        // Protocol assignments, documentation, 6to4 relays, benchmarks.
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        // Multicast, reserved, broadcast.
        "224.0.0.0/4", "240.0.0.0/4",
    ].compactMap { IPNetwork($0) }

    /// The only allocated block (RFC 4291 §2.4): excludes loopback, `fc00::/7`, `fe80::/10`, multicast, and
    /// `64:ff9b:1::/48`, a translator's own (RFC 8215).
    static let global = ["2000::/3"].compactMap { IPNetwork($0) }

    /// Within it: protocol assignments with Teredo, documentation twice, and 6to4, which holds an IPv4 address.
    static let v6 = ["2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16"].compactMap { IPNetwork($0) }
}
