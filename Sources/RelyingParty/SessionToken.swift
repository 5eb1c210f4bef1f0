import Coding
package import Crypto

/// A session's secret: `brs_` and 256 random bits in base64url. The browser or app holds it, the database only its
/// SHA-256. It prints `<redacted>`; `reveal()` is for `Set-Cookie` and for the answer to an app.
package struct SessionToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package static let prefix = "brs_"
    /// Characters after the prefix: 32 bytes in unpadded base64url.
    package static let characterCount = TokenSyntax.characterCount

    private let text: String

    package static func make(random: any RandomSource) -> SessionToken {
        SessionToken(trusted: prefix + Base64URL.encode(random.bytes(32)))
    }

    /// A token as a request carries it: the prefix and 43 characters of the base64url alphabet; nil for anything else.
    package init?(parsing text: String) {
        guard TokenSyntax.matches(text, prefix: Self.prefix) else { return nil }
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
