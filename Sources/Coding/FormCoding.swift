/// One name and value of a form, decoded.
package struct FormField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// What a form may cost.
package struct FormLimits: Hashable, Sendable {
    /// Bytes of the whole body.
    package var maximumBytes: Int
    package var maximumFields: Int

    package init(maximumBytes: Int = 65_536, maximumFields: Int = 64) {
        self.maximumBytes = maximumBytes
        self.maximumFields = maximumFields
    }
}

package enum FormError: Error, Hashable, Sendable {
    case tooLarge
    case tooManyFields
}

/// Reads `application/x-www-form-urlencoded` as the WHATWG URL standard does ("urlencoded parsing").
///
/// No text is malformed there: a lone `%` stands for itself and bytes that are not UTF-8 become U+FFFD. Order and
/// duplicates are kept; whether a duplicate is acceptable is for the caller to say.
package enum FormDecoder {
    package static func parse(
        _ bytes: [UInt8], limits: FormLimits = FormLimits()
    ) throws(FormError) -> [FormField] {
        guard bytes.count <= limits.maximumBytes else { throw .tooLarge }
        var fields: [FormField] = []
        for sequence in bytes.split(separator: UInt8(ascii: "&")) {
            guard fields.count < limits.maximumFields else { throw .tooManyFields }
            let equals = sequence.firstIndex(of: UInt8(ascii: "="))
            let name = sequence[..<(equals ?? sequence.endIndex)]
            let value = equals.map { sequence[($0 + 1)...] } ?? []
            fields.append(FormField(name: decode(name), value: decode(value)))
        }
        return fields
    }

    private static func decode(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            if byte == UInt8(ascii: "%"), index + 2 < text.endIndex,
                let high = Hexadecimal.value(of: text[index + 1]), let low = Hexadecimal.value(of: text[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Writes `application/x-www-form-urlencoded` as the WHATWG URL standard does ("urlencoded serializing").
package enum FormEncoder {
    package static func encode(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
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
