internal import Coding

/// Makes any text safe for one line of a log or for a terminal: line ends (a forged line), ESC and the one-byte CSI
/// (commands for the terminal), and marks that change the reading direction become `\uXXXX`.
package enum LogEscaping {
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes, quoted: false)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter quoted: as a JSON string (RFC 8259 §7); otherwise quotation marks and backslashes are unchanged.
    package static func append(_ text: String, to bytes: inout [UInt8], quoted: Bool) {
        if quoted { bytes.append(0x22) }
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22 where quoted, 0x5C where quoted:
                bytes.append(0x5C)
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            case 0x20...0x7E: bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            case let value where isDangerous(value): appendEscape(value, to: &bytes)
            default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        if quoted { bytes.append(0x22) }
    }

    static func isPlainWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x3D && $0 != 0x5C }
    }

    private static func isDangerous(_ value: UInt32) -> Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true  // C0, DEL, C1
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // reading direction
        case 0x2028, 0x2029: true  // line and paragraph separator
        case 0xFEFF: true  // byte order mark
        default: false
        }
    }

    /// All dangerous scalars are in the basic plane, so four digits suffice.
    private static func appendEscape(_ value: UInt32, to bytes: inout [UInt8]) {
        bytes.append(0x5C)
        bytes.append(0x75)
        for shift in [12, 8, 4, 0] as [UInt32] {
            bytes.append(Hexadecimal.lower(UInt8(truncatingIfNeeded: value >> shift)))
        }
    }
}
