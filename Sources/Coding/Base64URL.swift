/// base64url without padding (RFC 7515 §2, RFC 4648 §5), read strictly: one text for one sequence of bytes.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: encodedBytes(bytes), as: UTF8.self)
    }

    /// The characters as ASCII bytes.
    package static func encodedBytes(_ bytes: [UInt8]) -> [UInt8] {
        Base64Alphabet.url.encode(bytes, padded: false)
    }

    /// Whether it is one of the 64.
    package static func isCharacter(_ byte: UInt8) -> Bool { Base64Alphabet.url.contains(byte) }

    /// - Returns: nil for padding, whitespace, `+`, `/`, a length no encoder makes, or bits set beyond the last byte.
    package static func decode(_ text: String) -> [UInt8]? {
        decode(Array(text.utf8))
    }

    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        Base64Alphabet.url.decode(text[...])
    }

    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Base64Alphabet.url.decode(text)
    }
}

/// base64 with padding (RFC 4648 §4), as PEM carries it.
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
        return Base64Alphabet.standard.decode(text.dropLast(padding))
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
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(characters[Int(bits >> UInt32(count) & 63)])
            }
        }
        if count > 0 { text.append(characters[Int(bits << UInt32(6 - count) & 63)]) }
        if padded {
            while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        }
        return text
    }

    /// - Parameter text: without its padding.
    func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            let value = values[Int(character)]
            guard value != Self.foreign else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        // RFC 4648 §3.5: bits beyond the last byte must be zero, or several texts would mean the same bytes.
        guard bits & ((1 << UInt32(count)) - 1) == 0 else { return nil }
        return bytes
    }
}
