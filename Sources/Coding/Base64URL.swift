/// base64url without padding (RFC 7515 §2, RFC 4648 §5), decoded strictly: one text for one sequence of bytes.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: encodedBytes(bytes), as: UTF8.self)
    }

    package static func encodedBytes(_ bytes: [UInt8]) -> [UInt8] {
        Base64Alphabet.url.encode(bytes, padded: false)
    }

    package static func isCharacter(_ byte: UInt8) -> Bool { Base64Alphabet.url.contains(byte) }

    /// - Returns: nil for padding, whitespace, `+`, `/`, an impossible length, or bits set beyond the last byte.
    package static func decode(_ text: String) -> [UInt8]? { Base64Alphabet.url.decode(text.utf8.span) }
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? { Base64Alphabet.url.decode(text.span) }
}

/// base64 with padding (RFC 4648 §4), as in PEM.
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Base64Alphabet.standard.encode(bytes, padded: true), as: UTF8.self)
    }

    /// The body of a PEM block (RFC 7468 §3): line ends and blanks are skipped, all else is strict.
    ///
    /// - Returns: nil for a foreign character, missing or surplus padding, or bits set beyond the last byte.
    package static func decode(pemBody text: String) -> [UInt8]? {
        decode(text.utf8.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0x20 && $0 != 0x09 })
    }

    /// - Returns: nil for whitespace as well.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        let body = text.dropLast(padding)
        return Base64Alphabet.standard.decode(body.span)
    }
}

/// The 64 characters of one of RFC 4648's alphabets, both ways.
private struct Base64Alphabet: Sendable {
    static let url = Base64Alphabet(last: "-_")
    static let standard = Base64Alphabet(last: "+/")

    private static let foreign: UInt8 = 0xFF
    private let characters: [UInt8]
    /// By character; `foreign` where there is none.
    private let values: [UInt8]

    private init(last: String) {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        characters = Array((letters + last).utf8)
        var values = [UInt8](repeating: Self.foreign, count: 256)
        for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    func contains(_ byte: UInt8) -> Bool { values[Int(byte)] != Self.foreign }

    func encode(_ bytes: [UInt8], padded: Bool) -> [UInt8] {
        var text: [UInt8] = []
        let characters = characters.span
        text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { text in
            var index = 0
            while index + 2 < bytes.count {
                let bits = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
                text.append(characters[Int(bits >> 18)])
                text.append(characters[Int(bits >> 12 & 63)])
                text.append(characters[Int(bits >> 6 & 63)])
                text.append(characters[Int(bits & 63)])
                index += 3
            }
            guard index < bytes.count else { return }
            // One byte or two are left: two characters or three.
            let second = index + 1 < bytes.count ? bytes[index + 1] : 0
            let bits = UInt32(bytes[index]) << 16 | UInt32(second) << 8
            text.append(characters[Int(bits >> 18)])
            text.append(characters[Int(bits >> 12 & 63)])
            if index + 1 < bytes.count { text.append(characters[Int(bits >> 6 & 63)]) }
            while padded, !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        }
        return text
    }

    /// - Parameter text: without its padding.
    func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        let values = values.span
        // All values together: a foreign one has the highest bit, which no other has.
        var seen: UInt8 = 0
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: text.count * 3 / 4) { bytes in
            var index = 0
            while index + 3 < text.count {
                let first = values[Int(text[index])]
                let second = values[Int(text[index + 1])]
                let third = values[Int(text[index + 2])]
                let fourth = values[Int(text[index + 3])]
                seen |= first | second | third | fourth
                let word = UInt32(first) << 18 | UInt32(second) << 12 | UInt32(third) << 6 | UInt32(fourth)
                bytes.append(UInt8(truncatingIfNeeded: word >> 16))
                bytes.append(UInt8(truncatingIfNeeded: word >> 8))
                bytes.append(UInt8(truncatingIfNeeded: word))
                index += 4
            }
            while index < text.count {
                let value = values[Int(text[index])]
                seen |= value
                bits = bits << 6 | UInt32(value)
                count += 6
                if count >= 8 {
                    count -= 8
                    bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                }
                index += 1
            }
        }
        // RFC 4648 §3.5: bits beyond the last byte must be zero, or several texts would mean the same bytes.
        guard seen & 0x80 == 0, bits & ((1 << count) - 1) == 0 else { return nil }
        return bytes
    }
}
