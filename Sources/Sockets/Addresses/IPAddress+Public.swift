extension IPAddress {
    /// Whether this is an address of the internet, in use by somebody and the same from everywhere: not of this host, of
    /// a private network or a link, not reserved, and no such address in disguise (IANA's special-purpose registries,
    /// RFC 6890).
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

    /// The IPv4 address that a translator would send to: of the well-known prefix of NAT64, `64:ff9b::/96` (RFC 6052
    /// §2.1).
    private var translated: IPAddress? {
        guard case .v6(0x0064_ff9b_0000_0000, let low) = self, low >> 32 == 0 else { return nil }
        return .v4(UInt32(truncatingIfNeeded: low))
    }
}

/// Blocks of addresses that are nobody's on the internet.
private enum SpecialPurpose {
    static let v4: [IPNetwork] = [
        // "This network", private (RFC 1918), shared by a carrier (RFC 6598), loopback, link-local with the metadata
        // services of clouds.
        block(0x0000_0000, 8), block(0x0A00_0000, 8), block(0x6440_0000, 10), block(0x7F00_0000, 8),
        block(0xA9FE_0000, 16), block(0xAC10_0000, 12), block(0xC0A8_0000, 16),
        // Protocol assignments, documentation, 6to4 relays, benchmarks.
        block(0xC000_0000, 24), block(0xC000_0200, 24), block(0xC058_6300, 24), block(0xC612_0000, 15),
        block(0xC633_6400, 24), block(0xCB00_7100, 24),
        // Multicast, reserved, broadcast.
        block(0xE000_0000, 4), block(0xF000_0000, 4),
    ].compactMap(\.self)

    /// The only block that is given out (RFC 4291 §2.4): without loopback, `fc00::/7`, `fe80::/10`, multicast, and
    /// `64:ff9b:1::/48`, a translator's own (RFC 8215).
    static let global: [IPNetwork] = [IPNetwork(address: .v6(0x2000 << 48, 0), prefixLength: 3)].compactMap(\.self)

    /// Within it: protocol assignments with Teredo, documentation twice, and 6to4, which holds an IPv4 address.
    static let v6: [IPNetwork] = [
        IPNetwork(address: .v6(0x2001 << 48, 0), prefixLength: 23),
        IPNetwork(address: .v6(0x2001_0db8 << 32, 0), prefixLength: 32),
        IPNetwork(address: .v6(0x3fff << 48, 0), prefixLength: 20),
        IPNetwork(address: .v6(0x2002 << 48, 0), prefixLength: 16),
    ].compactMap(\.self)

    private static func block(_ address: UInt32, _ length: Int) -> IPNetwork? {
        IPNetwork(address: .v4(address), prefixLength: length)
    }
}
