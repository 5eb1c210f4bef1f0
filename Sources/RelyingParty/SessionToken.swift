import Coding
package import Crypto

/// A session's secret: `brs_` and 256 random bits in base64url. The browser or app holds it, the database only its
/// SHA-256. It prints `<redacted>`; `reveal()` is for `Set-Cookie` and for the answer to an app.
package struct SessionToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package static let prefix = "brs_"
    /// Characters after the prefix: 32 bytes in unpadded base64url.
    package static let characterCount = 43

    private let text: String

    package static func make(random: any RandomSource) -> SessionToken {
        SessionToken(trusted: prefix + Base64URL.encode(random.bytes(32)))
    }

    /// A token as a request carries it: the prefix and 43 characters of the base64url alphabet; nil for anything else.
    package init?(parsing text: String) {
        guard text.utf8.count == Self.prefix.utf8.count + Self.characterCount, text.hasPrefix(Self.prefix) else {
            return nil
        }
        for byte in text.utf8.dropFirst(Self.prefix.utf8.count) {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                continue
            default: return nil
            }
        }
        self.init(trusted: text)
    }

    private init(trusted text: String) {
        self.text = text
    }

    /// SHA-256 of the whole token, prefix included: the key of the session's row.
    package var hash: Digest256 { SHA256.hash(utf8: text) }

    package func reveal() -> String { text }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
