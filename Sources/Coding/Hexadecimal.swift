/// Base 16 digits, for escapes and digests.
package enum Hexadecimal {
    /// 0 to 15, or nil for anything but `0-9`, `a-f`, `A-F`.
    @inlinable
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The digit of the low four bits, in lower case.
    package static func lower(_ nibble: UInt8) -> UInt8 {
        let value = nibble & 0xF
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    static func upper(_ nibble: UInt8) -> UInt8 {
        let value = nibble & 0xF
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Two lower-case digits per byte.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(lower(byte >> 4))
            text.append(lower(byte))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: nil unless the text is an even number of hexadecimal digits.
    package static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

// Whole numbers as bytes in network byte order, the most significant byte first.

extension [UInt8] {
    /// The bytes of a number, as many as its type has.
    @inlinable
    package init(bigEndian value: some FixedWidthInteger) {
        self = stride(from: value.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

extension FixedWidthInteger {
    /// The number these bytes are. Of more bytes than the type has, the last ones.
    @inlinable
    package init(bigEndianBytes bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
