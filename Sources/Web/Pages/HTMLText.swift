/// Makes text safe between tags and inside quoted attributes.
///
/// Works on UTF-8 bytes, not characters: for Swift, a quotation mark followed by a combining accent is one character
/// that does not equal a quotation mark; for a browser it is a quotation mark.
enum HTMLText {
    static func escape(_ text: String) -> String {
        String(decoding: escapedBytes(text), as: UTF8.self)
    }

    static func escapedBytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
            // A parser would normalise or drop these; a form must carry them unchanged.
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            case 0x0A: bytes.append(contentsOf: "&#10;".utf8)
            case 0x00..<0x20 where byte != 0x09, 0x7F: bytes.append(contentsOf: "\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}
