internal import Coding

/// An IPv4 or IPv6 address, without port. Parsing and `normalized` turn an IPv4-mapped IPv6 address
/// (`::ffff:192.0.2.1`) into its IPv4 address, so that one client has one spelling.
package enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// Host byte order: 127.0.0.1 is `0x7F00_0001`.
    case v4(UInt32)
    /// The upper and lower eight octets, each big-endian.
    case v6(UInt64, UInt64)

    /// The same address; an IPv4-mapped one (`::ffff:0:0/96`, RFC 4291 §2.5.5.2) as IPv4.
    package var normalized: IPAddress {
        if case .v6(0, let low) = self, low >> 32 == 0xffff { return .v4(UInt32(truncatingIfNeeded: low)) }
        return self
    }

    /// The subscriber, where addresses are counted: one has a whole IPv6 /64.
    package var subscriber: IPAddress {
        switch normalized {
        case .v4(let value): .v4(value)
        case .v6(let high, _): .v6(high, 0)
        }
    }

    /// Whether only this host can have it: 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        switch normalized {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    /// Parses the text form of an address: dotted decimal with exactly four numbers without leading zeros, or RFC 4291
    /// §2.2 with at most one `::` and an optional dotted tail. No brackets, port or zone. Nil for anything else.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(text: bytes.span)
    }

    /// The same for ASCII bytes.
    package init?(text: Span<UInt8>) {
        guard text.count <= 45 else { return nil }
        if let value = Self.parseV4(text, 0..<text.count) {
            self = .v4(value)
        } else if let (high, low) = Self.parseV6(text) {
            self = IPAddress.v6(high, low).normalized
        } else {
            return nil
        }
    }

    private static func parseV4(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt32? {
        var address: UInt32 = 0
        var octet: UInt32 = 0
        var digits = 0
        var octets = 1
        for index in range {
            let byte = text[index]
            if byte == 0x2e {
                guard digits > 0, octets < 4 else { return nil }
                address = address << 8 | octet
                octet = 0
                digits = 0
                octets += 1
            } else {
                guard byte >= 0x30, byte <= 0x39 else { return nil }
                // Some readers take a leading zero as octal: no address is safer than a different one.
                guard digits == 0 || octet != 0 else { return nil }
                octet = octet * 10 + UInt32(byte - 0x30)
                digits += 1
                guard octet <= 255 else { return nil }
            }
        }
        guard octets == 4, digits > 0 else { return nil }
        return address << 8 | octet
    }

    private static func parseV6(_ text: Span<UInt8>) -> (UInt64, UInt64)? {
        var groups: [UInt16] = []
        var gap: Int?
        var index = 0
        let count = text.count
        guard count >= 2 else { return nil }
        if text[0] == 0x3a {
            guard text[1] == 0x3a else { return nil }
            gap = 0
            index = 2
        }
        while index < count {
            var value: UInt32 = 0
            let start = index
            while index < count, let digit = Hexadecimal.value(of: text[index]) {
                value = value << 4 | UInt32(digit)
                index += 1
                guard index - start <= 4 else { return nil }
            }
            if index < count, text[index] == 0x2e {
                guard groups.count <= 6, let tail = parseV4(text, start..<count) else { return nil }
                groups.append(UInt16(tail >> 16))
                groups.append(UInt16(tail & 0xffff))
                index = count
                break
            }
            guard index > start, groups.count < 8 else { return nil }
            groups.append(UInt16(value))
            guard index < count else { break }
            guard text[index] == 0x3a else { return nil }
            index += 1
            guard index < count else { return nil }
            if text[index] == 0x3a {
                guard gap == nil else { return nil }
                gap = groups.count
                index += 1
            }
        }
        // `::` replaces at least one group (RFC 5952 §4.2.2 asks writers for two; readers accept one).
        guard gap == nil ? groups.count == 8 : groups.count <= 7 else { return nil }
        if let gap { groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap) }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for position in 0..<4 {
            high = high << 16 | UInt64(groups[position])
            low = low << 16 | UInt64(groups[position + 4])
        }
        return (high, low)
    }

    /// Dotted decimal, or the canonical form of RFC 5952: lower case, no leading zeros, `::` for the first longest run
    /// of at least two zero groups, dotted tail for IPv4-mapped addresses.
    package var description: String {
        switch self {
        case .v4(let value): return Self.dotted(value)
        case .v6(0, let low) where low >> 32 == 0xffff:
            return "::ffff:" + Self.dotted(UInt32(truncatingIfNeeded: low))
        case .v6(let high, let low): return Self.compressed(high, low)
        }
    }

    private static func dotted(_ value: UInt32) -> String {
        "\(value >> 24).\(value >> 16 & 0xff).\(value >> 8 & 0xff).\(value & 0xff)"
    }

    private static func compressed(_ high: UInt64, _ low: UInt64) -> String {
        let groups = (0..<8).map { position -> UInt16 in
            let word = position < 4 ? high : low
            return UInt16(truncatingIfNeeded: word >> UInt64(48 - 16 * (position % 4)))
        }
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start >= 2, end - start > best.count { best = start..<end }
            start = max(end, start + 1)
        }
        let text = { (part: Range<Int>) in part.map { String(groups[$0], radix: 16) }.joined(separator: ":") }
        guard !best.isEmpty else { return text(0..<8) }
        return text(0..<best.lowerBound) + "::" + text(best.upperBound..<8)
    }
}
