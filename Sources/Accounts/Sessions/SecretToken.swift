import Coding
package import Crypto

/// A secret: its kind's prefix, and 256 random bits in unpadded base64url. Stored only as SHA-256, which suffices.
package protocol SecretToken: Redacted {
    static var prefix: String { get }
    var text: String { get }
    init(unchecked text: String)
}

extension SecretToken {
    /// Characters after the prefix: 32 bytes in unpadded base64url.
    package static var characterCount: Int { 43 }

    package static func make(random: any RandomSource) -> Self {
        Self(unchecked: prefix + Base64URL.encode(random.bytes(32)))
    }

    /// Nil for anything but the prefix and 43 characters of the base64url alphabet.
    package init?(parsing text: String) {
        let (bytes, prefix) = (text.utf8, Self.prefix.utf8)
        guard bytes.count == prefix.count + Self.characterCount, bytes.starts(with: prefix),
            bytes.dropFirst(prefix.count).allSatisfy(Base64URL.isCharacter)
        else { return nil }
        self.init(unchecked: text)
    }

    /// SHA-256 of the whole text, including the prefix.
    package var hash: Digest256 { SHA256.hash(utf8: text) }

    /// The text itself, for its intended holder. Review every call.
    package func reveal() -> String { text }
}

/// A session's secret, `brs_…`; `reveal()` is for `Set-Cookie` and for the answer to an app.
package struct SessionToken: SecretToken {
    package static var prefix: String { "brs_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// An API key's secret, `brk_…`, held by the application: `reveal()` shows it once to its creator.
package struct APIKeyToken: SecretToken {
    package static var prefix: String { "brk_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}
