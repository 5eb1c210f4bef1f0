import Coding
package import Crypto

/// The text form of a sealing key: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
package enum SealingKeyText {
    /// - Returns: the 32 bytes, or nil for anything else.
    package static func parse(_ text: String) -> SecretBytes? {
        let digits = PastedText.value(text)
        guard digits.utf8.count == 64, let bytes = Hexadecimal.decode(digits.lowercased()) else { return nil }
        return SecretBytes(bytes)
    }

    /// What a text has that is no key: the end of a sentence that contains nothing of it.
    static func flaw(in text: String) -> String {
        let value = PastedText.value(text)
        if value.contains(where: \.isWhitespace) { return "has blanks or line ends between its digits" }
        let others = value.unicodeScalars.count { !$0.properties.isASCIIHexDigit }
        if others > 0 { return "has \(others) characters that are not hexadecimal digits" }
        return "has \(value.utf8.count) digits"
    }

    /// The content of a new key file, with a line end.
    package static func render(_ bytes: [UInt8]) -> String {
        Hexadecimal.encode(bytes) + "\n"
    }
}
