/// One name and value of a form, decoded.
package struct FormField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

package enum FormError: Error, Hashable, Sendable {
    case tooLarge
    case tooManyFields
}

/// Reads `application/x-www-form-urlencoded` as the WHATWG URL standard does ("urlencoded parsing").
///
/// No text is malformed there: a lone `%` is kept and bytes that are not UTF-8 become U+FFFD. Order and
/// duplicates are kept; the caller decides whether a duplicate is acceptable.
package enum FormDecoder {
    package static func parse(
        _ bytes: [UInt8], maximumBytes: Int = 65_536, maximumFields: Int = 64
    ) throws(FormError) -> [FormField] {
        guard bytes.count <= maximumBytes else { throw .tooLarge }
        var fields: [FormField] = []
        let bytes = bytes.span
        var start = 0
        while start < bytes.count {
            var equals = -1
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "&") {
                if equals < 0, bytes[end] == UInt8(ascii: "=") { equals = end }
                end += 1
            }
            if end > start {
                guard fields.count < maximumFields else { throw .tooManyFields }
                let name = bytes.extracting(start..<(equals < 0 ? end : equals))
                let value = bytes.extracting((equals < 0 ? end : equals + 1)..<end)
                fields.append(FormField(name: decode(name), value: decode(value)))
            }
            start = end + 1
        }
        return fields
    }

    private static func decode(_ text: Span<UInt8>) -> String {
        var bytes: [UInt8] = []
        append(decoding: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends one name or value, decoded: never more bytes than the encoded text has.
    package static func append(decoding text: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: text.count) { bytes in
            var index = 0
            while index < text.count {
                let byte = text[index]
                if let escaped = PercentEncoding.escapedByte(in: text, at: index) {
                    bytes.append(escaped)
                    index += 3
                } else {
                    bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                    index += 1
                }
            }
        }
    }
}

/// Writes `application/x-www-form-urlencoded` as the WHATWG URL standard does ("urlencoded serializing").
package enum FormEncoder {
    package static func encode(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        // Most values are tokens, which need no escapes.
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 16 })
        for (name, value) in fields {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let text = text.utf8.span
        for index in text.indices {
            let byte = text[index]
            switch byte {
            case 0x20: bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                bytes.append(byte)
            default: PercentEncoding.appendEscape(of: byte, to: &bytes)
            }
        }
    }
}
