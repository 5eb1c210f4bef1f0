import Coding
package import Crypto

/// The text form of a sealing key: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
package enum SealingKeyText {
    /// - Returns: the 32 bytes, or nil for anything else. Ignores surrounding blanks and line ends.
    package static func parse(_ text: String) -> SecretBytes? {
        let digits = text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        guard digits.utf8.count == 64, text.allSatisfy({ $0.isWhitespace || $0.isHexDigit }),
            text.count(where: { !$0.isWhitespace }) == 64, let bytes = Hexadecimal.decode(String(digits).lowercased())
        else { return nil }
        return SecretBytes(bytes)
    }

    /// The content of a new key file, with a line end.
    package static func render(_ bytes: [UInt8]) -> String {
        Hexadecimal.encode(bytes) + "\n"
    }
}
