/// Percent-encoding of URL components (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Keeps only unreserved characters (RFC 3986 §2.3); a space becomes `%20`. Suitable for any component of a URL.
    package static func encodeComponent(_ text: String) -> String { encodeComponent(Array(text.utf8)) }

    package static func encodeComponent(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        for byte in bytes {
            if isUnreserved(byte) { text.append(byte) } else { appendEscape(of: byte, to: &text) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: the bytes, or nil when a `%` is not followed by two hexadecimal digits. `+` is kept.
    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }

    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "%") else {
                bytes.append(text[index])
                index += 1
                continue
            }
            guard let byte = escapedByte(in: text.span, at: index) else { return nil }
            bytes.append(byte)
            index += 3
        }
        return bytes
    }

    /// The byte of the escape at `index`; nil unless there is a `%` followed by two hexadecimal digits.
    package static func escapedByte(in text: Span<UInt8>, at index: Int) -> UInt8? {
        guard index + 2 < text.count, text[index] == UInt8(ascii: "%"),
            let high = Hexadecimal.value(of: text[index + 1]), let low = Hexadecimal.value(of: text[index + 2])
        else { return nil }
        return high << 4 | low
    }

    package static func appendEscape(of byte: UInt8, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "%"))
        text.append(Hexadecimal.upper(byte >> 4))
        text.append(Hexadecimal.upper(byte))
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
